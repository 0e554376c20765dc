// SPDX-License-Identifier: Apache-2.0
// The one header for users of the C++ library. Everything they need is in namespace vyre; the
// namespaces inside it (vyre::run, vyre::device, vyre::pipeline ...) are stages of the
// implementation, whose headers say more about what they give. docs/driver.md is the guide.
#pragma once

#include <cstddef>
#include <cstring>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/base/version.hpp"
#include "vyre/check/check.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/capabilities.hpp"
#include "vyre/device/communicator.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/device/telemetry.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/ir/builder.hpp"
#include "vyre/ir/host.hpp"
#include "vyre/ir/program.hpp"
#include "vyre/pipeline/audit.hpp"
#include "vyre/pipeline/manifest.hpp"
#include "vyre/plan/bindings.hpp"
#include "vyre/plan/plan.hpp"
#include "vyre/run/config.hpp"
#include "vyre/run/device.hpp"
#include "vyre/run/outputs.hpp"
#include "vyre/run/program.hpp"
#include "vyre/text/text.hpp"

namespace vyre {

// ---- programs as text and as values

using ir::BufferKind;
using ir::Locality;
using ir::MemoryOrder;
using ir::Program;
using ir::ReduceOp;
using ir::Scope;
using ir::Type;

using check::check_valid;
using check::CheckedProgram;
using ir::decode;
using ir::encode;
using run::load_checked;
using run::parse_checked;
using text::parse;
using text::print;

// ---- the driver: devices, pipelines, dispatches

using run::CompileResult;
using run::Device;
using run::DeviceOptions;
using run::Pending;
using run::Pipeline;
using run::Prewarmed;

using run::Argument;
using run::Arguments;
using run::Choice;
using run::Cooperative;
using run::DispatchConfig;
using run::DispatchResult;
using run::GridFrom;
using run::Outputs;
using run::ProgressFunction;
using run::Report;

using run::Breakdown;
using run::FixpointTime;
using run::LaunchTime;
using run::RegionTime;
using run::SegmentTime;
using run::Timing;

using device::Buffer;
using device::Contents;
using run::ReadRange;
using run::Sequence;
using run::SequenceItem;
using run::SequenceItemReport;
using run::SequenceReport;
using run::Write;

using device::Deadline;
using device::kNoDeadline;
using device::Timings;
using pipeline::CacheAudit;
using pipeline::CacheHit;
using pipeline::Manifest;
using plan::Route;

// ---- which devices there are

using device::BackendInfo;
using device::Capabilities;
using device::Communicator;
using device::DeviceFacts;
using device::DeviceProfile;
using device::registry;
using device::Selection;
using device::SelectionPolicy;
using DeviceKind = device::Kind;

// ---- what they did

using device::DeviceTelemetry;
using device::Metrics;
using device::TelemetrySnapshot;
using device::to_json;
using device::to_prometheus;
using pipeline::to_json;
using text::to_json;

// ---- bytes

// A copy of bytes as values of one type, such as an output slot as numbers. Bytes that do not fill
// a value at the end are left out.
template <class T>
  requires std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>
std::vector<T> to_vector(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// The bytes of values, where they are: what Device::upload and write take.
template <std::ranges::contiguous_range R>
  requires std::is_trivially_copyable_v<std::ranges::range_value_t<R>>
std::span<const std::byte> as_bytes(const R& values) {
  return std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
}

// ---- the builder: programs written in C++

// clang-format off
using build::boolean; using build::u32; using build::i32; using build::u64; using build::i64;
using build::f32; using build::f64; using build::u8; using build::i8; using build::u16;
using build::i16; using build::f16; using build::bf16;

using build::ProgramBuilder; using build::Value; using build::Var; using build::MemoryRef;
using build::Element; using build::Function; using build::Param; using build::BufferParam;
using build::Params; using build::ForOptions;

using build::elements; using build::binding; using build::align; using build::count;
using build::range; using build::live_out; using build::locality; using build::coalesce;
using build::param; using build::buffer_param;

using build::as; using build::bitcast; using build::lit; using build::whole; using build::decimal;
using build::len; using build::gid; using build::lid; using build::wid; using build::num_workgroups;
using build::workgroup_size; using build::subgroup_lane; using build::subgroup_id;
using build::subgroup_size; using build::fixpoint_passes; using build::fixpoint_converged;

using build::select; using build::min; using build::max; using build::clamp; using build::abs;
using build::abs_diff; using build::sign; using build::sat_add; using build::sat_sub;
using build::sat_mul; using build::mul_hi; using build::rotl; using build::rotr;
using build::popcount; using build::clz; using build::ctz; using build::reverse_bits;
using build::fma; using build::sqrt; using build::floor; using build::ceil; using build::trunc;
using build::round; using build::is_nan; using build::is_inf; using build::is_finite;
using build::exp; using build::exp2; using build::log; using build::log2; using build::sin;
using build::cos; using build::tan; using build::asin; using build::acos; using build::atan;
using build::sinh; using build::cosh; using build::tanh; using build::pow; using build::rsqrt;
using build::recip; using build::atan2; using build::hypot; using build::log10; using build::log1p;
using build::expm1; using build::cbrt; using build::erf; using build::exp10; using build::round_away;

using build::subgroup_ballot; using build::subgroup_shuffle; using build::subgroup_shuffle_xor;
using build::subgroup_shuffle_up; using build::subgroup_shuffle_down;
using build::subgroup_broadcast; using build::subgroup_add; using build::subgroup_mul;
using build::subgroup_min; using build::subgroup_max; using build::subgroup_and;
using build::subgroup_or; using build::subgroup_xor; using build::subgroup_exclusive_add;
using build::subgroup_inclusive_add; using build::subgroup_any; using build::subgroup_all;

using build::atomic_add; using build::atomic_sub; using build::atomic_min; using build::atomic_max;
using build::atomic_and; using build::atomic_or; using build::atomic_xor; using build::atomic_nand;
using build::atomic_exchange; using build::atomic_store; using build::atomic_load;
using build::atomic_cas; using build::grid_load; using build::workgroup_load;

using build::let; using build::var; using build::private_array; using build::if_; using build::for_;
using build::while_; using build::fixpoint_; using build::region_; using build::block_;
using build::break_; using build::continue_; using build::return_; using build::barrier;
using build::barrier_subgroup; using build::barrier_workgroup; using build::barrier_grid;
using build::async_copy; using build::wait; using build::trap; using build::resume;
using build::all_reduce; using build::broadcast; using build::all_gather;
using build::reduce_scatter; using build::swap_; using build::print; using build::assert_;
// clang-format on

}  // namespace vyre
