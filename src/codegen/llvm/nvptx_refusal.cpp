// SPDX-License-Identifier: Apache-2.0
// What PTX is not made for: said before code generation, because LLVM would end the process over
// some of it and drop the meaning of the rest without a word (the order of an atomic operation).
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/match.hpp"
#include "codegen/llvm/nvptx.hpp"
#include "device/kernel.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Of kernels: memory of a block that needs no consent of the driver, and parameters.
constexpr uint64_t kStaticSharedBytes = 48U << 10;
constexpr uint64_t kParameterBytes = 4096;
constexpr std::array<uint32_t, 3> kMostThreads = {1024, 1024, 64};
constexpr uint64_t kMostThreadsOfBlock = 1024;

class Refusal {
 public:
  explicit Refusal(const plan::Segment& segment)
      : segment_(segment), c_(segment.program), p_(segment.program.program) {}

  std::optional<Error> run() {
    limits();
    fn_seen_.resize(p_.fns.size());
    walk(p_.body);
    // Whoever saves it has to wait for threads that end early, and other barriers must not.
    for (const plan::SharedUse& use : segment_.shared)
      if (use.save && ends_ && waits_)
        refuse(fmt::format("shared buffer `{}` lives across a barrier of the grid in a program "
                           "with barriers of workgroups whose lanes end early",
                           p_[use.buffer].name),
               {});
    return std::move(first_);
  }

 private:
  void refuse(std::string_view what, Position at) {
    if (first_) return;
    first_ = Error{.code = ErrorCode::Unsupported,
                   .message = fmt::format("no PTX is made for program `{}`: {}. Fix: use another "
                                          "device",
                                          p_.name, what),
                   .context = {},
                   .at = std::move(at),
                   .diagnostics = {}};
  }

  void limits() {
    uint64_t threads = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
      threads *= c_.workgroup[axis];
      if (c_.workgroup[axis] > kMostThreads[axis])
        refuse(fmt::format("axis {} of its workgroup ({}) is longer than that of a block ({})",
                           "xyz"[axis], c_.workgroup[axis], kMostThreads[axis]),
               {});
    }
    if (threads > kMostThreadsOfBlock)
      refuse(fmt::format("its workgroup has more lanes ({}) than a block has threads ({})", threads,
                         kMostThreadsOfBlock),
             {});
    uint64_t shared = 0;
    for (size_t i = 0; i < p_.buffers.size(); ++i)
      if (p_.buffers[i].kind == BufferKind::Shared)
        shared += shared_row_bytes(uint64_t{*c_.buffers[i].constant_count} *
                                   bytes_of(p_.buffers[i].element));
    if (shared > kStaticSharedBytes)
      refuse(fmt::format("its shared memory ({} bytes) is more than a kernel declares ({})", shared,
                         kStaticSharedBytes),
             {});
    const uint64_t parameters =
        sizeof(device::KernelArgs) + p_.buffers.size() * sizeof(device::KernelBinding);
    if (parameters > kParameterBytes)
      refuse(fmt::format("its buffers take more parameters ({} bytes) than a kernel has ({})",
                         parameters, kParameterBytes),
             {});
  }

  static uint64_t shared_row_bytes(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

  void walk(Block block) {
    for (const StmtId id : p_.items(block)) {
      const auto no = [&](std::string_view what) { refuse(what, p_.position_of(id)); };
      match(
          p_[id], [](const Let&) {}, [](const DeclareArray&) {}, [](const Assign&) {},
          [](const Store&) {}, [](const Eval&) {}, [](const If&) {}, [](const For&) {},
          [](const While&) {}, [](const Break&) {}, [](const Continue&) {},
          [&](const Return&) { ends_ = ends_ || !in_fn_; }, [](const Nested&) {},
          [](const Region&) {},
          [&](const Barrier& s) {
            if (s.scope == Scope::Grid) no("it has a barrier of the grid");
            if (s.scope == Scope::Subgroup) no("it has a barrier of subgroups");
            waits_ = true;
          },
          [&](const Fixpoint&) { no("it has a fixpoint"); },
          [&](const AsyncCopy&) { no("it has an asynchronous copy"); },
          [&](const Wait&) { no("it waits for an asynchronous copy"); },
          [&](const Trap&) { no("it has a trap"); }, [&](const Resume&) { no("it has a resume"); },
          [&](const Collective&) { no("it has a collective operation"); });
      for_each_operand(p_, p_[id], [&](ExprId e) { walk(e); });
      for_each_block(p_[id], [&](Block b) { walk(b); });
    }
  }

  void walk(ExprId id) {
    const auto no = [&](std::string_view what) { refuse(what, p_.position_of(id)); };
    if (std::holds_alternative<Subgroup>(p_[id])) no("it has a subgroup operation");
    if (const auto* e = std::get_if<UniformLoad>(&p_[id])) {
      if (e->scope == Scope::Grid) no("it has a load with barriers of the grid");
      waits_ = true;
    }
    if (const auto* e = std::get_if<Atomic>(&p_[id]);
        e != nullptr && e->order != MemoryOrder::Relaxed)
      no("it has an atomic operation with an order");
    for_each_operand(p_, p_[id], [&](ExprId e) { walk(e); });
    if (const auto* e = std::get_if<Call>(&p_[id]); e != nullptr && !fn_seen_[e->fn.index()]) {
      fn_seen_[e->fn.index()] = true;
      const bool outer = std::exchange(in_fn_, true);
      walk(p_[e->fn].body);
      in_fn_ = outer;
    }
  }

  const plan::Segment& segment_;
  const check::CheckedProgram& c_;
  const Program& p_;
  std::vector<bool> fn_seen_;
  bool in_fn_ = false;
  bool ends_ = false;   // a lane, before the end of the program
  bool waits_ = false;  // at barriers of workgroups
  std::optional<Error> first_;
};

}  // namespace

std::optional<Error> nvptx_refusal(const plan::Segment& segment) {
  return Refusal(segment).run();
}

// Less than some of these GPUs can do where the code above is refused.
device::Capabilities nvptx_capabilities() {
  device::Capabilities c;
  c.f16_storage = c.bf16_storage = c.storage_8bit = c.storage_16bit = c.i64 = c.f64 =
      c.i64_atomics = c.f32_atomic_add = c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma =
          c.exact_division = c.exact_sqrt = c.exact_conversions = true;
  c.resident_buffers = true;
  c.max_workgroup_size = kMostThreads;
  c.max_invocations_per_workgroup = kMostThreadsOfBlock;
  c.max_workgroups = {0x7FFF'FFFF, 0xFFFF, 0xFFFF};
  c.shared_bytes = kStaticSharedBytes;
  c.storage_buffer_bytes = uint64_t{device::kMostKernelElements} * 8;
  c.max_bindings = 64;
  c.subgroup_size = 32;
  c.native_integer_bits = 32;
  c.formats = {device::Format::Ptx};
  return c;
}

}  // namespace vyre::codegen
