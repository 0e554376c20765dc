// SPDX-License-Identifier: Apache-2.0
// `vyre compile`: what a device gets, as far as it has a form for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Compile : public ::testing::Test {
 protected:
  Outcome compile(std::vector<std::string> more) const {
    more.insert(more.begin(), {"compile", good_});
    return run_vyre(std::move(more));
  }
  Folder folder_;
  std::string good_ = folder_.write("good.vyre", kGood);
};

TEST_F(Compile, AnInterpreterHasNoListing) {
  for (const char* emit : {"llvm", "asm", "ptx", "spirv", "cubin"}) {
    const Outcome outcome =
        compile({"--device", "reference", "--emit", emit, "-o", folder_.path("code")});
    EXPECT_EQ(outcome.exit_code, 4) << emit;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr("the device takes code as `program`, which has no listing as "),
                      HasSubstr(emit), HasSubstr("for device `reference`"),
                      HasSubstr("Fix: `vyre plan FILE --device ID --segments`")));
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"good.vyre"});
}

TEST_F(Compile, Json) {
  const Outcome outcome = compile({"--device", "reference:3", "--emit", "llvm", "--json"});
  EXPECT_EQ(outcome.exit_code, 4);
  const Json document = outcome.json();
  EXPECT_EQ(document["command"], "compile");
  EXPECT_EQ(document["ok"], false);
  EXPECT_EQ(document["error"]["name"], "Unsupported");
}

// What `run` gets with the same words (D-PIPE.9): another text with a budget, and the same text
// where the budget permits nothing.
TEST_F(Compile, BudgetAndProfileShowInTheCode) {
  const std::string program = folder_.write("maths.vyre", R"(program maths {
  workgroup 64;
  inout x : f32[];
  x[gid.x] = recip(x[gid.x]) + exp(x[gid.x]);
}
)");
  const auto code = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", program, "--device", "cpu", "--emit", "llvm"});
    return run_vyre(more);
  };
  const Outcome strict = code({});
  if (strict.exit_code == 4) GTEST_SKIP() << "unavailable: " << strict.err;
  ASSERT_EQ(strict.exit_code, 0) << strict.err;
  const Outcome budget = code({"--ulp-budget", "4"});
  EXPECT_EQ(budget.exit_code, 0) << budget.err;
  EXPECT_NE(budget.out, strict.out);
  EXPECT_EQ(code({"--ulp-budget", "0"}).out, strict.out);
  EXPECT_NE(code({"--profile", "latency"}).out, strict.out);
  EXPECT_EQ(code({"--profile", "throughput"}).out, strict.out);
  EXPECT_EQ(code({"--profile", "fast"}).exit_code, 2);
  EXPECT_EQ(code({"--ulp-budget", "-1"}).exit_code, 2);

  const auto planned = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"cache", "why", program, "--device", "cpu", "--dir",
                               folder_.path("cache"), "--json"});
    return run_vyre(more).json()["options"];
  };
  EXPECT_EQ(planned({})["ulp_budget"], "0");
  EXPECT_NE(planned({"--ulp-budget", "4"})["ulp_budget"], "0");
  EXPECT_EQ(planned({"--profile", "latency"})["profile"], "latency");
}

TEST_F(Compile, Refusals) {
  const Outcome missing = compile({"--device", "nothing", "--emit", "llvm"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.err, HasSubstr("there is no device `nothing` in this build"));
  EXPECT_EQ(run_vyre({"compile", folder_.write("bad.vyre", kBad), "--device", "reference", "--emit",
                      "asm"})
                .exit_code,
            3);
  const std::string fixed = folder_.write(
      "fixed.vyre", "program fixed {\n  workgroup 4;\n  inout a : u32[];\n  a[lid.x] = 1;\n}\n");
  EXPECT_EQ(
      run_vyre({"compile", fixed, "--device", "reference", "--emit", "asm", "--workgroup", "8"})
          .exit_code,
      11);
  const Outcome own = compile({"--device", "reference", "--emit", "asm", "-o", good_});
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.err, HasSubstr("-o would overwrite the program"));
}

TEST_F(Compile, CodeOfTheHost) {
  const Outcome llvm = compile({"--device", "cpu", "--emit", "llvm"});
  EXPECT_EQ(llvm.exit_code, 0) << llvm.err;
  EXPECT_THAT(llvm.out, HasSubstr("define "));
  const Outcome assembly = compile({"--device", "cpu", "--emit", "asm"});
  EXPECT_EQ(assembly.exit_code, 0) << assembly.err;
  EXPECT_THAT(assembly.out, HasSubstr("\tret"));
  // The forms of GPUs are not those of this code.
  for (const char* emit : {"ptx", "spirv", "cubin"})
    EXPECT_EQ(compile({"--device", "cpu", "--emit", emit, "-o", folder_.path("code")}).exit_code, 4)
        << emit;
}

TEST_F(Compile, Ptx) {
  const Outcome ptx = compile({"--arch", "sm_80", "--emit", "ptx"});
  EXPECT_EQ(ptx.exit_code, 0) << ptx.err;
  EXPECT_THAT(ptx.out, AllOf(HasSubstr(".target sm_80"), HasSubstr(".entry vyre_entry_0(")));
  const Outcome llvm = compile({"--arch", "sm_80", "--emit", "llvm", "--json"});
  EXPECT_EQ(llvm.json()["device"], "sm_80");
  EXPECT_EQ(llvm.json()["format"], "ptx");
  EXPECT_THAT(llvm.json()["code"].get<std::string>(), HasSubstr("define ptx_kernel"));

  const Outcome assembly = compile({"--arch", "sm_80", "--emit", "asm"});
  EXPECT_EQ(assembly.exit_code, 4);
  EXPECT_THAT(assembly.err, HasSubstr("Fix: ask for llvm or ptx"));
  const Outcome unknown = compile({"--arch", "sm_60", "--emit", "ptx"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("use one of sm_75, sm_80"));
  const Outcome both = compile({"--arch", "sm_80", "--device", "cpu", "--emit", "ptx"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("give --device ID, or --arch sm_90"));
}

// The code for each way through a barrier of the grid.
TEST_F(Compile, Routes) {
  const std::string barrier = folder_.write("meets.vyre",
                                            "program meets {\n  workgroup 64;\n  inout a : u32[];\n"
                                            "  a[gid.x] = 1;\n  barrier grid;\n"
                                            "  a[gid.x] += a[0];\n}\n");
  const auto ptx = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", barrier, "--arch", "sm_90", "--emit", "ptx"});
    return run_vyre(std::move(more));
  };
  EXPECT_THAT(ptx({}).out, AllOf(HasSubstr(".reqntid 64,"), Not(HasSubstr("vyre_entry_1"))));
  EXPECT_THAT(ptx({"--route", "persistent"}).out,
              AllOf(HasSubstr(".reqntid 1024,"), Not(HasSubstr("vyre_entry_1"))));
  EXPECT_EQ(ptx({"--route", "persistent", "--json"}).json()["route"], "persistent");
  EXPECT_THAT(ptx({"--route", "resident"}).out, HasSubstr("vyre_entry_1"));
  const Outcome checked = ptx({"--route", "native", "--checked"});
  EXPECT_EQ(checked.exit_code, 4);
  EXPECT_THAT(checked.err, HasSubstr("Fix: use the persistent route"));
  EXPECT_EQ(ptx({"--route", "shortest"}).exit_code, 2);
}

// For people and other compilers: no device of the registry loads it, and every one shows it.
TEST_F(Compile, C) {
  const Outcome plain = compile({"--emit", "c"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, AllOf(HasSubstr("#include <stdint.h>"),
                               HasSubstr("void vyre_entry_0(const struct vyre_args *args"),
                               HasSubstr("const struct vyre_info vyre_info[1]")));
  EXPECT_EQ(compile({"--emit", "c", "--device", "cpu"}).out, plain.out);
  const Json document = compile({"--emit", "c", "--json"}).json();
  EXPECT_EQ(document["device"], "cpu");
  EXPECT_EQ(document["format"], "c");
  EXPECT_EQ(document["code"], plain.out);
  EXPECT_EQ(compile({"--emit", "c", "--arch", "sm_90"}).exit_code, 0);
  EXPECT_THAT(compile({"--emit", "c", "--checked"}).out, HasSubstr("vyre_stop_lane(g, 2, "));

  const std::string cut = folder_.write("cut.vyre",
                                        "program cut {\n  workgroup 64;\n  inout a : u32[];\n"
                                        "  a[gid.x] = 1;\n  barrier grid;\n"
                                        "  a[gid.x] += a[0];\n}\n");
  EXPECT_THAT(run_vyre({"compile", cut, "--emit", "c"}).out, HasSubstr("vyre_entry_1"));
  EXPECT_THAT(run_vyre({"compile", cut, "--emit", "c", "--route", "host"}).out,
              HasSubstr("vyre_entry_1"));
  const Outcome native = run_vyre({"compile", cut, "--emit", "c", "--route", "native"});
  EXPECT_EQ(native.exit_code, 4);
  EXPECT_THAT(native.err, AllOf(HasSubstr("no barrier over the grid inside of one"),
                                HasSubstr("Fix: use the resident or host route")));
}

// With a driver that is none: its binaries are the PTX that they were made from.
TEST_F(Compile, ForAGpu) {
  const Surroundings fake{.environment = {"VYRE_CUDA_LIBRARY=" VYRE_FAKE_CUDA}};
  const auto with_gpu = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", good_, "--device", "cuda"});
    return run_vyre(std::move(more), fake);
  };
  const Outcome ptx = with_gpu({"--emit", "ptx"});
  EXPECT_EQ(ptx.exit_code, 0) << ptx.err;
  EXPECT_THAT(ptx.out, HasSubstr(".target sm_90"));
  const std::string file = folder_.path("code.cubin");
  const Outcome cubin = with_gpu({"--emit", "cubin", "-o", file});
  EXPECT_EQ(cubin.exit_code, 0) << cubin.err;
  EXPECT_THAT(folder_.read("code.cubin"), HasSubstr(".entry vyre_entry_0("));
  EXPECT_EQ(with_gpu({"--emit", "asm"}).exit_code, 4);
  // Without a device there is no driver to make one.
  const Outcome refused = compile({"--arch", "sm_80", "--emit", "cubin", "-o", file});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("--device cuda"));

  const Outcome missing = run_vyre({"compile", good_, "--device", "cuda", "--emit", "ptx"},
                                   {.environment = {"VYRE_CUDA_LIBRARY=/nonexistent/libcuda.so"}});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("/nonexistent/libcuda.so"), HasSubstr("Fix:")));
}

// A GPU is what `auto` takes, and what `devices` and `doctor` show.
TEST_F(Compile, AGpuIsSeen) {
  const Surroundings fake{.environment = {"VYRE_CUDA_LIBRARY=" VYRE_FAKE_CUDA}};
  const Outcome devices = run_vyre({"devices"}, fake);
  EXPECT_EQ(devices.exit_code, 0) << devices.err;
  EXPECT_THAT(devices.out, AllOf(HasSubstr("cuda: gpu, Fake GPU"), HasSubstr("formats ptx,cubin")));
  const Outcome doctor = run_vyre({"doctor"}, fake);
  EXPECT_THAT(doctor.out, HasSubstr("cuda: gpu, Fake GPU"));
}

}  // namespace
}  // namespace vyre::test
