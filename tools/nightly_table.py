# SPDX-License-Identifier: Apache-2.0
"""The rows of tools/nightly: which programs reach which figure, in which chunks, and what they must say.

Numbers are those of the 22 reliability tests; named rows are the gates around them. `rows(scale)` gives all
of them with their figures times scale. Estimates are minutes on two cores that do nothing else.
"""

import dataclasses
import math
import re
import shlex
import subprocess
from pathlib import Path


def says(pattern):
    """Judges by the exit code and a line of the output; its first group, if any, counts."""
    def judge(code, text):
        found = re.findall(pattern, text, re.M)
        if code != 0 or not found:
            lines = [line for line in text.splitlines()[1:] if line.strip()]
            return {"result": "failed", "note": f"exit code {code}: {(lines or ['no output'])[-1][:160]}"}
        counts = [int(f) for f in found if isinstance(f, str) and f.isdigit()]
        return {"count": sum(counts)} if counts else {}
    return judge


def gtest(code, text):
    """A GoogleTest program; what it skipped is reported, and all skipped means unavailable."""
    passed = re.findall(r"^\[  PASSED  \] (\d+) tests?", text, re.M)
    skipped = re.search(r"^\[  SKIPPED \] (\d+) tests?", text, re.M)
    if code != 0 or not passed:
        failed = re.findall(r"^\[  FAILED  \] (\S+)", text, re.M)
        last = (text.splitlines() or ["no output"])[-1]
        return {"result": "failed", "note": f"exit code {code}: {', '.join(dict.fromkeys(failed)) or last}"[:300]}
    if int(passed[-1]) == 0:
        if not skipped:
            return {"result": "failed", "note": "no test has a name that the filter matches", "count": 0}
        why = re.search(r"Skipped\n(.*)", text)
        return {"result": "unavailable", "note": why[1][:160] if why else "all skipped", "count": 0}
    note = f"{skipped[1]} skipped" if skipped else ""
    return {"count": sum(map(int, passed)), "note": note}


def ctest(code, text):
    """`./bootstrap asan` and the like: the last line counts cases."""
    found = re.search(r"^(\d+) passed, (\d+) failed$", text, re.M)
    if code != 0 or not found or found[2] != "0" or found[1] == "0":
        return {"result": "failed", "note": f"exit code {code}: {found[0] if found else text[-160:].strip()}"}
    return {"count": int(found[1])}


@dataclasses.dataclass
class Chunk:
    key: str
    command: list
    judge: object
    minutes: float
    count: int = 0
    environment: dict = dataclasses.field(default_factory=dict)
    builds: list = dataclasses.field(default_factory=list)  # (preset, target)
    option: str = ""  # that the program has to know
    file: str = ""  # that the tree has to have

    @property
    def timeout_minutes(self):
        """Far beyond the estimate: a machine may be slow, and nothing may hang for ever."""
        return 30 + 8 * self.minutes

    def why_not(self, root):
        if self.file and not (root / self.file).exists():
            return f"there is no {self.file}"
        program = root / self.command[0]
        if "/" in self.command[0] and not program.is_file():
            return f"there is no {self.command[0]}"
        if self.option:
            known = subprocess.run([program, "--help"], cwd=root, capture_output=True, text=True)
            if self.option not in known.stdout + known.stderr:
                return f"{program.name} has no {self.option}"
        return ""

    def shown(self):
        settings = [f"{k}={shlex.quote(v)}" for k, v in self.environment.items()]
        return " ".join([*settings, shlex.join(map(str, self.command))])


@dataclasses.dataclass
class Row:
    name: str
    title: str
    figure: str
    chunks: list
    unit: str = ""
    unavailable: str = ""

    def reached(self, done):
        total = sum(k["count"] for k in done)
        return f"{total:,} {self.unit}" if self.unit and total else ""


BIN = "build/dev/test"
PROGRAM_SIZES = (14, 8, 14, 30, 60)  # statements: many small programs find more than few large ones
# Bytes of a text, each for a million executions each: 64 bytes run ten times as fast as 4,096.
TEXT_LENGTHS = (4096, 64, 64, 64, 200, 64, 64, 64, 200, 64)
# What a finding loses: the deeper callers of an allocation. It is found again with all of them.
FUZZ_SANITIZER = "malloc_context_size=2:quarantine_size_mb=16"


def scaled(number, scale):
    return max(1, math.ceil(number * scale))


def seeds(name, command, judge, total, per_chunk, minutes, **more):
    """Chunks of a program that takes --seed and --count."""
    base = more.pop("first_seed", 10_000_000)
    sizes = more.pop("sizes", None)
    chunks = []
    for i in range(math.ceil(total / per_chunk)):
        count = min(per_chunk, total - i * per_chunk)
        words = [*command, "--seed", str(base + i * per_chunk), "--count", str(count)]
        if sizes:
            words += ["--size", str(sizes[i % len(sizes)])]
        chunks.append(Chunk(f"{name}.{i + 1}", words, judge, minutes * count / per_chunk, count, **more))
    return chunks


def plan_check(name, options, total, minutes, **more):
    return seeds(name, [f"{BIN}/plan/vyre_plan_check", *options], says(r"^(\d+) programs, 0 faults"), total, 500,
                 minutes, builds=[("dev", "vyre_plan_check")], sizes=PROGRAM_SIZES, **more)


def attack(name, options, total, per_chunk, minutes, **more):
    return seeds(name, [f"{BIN}/attack/vyre_attack", *options], says(r"^(\d+) programs, 0 faults"), total,
                 per_chunk, minutes, builds=[("dev", "vyre_attack")], **more)


def tests(key, target, filter_, minutes, environment=None, preset="dev", repeat=1, folder="test"):
    words = [f"build/{preset}/{folder}/{target}", f"--gtest_filter={filter_}", "--gtest_brief=1"]
    if repeat > 1:
        words.append(f"--gtest_repeat={repeat}")
    return Chunk(key, words, gtest, minutes, environment=environment or {}, builds=[(preset, target)])


def of_programs(scale):
    """1 to 4, 6, 8, 9: programs against the interpreter."""
    n = lambda number: scaled(number, scale)  # noqa: E731
    rows = [
        Row("1", "random programs on cpu, bit-equal to the interpreter", f"{n(50_000):,}",
            plan_check("1", ["--device", "cpu"], n(50_000), 1.5), "programs"),
        Row("2", "the same with ulp_budget 4", f"{n(10_000):,}",
            attack("2", ["ulp", "--device", "cpu"], n(10_000), 500, 0.5, first_seed=20_000_000), "programs"),
        Row("3", "10 rewrites of each program, on cpu", f"{n(5_000):,} × 10",
            attack("3", ["rewrites", "--device", "cpu"], n(5_000), 100, 4, first_seed=30_000_000), "programs"),
        Row("4", "programs with grid barriers whole, split, and on 1, 2, 7 and 64 blocks", f"{n(1_000):,}",
            attack("4", ["blocks"], n(1_000), 250, 0.1, first_seed=40_000_000)
            + plan_check("4.driver", ["--driver"], n(1_000), 0.2, first_seed=41_000_000), "programs"),
        Row("6", "mutated programs that the checker accepts compile for cpu and PTX", f"{n(20_000):,}",
            attack("6", ["accepted"], n(20_000), 1_000, 4, first_seed=60_000_000), "programs"),
        Row("8", "out-of-bounds accesses", f"all cases + {n(10_000):,} random",
            [Chunk("8.cases", [f"{BIN}/conformance/vyre_conformance_tests",
                               "--gtest_filter=cpu.bounds*:reference.bounds*", "--gtest_brief=1"],
                   gtest, 2, builds=[("dev", "vyre_conformance_tests")]),
             Chunk("8.asan", ["build/asan/test/conformance/vyre_conformance_tests",
                              "--gtest_filter=cpu.bounds*", "--gtest_brief=1"],
                   gtest, 6, builds=[("asan", "vyre_conformance_tests")])]
            + attack("8", ["bounds", "--device", "cpu"], n(10_000), 1_000, 2, first_seed=80_000_000), "cases"),
        Row("9", "memory that holds something else before", f"all examples and cases, {n(20_000):,} programs",
            plan_check("9.stores", ["--stores", "--driver"], n(5_000), 1, first_seed=90_000_000)
            + plan_check("9.poison", ["--poison", "--device", "cpu"], n(20_000), 3, first_seed=91_000_000,
                         option="--poison")
            + [Chunk(f"9.cases.{pattern}", [f"{BIN}/conformance/vyre_conformance_tests",
                                            "--gtest_filter=cpu.*-cpu.random*:cpu.hostile*", "--gtest_brief=1"],
                     gtest, 10, environment={"VYRE_POISON": pattern}, file="src/run/poison.hpp",
                     builds=[("dev", "vyre_conformance_tests")]) for pattern in ("0x5A", "0xA5")],
            "programs and cases"),
    ]
    return {row.name: row for row in rows}


def of_failures(scale):
    """7, 10 to 18: what goes wrong around a program."""
    n = lambda number: scaled(number, scale)  # noqa: E731
    flips = [tests(f"16.flips.{i + 1}", "vyre_cache_tests", "Corruption.BitsOfThePayload", 0.1,
                   {"VYRE_CACHE_FLIPS": str(n(100_000)), "VYRE_CACHE_SEED": str(i + 1)}) for i in range(10)]
    kills = [tests(f"15.{i + 1}", "vyre_cache_tests", "*Killed.WhileTheyWrite*", 1,
                   {"VYRE_CACHE_KILLS": str(max(100, n(1_000))), "VYRE_CACHE_SEED": str(i + 1)}) for i in range(5)]
    rows = [
        Row("7", "planted errors: a file for every code, code and position", "100 % of the codes",
            [tests("7", "vyre_golden_tests", "*Planted*:*Error*:*Code*", 0.2)], "cases"),
        Row("10", "every allocation of the host fails once", f"{n(200)} scenarios",
            [tests("10", "vyre_driver_tests", "*HostMemory*", 4, {"VYRE_FAULT_SCENARIOS": str(n(200))})], "cases"),
        Row("11", "every call of a backend fails once", f"{n(50)} scenarios",
            [tests("11.driver", "vyre_driver_tests", "*Faults*", 0.3, {"VYRE_FAULT_SCENARIOS": str(n(200))}),
             tests("11.cuda", "vyre_backend_cuda_test", "CudaFaults.*", 0.3,
                   folder="src/backend/cuda")], "cases"),
        Row("12", "a device lost in flight, 1 to 8 threads", f"{n(2_000):,} losses",
            [tests("12", "vyre_driver_tests", "Losses.*", 0.2, {"VYRE_LOSSES": str(n(2_000))})], "cases"),
        Row("13", "hostile programs", f"all by hand + {n(1_000):,} generated",
            [tests("13.check", "vyre_cli_tests", "*Hostile*", 0.5)]
            + attack("13", ["hostile", "--vyre", "build/dev/src/cli/vyre"], n(1_000), 250, 0.2,
                     first_seed=130_000_000), "programs"),
        Row("14", "endless loops end with Timeout", "all", [
            Chunk("14", [f"{BIN}/conformance/vyre_conformance_tests", "--gtest_filter=cpu.hostile_endless*",
                         "--gtest_brief=1"], gtest, 0.2, builds=[("dev", "vyre_conformance_tests")])], "cases"),
        Row("15", "kill -9 while the cache is written", f"{5 * max(100, n(1_000)):,} kills", kills),
        Row("16", "corrupt cache entries", f"all + {10 * n(100_000):,} flips",
            [tests("16.all", "vyre_cache_tests", "Corruption.*:Trust.*:KeyFile.*", 0.2), *flips]),
        Row("17", "every component of the cache key", "all",
            [tests("17", "vyre_pipeline_test", "CacheKey.*:CacheAudit.*:CacheHit.*:DiskCache.*", 0.2, folder="src/pipeline")], "cases"),
        Row("18", "16 processes on one cache; also busy, full, read-only", f"{3 * n(34)} rounds",
            [tests("18", "vyre_cache_tests", "*ColdStart*", 1, repeat=n(34))], "cases"),
    ]
    rows[2].chunks[1].builds.append(("dev", "vyre_fake_cuda"))
    return {row.name: row for row in rows}


def fuzz_chunks(root, scale):
    """5: executions of every fuzz target, a million at a time, each with what the last one has found."""
    chunks = []
    targets = sorted(path.stem for path in (root / "test" / "fuzz").glob("*_fuzz.cpp"))
    each = scaled(math.ceil(50_000_000 / max(len(targets), 1)), scale)
    per_chunk = 1_000_000
    for target in targets:
        name = target.removesuffix("_fuzz")
        dictionary = next((f"test/fuzz/{d}.dict" for d in (name, "vyre")
                           if (root / "test" / "fuzz" / f"{d}.dict").is_file()), None)
        corpus, findings = f"build/nightly/corpus/{name}", f"build/fuzz/findings/{name}/"
        for i in range(math.ceil(each / per_chunk)):
            runs = min(per_chunk, each - i * per_chunk)
            length = TEXT_LENGTHS[i % len(TEXT_LENGTHS)] if name == "text" else 4096
            words = [f"build/fuzz/fuzz/{target}", f"-runs={runs}", "-timeout=30", "-rss_limit_mb=2048",
                     "-malloc_limit_mb=256", "-print_final_stats=1", f"-artifact_prefix={findings}",
                     f"-max_len={length}", f"-seed={i + 1}", *([f"-dict={dictionary}"] if dictionary else []), corpus,
                     f"test/fuzz/corpus/{name}"]
            script = f"mkdir -p {corpus} {findings} && exec {shlex.join(words)}"
            chunks.append(Chunk(f"5.{name}.{i + 1}", ["bash", "-c", script],
                                says(r"^stat::number_of_executed_units: *(\d+)"),
                                20 if name == "text" and length > 200 else 4, runs,
                                {"ASAN_SYMBOLIZER_PATH": "/usr/lib/llvm-19/bin/llvm-symbolizer",
                                 "ASAN_OPTIONS": FUZZ_SANITIZER},
                                [("fuzz", target)]))
    return chunks


def litmus_result(code, text):
    score = re.search(r"^mutation score: (.*?) on ", text, re.M)
    return {**says(r"^(\d+) passed, 0 failed")(code, text), **({"note": score[1]} if score and code == 0 else {})}


def of_time(root, scale):
    """5 and 19 to 22: what only long runs show."""
    n = lambda number: scaled(number, scale)  # noqa: E731
    # A quarter of a billion instances of all tests is what two cores do in half an hour or so.
    program = [f"{BIN}/litmus/vyre_litmus", "--device", "cpu"]
    litmus = [Chunk(f"20.{i + 1}", [*program, "--rounds", str(n(25_000_000))], litmus_result, 30,
                    builds=[("dev", "vyre_litmus")]) for i in range(4)]
    litmus.append(Chunk("20.mutants", [*program, "--rounds", str(n(1_000_000)), "--mutants", "--least-score", "80"],
                        litmus_result, 10, builds=[("dev", "vyre_litmus")], option="--mutants"))
    stress = [tests(f"19.{i + 1}", "vyre_driver_tests", "Stress.*", 10.5,
                    {"VYRE_STRESS_SECONDS": str(n(300))}, preset="tsan") for i in range(3)]
    rows = [
        Row("5", "mutated text, bytes and values under ASan and UBSan", f"{n(50_000_000):,} executions",
            fuzz_chunks(root, scale), "executions"),
        Row("19", "TSan: 8 threads on shared devices", f"{6 * n(300) // 60} min", stress),
        Row("20", "memory-model litmus tests on cpu", f"20 tests × {4 * n(25_000_000):,}, mutants ≥ 80 % killed", litmus),
        Row("21", "soak: memory, files and threads stay", f"{n(1_000_000):,} dispatches",
            [tests("21.null", "vyre_driver_tests", "Soak.DispatchesOfRandomSizes", 1, {"VYRE_SOAK": str(n(1_000_000))}),
             tests("21.cpu", "vyre_driver_tests", "Soak.DispatchesOnTheCores", 0.2, {"VYRE_SOAK": str(n(1_000_000))})]),
        Row("22", "distributed: ranks that die, messages that are late", f"{n(500)}", [],
            unavailable="no communicator but `self` and the test double is in this build"),
    ]
    return {row.name: row for row in rows}


def coverage(root, scale):
    """The tests of the whole tree with counters, then gcovr over src and include."""
    folder = root / "build" / "coverage"
    script = (f"set -e; find {folder} -name '*.gcda' -delete; code=0; "
              "ctest --preset coverage -j $(nproc) >build/nightly/coverage-tests.log 2>&1 || code=$?; "
              "tail -n 3 build/nightly/coverage-tests.log; test $code = 0; exec tools/coverage build/coverage")
    return Row("coverage", "lines and branches that the tests run (gcovr)", "lines ≥ 85 %, branches ≥ 75 %", [
        Chunk("coverage", ["bash", "-c", script], coverage_result, 90, builds=[("coverage", "all")])])


def coverage_result(code, text):
    found = re.search(r"^lines ([\d.]+) %, branches ([\d.]+) %", text, re.M)
    if not found:
        return {"result": "failed", "note": f"exit code {code}: {text[-160:].strip()}"}
    return {"result": "ok" if code == 0 else "failed", "note": found[0]}


def killed(code, text):
    found = re.search(r"^\d+ of \d+ mutants killed \(.*\)", text, re.M)
    if not found:
        return {"result": "failed", "note": f"exit code {code}: {text[-160:].strip()}"}
    return {"result": "ok" if code == 0 else "failed", "note": found[0]}


def fresh(code, text):
    if code == 69:
        return {"result": "unavailable", "note": text.strip().splitlines()[-1][:160]}
    rows = re.findall(r"^\| ([\w-]+) \| `(.*?)` \| (.*?) \| (\d+) s \|", text, re.M)
    note = "; ".join(f"{order} {command.split()[1]}: {result}, {seconds} s" for order, command, result, seconds in rows)
    return {"result": "ok" if code == 0 and rows else "failed", "note": note or f"exit code {code}"}


MATHS = ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "pow",
         "rsqrt", "recip", "log10", "log1p", "expm1", "cbrt", "erf", "exp10", "atan2", "hypot",
         "approximate sin", "approximate cos", "approximate rsqrt", "approximate recip")
MATHS_F64 = ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "pow",
             "rsqrt", "recip", "atan2", "hypot", "log10", "log1p", "expm1", "cbrt", "erf", "exp10")


def maths(millionth):
    """All f32 arguments at scale 1, every tenth at 0.1; functions of two have samples, and f64 10^9 of each.
    Ends with 1 beyond a bound."""
    stride = max(1, 1_000_000 // millionth)
    wide = [Chunk(f"maths.{name}-f64",
                  [f"{BIN}/vyre_verify_maths", "--doubles", str(1_000_000_000 // stride), f"{name} f64"],
                  says(r"^\| `[a-z0-9 ]+` \| (\d+) \|"), 8 / stride, builds=[("dev", "vyre_verify_maths")])
            for name in MATHS_F64]
    return wide + [Chunk(f"maths.{name.replace(' ', '-')}",
                  [f"{BIN}/vyre_verify_maths", "--stride", str(stride), "--pairs", str((1 << 32) // stride), name],
                  says(r"^\| `[a-z0-9 ]+` \| (\d+) \|"), 8 / stride, builds=[("dev", "vyre_verify_maths")])
            for name in MATHS]


def gates(root, scale):
    """Named rows: the machine, the sanitizers over everything, coverage, mutants, the pool."""
    n = lambda number: scaled(number, scale)  # noqa: E731
    few = [] if scale >= 1 else ["--tests", r"^(ir|text|check)\."]
    mutants = "build/dev/test/mutants"
    some = [] if scale >= 1 else ["-R", r"^(ir|text|check)\."]
    return [
        Row("bare-machine", "both commands of the README on a bare Debian 12, in both orders", "2 orders",
            [Chunk(f"bare-machine.{order}", ["tools/fresh_machine", "--order", order, *few], fresh, 75)
             for order in ("run-test", "test-run")]),
        Row("asan", "all tests under ASan and UBSan", "all",
            [Chunk("asan", ["./bootstrap", "asan", *some], ctest, 100)], "cases"),
        Row("tsan", "all tests under TSan", "all",
            [Chunk("tsan", ["./bootstrap", "tsan", *some], ctest, 110)], "cases"),
        coverage(root, scale),
        Row("mutants", "the validator with one check wrong: the tests notice", "≥ 95 % killed",
            [Chunk("mutants", ["tools/mutate_checks", "run", f"{mutants}/vyre_check_mutants", "--list",
                               f"{mutants}/sources/list.json", "--state", "build/nightly/mutants.json"],
                   killed, 0.5, builds=[("dev", "vyre_check_mutants")])]),
        Row("plan-mutants", "the planner with one mistake: the tests notice", "all killed",
            [tests("plan-mutants", "vyre_plan_mutation_tests", "*", 1, folder="test/plan")], "mistakes"),
        Row("pool", "devices opened, used and closed under load", f"{n(100_000):,}",
            [tests("pool", "vyre_backend_cpu_test", "Pool.ManyEnd", 0.3, {"VYRE_SOAK_POOLS": str(n(100_000))},
                   folder="src/backend/cpu")]),
        Row("pool-model", "the worker pool's protocol under every interleaving", "all",
            [tests("pool-model", "vyre_backend_cpu_test", "PoolProtocol*", 0.4, {"VYRE_MODEL": "full"},
                   folder="src/backend/cpu")], "searches"),
        Row("maths", "every f32 argument of the maths functions and of their approximations; f64", "2^32, 10^9 each",
            maths(n(1_000_000)), "arguments"),
        Row("printed-c", "printed C, compiled by cc: bit-equal to the interpreter", f"all cases + {n(2_000):,} programs",
            [tests("printed-c", "vyre_conformance_tests", "c.*", 30, {"VYRE_CONFORMANCE_ALL": "1"},
                   folder="test/conformance")]
            + plan_check("printed-c.programs", ["--device", "c"], n(2_000), 3, first_seed=95_000_000),
            "programs and cases"),
    ]


def rows(scale=1.0):
    root = Path(__file__).resolve().parent.parent
    numbered = {**of_programs(scale), **of_failures(scale), **of_time(root, scale)}
    first, *others = gates(root, scale)
    return [first, *(numbered[str(i)] for i in range(1, 23)), *others]
