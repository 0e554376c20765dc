#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triton and PyTorch on the workloads of bench_cuda: one markdown table, and JSON in the same form.

    python3 bench/cuda/peers.py [--filter G2,G9] [--repetitions N] [--json FILE] [--ours FILE] [--quick]

Peers of one workload run in turn, waited for, on the same data; results are compared with PyTorch's
before anything is timed. --ours takes the JSON that bench_cuda wrote on the same machine just before,
and puts its rows of the same name beside them. What is not installed is said, not skipped.
"""

import argparse
import atexit
import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import warnings

CACHE = tempfile.mkdtemp(prefix="vyre-bench-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)
# Nothing may be left over from an earlier run: cold rows are cold.
os.environ["TRITON_CACHE_DIR"] = os.path.join(CACHE, "triton")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(CACHE, "inductor")
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
os.environ["CUDA_CACHE_DISABLE"] = "1"
warnings.filterwarnings("ignore", message=".*force.disable.*")  # that is what was asked for

MISSING = {}
try:
    import torch

    if not torch.cuda.is_available():
        MISSING["PyTorch"] = "PyTorch sees no GPU"
except Exception as e:  # an installation can be broken in many ways
    MISSING["PyTorch"] = f"PyTorch cannot be imported ({e})"
try:
    import triton
    import triton.language as tl
except Exception as e:
    MISSING["Triton"] = f"Triton cannot be imported ({e})"
if "PyTorch" in MISSING:
    MISSING.setdefault("Triton", "it needs PyTorch for its data: " + MISSING["PyTorch"])

SAMPLE_S = 3e-3  # a sample of short calls takes about this long


class Peer:
    """`run` gives the result; `cold` ones take one call a sample, which times itself."""

    def __init__(self, name, variant, run, goal=None, cold=False):
        self.name, self.variant, self.run, self.goal, self.cold = name, variant, run, goal, cold
        self.times, self.device, self.calls, self.equal = [], [], 1, None


def synchronize():
    torch.cuda.synchronize()


def wall(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
        synchronize()
    return (time.perf_counter() - start) / calls


def on_device(run):
    first = torch.cuda.Event(enable_timing=True)
    last = torch.cuda.Event(enable_timing=True)
    first.record()
    run()
    last.record()
    synchronize()
    return first.elapsed_time(last) * 1e-3


def measure(peers, expected, close, repetitions):
    for peer in peers:
        if peer.cold:
            continue
        result = peer.run()
        synchronize()
        if expected is not None:
            if close is None:
                peer.equal = bool(torch.equal(result, expected))
            else:
                peer.equal = bool(torch.allclose(result, expected, rtol=close, atol=close))
        del result
        synchronize()
        peer.calls = max(1, int(SAMPLE_S / max(wall(peer.run, 1), 1e-7)))
    for _ in range(repetitions):
        for peer in peers:
            if peer.cold:
                peer.times.append(peer.run())
                continue
            peer.run()
            synchronize()  # or its end would count for the sample
            peer.times.append(wall(peer.run, peer.calls))
    for _ in range(repetitions):
        for peer in peers:
            # For short ones the events would time Python.
            if not peer.cold and min(peer.times) > 1e-4:
                peer.device.append(on_device(peer.run))


# ---- the table


def sample(times):
    if not times:
        return None
    return {
        "median_ns": statistics.median(times) * 1e9,
        "min_ns": min(times) * 1e9,
        "repetitions": len(times),
    }


def time_text(ns):
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if ns < limit:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def times_text(wall_times, device):
    if wall_times is None:
        return "-"
    text = f"{time_text(wall_times['median_ns'])} ({time_text(wall_times['min_ns'])})"
    return text + (f"; device {time_text(device['median_ns'])}" if device else "")


class Table:
    def __init__(self, ours):
        self.rows = []
        self.ours = {}
        if ours:
            with open(ours, encoding="utf-8") as f:
                for row in json.load(f)["rows"]:
                    if row.get("ours"):
                        self.ours.setdefault((row["id"], row["workload"]), row)
        print("| id | workload | ours | peer | peer's time | ratio | goal | met | equal | n |")
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)

    def add(self, row_id, workload, peer, unavailable=None):
        mine = self.ours.get((row_id, workload), {})
        row = {
            "id": row_id,
            "workload": workload,
            "ours": mine.get("ours"),
            "peer": peer.name,
            "variant": peer.variant,
            "theirs": sample(peer.times),
            "goal": f"≥ {peer.goal:g}" if peer.goal else "-",
        }
        ours_device, theirs_device = mine.get("ours_device"), sample(peer.device)
        ratios = []
        if row["ours"] and row["theirs"]:
            row["ratio"] = row["theirs"]["median_ns"] / row["ours"]["median_ns"]
            ratios.append(f"{row['ratio']:.2f}")
        if ours_device:
            row["ours_device"] = ours_device
        if theirs_device:
            row["theirs_device"] = theirs_device
        if ours_device and theirs_device:
            row["device_ratio"] = theirs_device["median_ns"] / ours_device["median_ns"]
            ratios.append(f"device {row['device_ratio']:.2f}")
        met = "-"
        # Streams are judged by what the device did, all else by the clock on the wall.
        judged = row.get("device_ratio" if row_id == "G2" else "ratio")
        if peer.goal and judged:
            row["met"] = judged >= peer.goal
            met = "yes" if row["met"] else "**no**"
        equal = "-"
        if peer.equal is not None:
            row["equal"] = peer.equal
            equal = "yes" if peer.equal else "**no**"
        theirs = times_text(row["theirs"], theirs_device)
        if unavailable:
            row["unavailable"] = unavailable
            theirs = "unavailable: " + " ".join(unavailable.replace("|", " ").split())[:300]
        name = peer.name + (f", {peer.variant}" if peer.variant else "")
        n = len(peer.times) or "-"
        print(
            f"| {row_id} | {workload} | {times_text(row['ours'], ours_device)} | {name} | {theirs} "
            f"| {'; '.join(ratios) or '-'} | {row['goal']} | {met} | {equal} | {n} |",
            flush=True,
        )
        self.rows.append(row)


# ---- kernels of Triton

if "Triton" not in MISSING:

    @triton.jit
    def scale_add_kernel(a, b, o, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        tl.store(o + i, tl.load(a + i, inside) * 2 + tl.load(b + i, inside), inside)

    @triton.jit
    def stencil_kernel(a, o, w, h, BLOCK: tl.constexpr):
        x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        y = tl.program_id(1)
        inside = (x > 0) & (x < w - 1) & (y > 0) & (y < h - 1)
        i = y * w + x
        up = tl.load(a + i - w, inside)
        down = tl.load(a + i + w, inside)
        left = tl.load(a + i - 1, inside)
        right = tl.load(a + i + 1, inside)
        tl.store(o + i, 0.25 * ((up + down) + (left + right)), inside)

    @triton.jit
    def sum_kernel(x, parts, n, EACH, BLOCK: tl.constexpr):
        mine = tl.zeros((BLOCK,), tl.float32)
        first = tl.program_id(0) * EACH
        for k in range(0, EACH, BLOCK):
            i = first + k + tl.arange(0, BLOCK)
            mine += tl.load(x + i, i < n, other=0.0)
        tl.store(parts + tl.program_id(0), tl.sum(mine))

    @triton.jit
    def last_sum_kernel(parts, total, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(total, tl.sum(tl.load(parts + i, i < n, other=0.0)))

    @triton.jit
    def small_kernel(d):
        i = tl.arange(0, 64)
        tl.store(d + i, tl.load(d + i) * 2 + 1)


# ---- workloads: (id, name, peers by library, what the result is, tolerance)


def count_text(n):
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def scale_add(quick):
    n = 4096 if quick else 1 << 29
    a = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, device="cuda")
    b = torch.randint(-(2**31), 2**31 - 1, (n,), dtype=torch.int32, device="cuda")
    o = torch.empty_like(a)
    peers = []

    def triton_peer(block, warps):
        def run():
            scale_add_kernel[(triton.cdiv(n, block),)](a, b, o, n, BLOCK=block, num_warps=warps)
            return o

        return Peer("Triton", f"blocks of {block}, {warps} warps", run, 0.99)

    if "Triton" not in MISSING:
        peers += [triton_peer(1024, 4), triton_peer(1024, 8), triton_peer(2048, 8)]
    peers.append(Peer("PyTorch", "torch.add", lambda: torch.add(b, a, alpha=2, out=o)))
    compiled = torch.compile(lambda x, y: x * 2 + y)
    peers.append(Peer("torch.compile", "", lambda: compiled(a, b)))
    return f"a*2+b, u32, {count_text(n)}", peers, a * 2 + b, None


def stencil(quick):
    side = 64 if quick else 16384
    a = torch.rand((side, side), device="cuda")
    o = torch.zeros_like(a)

    def step(x):
        return 0.25 * ((x[:-2, 1:-1] + x[2:, 1:-1]) + (x[1:-1, :-2] + x[1:-1, 2:]))

    def with_border(inner):
        o[1:-1, 1:-1] = inner
        return o

    compiled = torch.compile(lambda x, to: to[1:-1, 1:-1].copy_(step(x)))

    def run_compiled():
        compiled(a, o)
        return o

    def triton_peer(block):
        def run():
            grid = (triton.cdiv(side, block), side)
            stencil_kernel[grid](a, o, side, side, BLOCK=block, num_warps=4)
            return o

        return Peer("Triton", f"blocks of {block}", run)

    peers = [triton_peer(512), triton_peer(1024)] if "Triton" not in MISSING else []
    peers.append(Peer("PyTorch", "slices", lambda: with_border(step(a))))
    peers.append(Peer("torch.compile", "", run_compiled))
    expected = torch.zeros_like(a)
    expected[1:-1, 1:-1] = step(a)
    # A compiler may fuse a product and a sum.
    return f"5-point stencil, f32, {side}²", peers, expected, 1e-6


def reduce_of(n):
    def make(quick):
        count = 5000 if quick else n
        x = torch.rand((count,), device="cuda")
        programs = max(1, min(1056, count // 4096))
        each = triton.cdiv(triton.cdiv(count, programs), 4096) * 4096 if "Triton" not in MISSING else 0
        parts = torch.empty((programs,), device="cuda")
        total = torch.empty((), device="cuda")

        def run():
            sum_kernel[(programs,)](x, parts, count, each, BLOCK=4096, num_warps=8)
            last_sum_kernel[(1,)](parts, total, programs, BLOCK=2048)
            return total

        peers = [Peer("Triton", "two kernels", run)] if "Triton" not in MISSING else []
        peers.append(Peer("PyTorch", "torch.sum", lambda: torch.sum(x)))
        compiled = torch.compile(torch.sum)
        peers.append(Peer("torch.compile", "", lambda: compiled(x)))
        # Relative to the sum; orders differ.
        return f"sum in a fixed order, f32, {count_text(count)}", peers, torch.sum(x), 1e-4

    return make


def small(quick):
    del quick
    d = torch.zeros((64,), dtype=torch.int32, device="cuda")
    peers = []
    if "Triton" not in MISSING:
        peers.append(Peer("Triton", "launch and synchronize", lambda: small_kernel[(1,)](d)))
    peers.append(Peer("PyTorch", "eager operation", lambda: d.add_(1)))
    compiled = torch.compile(lambda x: x * 2 + 1)
    peers.append(Peer("torch.compile", "", lambda: compiled(d)))
    return "warm dispatch and wait, same argument", peers, None, None


def cold(quick):
    n = 256
    a = torch.arange(n, dtype=torch.int32, device="cuda")
    b = torch.arange(n, dtype=torch.int32, device="cuda") * 3
    expected = a * 2 + b
    made = [0]
    del quick

    def fresh_module():
        """A file with a kernel that nobody has compiled: its source differs from all before it."""
        made[0] += 1
        path = os.path.join(CACHE, f"cold{made[0]}.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(
                "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                f"def kernel{made[0]}(a, b, o, n, BLOCK: tl.constexpr):\n"
                "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                "    tl.store(o + i, tl.load(a + i, i < n) * 2 + tl.load(b + i, i < n), i < n)\n"
            )
        spec = importlib.util.spec_from_file_location(f"cold{made[0]}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, f"kernel{made[0]}")

    def cold_triton():
        o = torch.empty_like(a)
        synchronize()
        start = time.perf_counter()
        fresh_module()[(1,)](a, b, o, n, BLOCK=256)
        result = o.cpu()
        taken = time.perf_counter() - start
        assert torch.equal(result, expected.cpu())
        return taken

    def cold_torch():
        torch._dynamo.reset()
        synchronize()
        start = time.perf_counter()
        result = torch.compile(lambda x, y: x * 2 + y)(a, b).cpu()
        taken = time.perf_counter() - start
        assert torch.equal(result, expected.cpu())
        return taken

    peers = []
    if "Triton" not in MISSING:
        cold_triton()  # the first one of a process also loads the compiler
        peers.append(Peer("Triton", "another kernel", cold_triton, 3, cold=True))
    peers.append(Peer("torch.compile", "", cold_torch, cold=True))
    return "cold, later in its process, a*2+b, 256 lanes", peers, None, None


# id, what it is, how it is made, samples at most
WORKLOADS = [
    ("G2", "a*2+b", scale_add, 15),
    ("G2", "stencil", stencil, 15),
    ("G4", "small launch", small, 15),
    ("G6", "cold compile", cold, 5),
    ("G9", "sum, 2^20", reduce_of(1 << 20), 15),
    ("G9", "sum, 2^28", reduce_of(1 << 28), 15),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--filter", default="", help="rows to measure, by their ids")
    parser.add_argument("--repetitions", type=int, default=15, help="samples per peer, at most")
    parser.add_argument("--json", default="", help="also write the rows to this file")
    parser.add_argument("--ours", default="", help="what bench_cuda --json wrote on this machine")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it all runs")
    options = parser.parse_args()
    wanted = [w for w in options.filter.split(",") if w]
    head = []
    if "PyTorch" not in MISSING:
        head.append(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    if "Triton" not in MISSING:
        head.append(f"Triton {triton.__version__}")
    print(", ".join(head + sorted(set(MISSING.values()))) + ". Times: median (min).\n")
    table = Table(options.ours)
    failed = False
    for row_id, what, make, repetitions in WORKLOADS:
        if wanted and row_id not in wanted:
            continue
        if "PyTorch" in MISSING:
            for library in ("Triton", "PyTorch", "torch.compile"):
                why = MISSING.get(library, MISSING["PyTorch"])
                table.add(row_id, what, Peer(library, "", None), why)
            continue
        try:
            workload, peers, expected, close = make(options.quick)
            count = 3 if options.quick else min(repetitions, options.repetitions)
            measure(peers, expected, close, count)
        except Exception as e:  # one workload that fails must not take the others along
            table.add(row_id, what, Peer("-", "", None), f"failed: {e}")
            failed = True
            continue
        names = list(dict.fromkeys(p.name for p in peers))
        for name in names:  # of several variants the fastest
            alike = [p for p in peers if p.name == name]
            best = min(alike, key=lambda p: statistics.median(p.times))
            if any(p.equal is False for p in alike):
                best.equal = False
                failed = True
            table.add(row_id, workload, best)
        if "Triton" in MISSING:
            table.add(row_id, workload, Peer("Triton", "", None), MISSING["Triton"])
        del peers, expected
        torch.cuda.empty_cache()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            json.dump({"date": date, "missing": MISSING, "rows": table.rows}, f, indent=1)
            f.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
