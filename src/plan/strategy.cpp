// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/strategy.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace vyre::plan {

namespace {

// The state of a few iterations stays in registers if a lane has this number of them.
constexpr uint64_t kRegistersOfLane = 64;
constexpr uint64_t kMostUnrolled = 8;
constexpr uint32_t kMostInterleaved = 16;
// Of devices that do not say: registers of a compute unit, iterations under way at once.
constexpr uint64_t kUsualRegisters = 65536;
constexpr uint32_t kUsualUnroll = 8;

uint64_t divided_up(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

uint64_t blocks(uint64_t per_block, uint64_t unrolled, uint64_t workgroups, uint64_t resident) {
  const uint64_t most = std::min(resident, workgroups / per_block);
  if (unrolled == 0) return most;
  const uint64_t needed = divided_up(workgroups, per_block * unrolled);
  return needed <= most ? needed : 0;
}

bool is_unlimited(uint64_t resident) {
  return resident == std::numeric_limits<uint64_t>::max();
}

std::string count_or_any(uint64_t resident) {
  return is_unlimited(resident) ? "any number" : std::to_string(resident);
}

}  // namespace

uint64_t blocks_of(const SegmentLaunch& segment, uint64_t workgroups, uint64_t resident) {
  return blocks(segment.workgroups_per_block, segment.unrolled_iterations, workgroups, resident);
}

uint64_t blocks_of(const VariantFacts::Segment& segment, uint64_t workgroups, uint64_t resident) {
  return blocks(segment.workgroups_per_block, segment.unrolled_iterations, workgroups, resident);
}

bool contains_grid_barrier(const check::CheckedProgram& checked) {
  return checked.has_grid_barrier;
}

uint64_t VariantFacts::least_resident() const {
  const auto least = std::ranges::min_element(resident);
  return least == resident.end() ? 0 : *least;
}

namespace {

bool ends_launches(const Steps& steps) {
  return std::ranges::any_of(steps, [](const Step& step) {
    if (const auto* x = std::get_if<BranchStep>(&step.node))
      return ends_launches(x->then_steps) || ends_launches(x->else_steps);
    if (const auto* x = std::get_if<LoopStep>(&step.node))
      return ends_launches(x->condition) || ends_launches(x->body);
    if (const auto* x = std::get_if<FixpointStep>(&step.node)) return ends_launches(x->body);
    return std::holds_alternative<ResumeStep>(step.node) ||
           std::holds_alternative<CollectiveStep>(step.node) ||
           std::holds_alternative<SwapStep>(step.node);
  });
}

}  // namespace

VariantFacts facts_of(const RouteVariant& variant, const Schedule& schedule) {
  VariantFacts facts{
      .variant = variant, .route = schedule.route, .refusal = schedule.not_persistent};
  for (const SegmentLaunch& s : schedule.segments)
    facts.segments.push_back({s.barriers_inside, s.workgroups_per_block, s.unrolled_iterations});
  facts.host_takes_part = ends_launches(schedule.steps);
  facts.state_in_memory = std::ranges::any_of(
      schedule.hidden, [](const Hidden& h) { return h.kind == Hidden::Kind::Slot; });
  return facts;
}

const VariantFacts* DeviceModel::find(const RouteVariant& variant) const {
  const auto found = std::ranges::find(variants, variant, &VariantFacts::variant);
  return found == variants.end() ? nullptr : &*found;
}

void DeviceModel::add(VariantFacts facts) {
  const auto found = std::ranges::find(variants, facts.variant, &VariantFacts::variant);
  if (found == variants.end())
    variants.push_back(std::move(facts));
  else
    *found = std::move(facts);
}

std::string to_string(const Strategy& strategy) {
  const RouteVariant& v = strategy.variant;
  std::string text(name_of(v.route));
  if (v.route == Route::Persistent) {
    text += fmt::format(", {} workgroup{} per block", v.workgroups_per_block,
                        v.workgroups_per_block == 1 ? "" : "s");
    if (strategy.iterations != 0)
      text +=
          fmt::format(", {} iteration{}", strategy.iterations, strategy.iterations == 1 ? "" : "s");
    if (v.unrolled_iterations != 0) text += " with state in registers";
  }
  if (v.lanes != 0)
    text += fmt::format(", {} lane{} side by side", v.lanes, v.lanes == 1 ? "" : "s");
  switch (strategy.missing) {
    case Missing::Nothing: break;
    case Missing::Plan: text += " (estimated: the program is not planned)"; break;
    case Missing::Residency:
      text += " (estimated: how many workgroups fit is known when the code is loaded)";
      break;
    case Missing::Grid: text += " (estimated: the grid is not known)"; break;
  }
  return text;
}

namespace {

class Decision {
 public:
  Decision(const check::CheckedProgram& checked, const check::Launch* launch,
           const DeviceModel& model, const StrategyRequest& request)
      : checked_(checked),
        launch_(launch),
        model_(model),
        can_(model.capabilities),
        request_(request),
        groups_(launch != nullptr ? launch->workgroups() : 0) {}

  Result<Strategy> run() const {
    if (!contains_grid_barrier(checked_))
      return by_route(Route::Native, "no grid barrier: one launch of the program itself");
    if (request_.route) return requested(*request_.route);
    if (can_.whole_programs && can_.cooperative_grid_barrier)
      return by_route(Route::Native, "the device runs the source as it is");
    if (!can_.cooperative_grid_barrier) {
      if (request_.require_cooperative)
        return refused(
            "a cooperative launch is required, but the device has no barrier over the "
            "grid. Fix: let the route be chosen (cooperative: auto), or use another "
            "device");
      return split("the device has no barrier over the grid");
    }
    if (request_.checked) {
      constexpr std::string_view kWhy =
          "checked mode stops lanes in the middle of a statement, so their state is saved at "
          "barriers";
      if (request_.require_cooperative)
        return refused(
            fmt::format("a cooperative launch is required, but {}. Fix: leave out "
                        "checked mode, or let the route be chosen (cooperative: auto)",
                        kWhy));
      return split(std::string(kWhy));
    }
    return launch_ == nullptr ? for_any_grid() : cooperative();
  }

  // With the variant that was measured, if it is sound here: by the rules that hold for the choice
  // without it, but for those about speed.
  [[nodiscard]] std::optional<Strategy> tuned() const {
    if (!request_.tuned || launch_ == nullptr || request_.route || request_.require_cooperative)
      return std::nullopt;
    const RouteVariant& variant = request_.tuned->variant;
    auto strategy = tunes_routes() ? tuned_route(variant) : tuned_lanes(variant);
    if (!strategy) return std::nullopt;
    strategy->why = request_.tuned->why;
    strategy->tuned = true;
    return strategy;
  }

  [[nodiscard]] std::vector<RouteVariant> candidates(const RouteVariant& chosen) const {
    std::vector<RouteVariant> all;
    const auto add = [&](const RouteVariant& variant) {
      const bool sound = tunes_routes() ? is_route_sound(variant) : is_lanes_sound(variant);
      if (sound && variant != chosen && std::ranges::find(all, variant) == all.end() &&
          all.size() < kMostCandidates)
        all.push_back(variant);
    };
    if (!tunes_routes()) {
      for (const uint32_t lanes : {16U, 64U, 8U, 32U, 4U, 2U, 1U}) {
        RouteVariant variant = chosen;
        variant.lanes = lanes;
        add(variant);
      }
      return all;
    }
    const RouteVariant persistent =
        chosen.route == Route::Persistent ? chosen : persistent_variant();
    add(persistent);
    for (const auto& [numerator, divisor] :
         {std::pair{2U, 1U}, std::pair{1U, 2U}, std::pair{1U, 4U}}) {
      RouteVariant variant = persistent;
      variant.workgroups_per_block = persistent.workgroups_per_block * numerator / divisor;
      add(variant);
    }
    RouteVariant in_memory = persistent;
    in_memory.unrolled_iterations = 0;
    if (const uint32_t wider = persistent.interleave * 2; wider <= most_interleaved()) {
      RouteVariant variant = persistent;
      variant.interleave = wider;
      add(variant);
    }
    if (persistent.interleave > 1) {
      RouteVariant variant = persistent;
      variant.interleave = persistent.interleave / 2;
      add(variant);
    }
    add(in_memory);
    add({.route = Route::Native});
    add({.route = Route::Resident});
    return all;
  }

 private:
  // Several routes lead through the barriers, so that they can be compared. Elsewhere there is one,
  // and only how its code is made is left.
  [[nodiscard]] bool tunes_routes() const {
    return contains_grid_barrier(checked_) && can_.cooperative_grid_barrier && !request_.checked &&
           !can_.whole_programs && can_.host_split;
  }

  // The one route there is, with as many lanes in a thread as code can have. Kernels that wait for
  // all blocks are none that it is about.
  [[nodiscard]] bool is_lanes_sound(const RouteVariant& variant) const {
    const bool waits = contains_grid_barrier(checked_) && variant.route != Route::Resident &&
                       variant.route != Route::Host;
    if (waits || !std::has_single_bit(variant.lanes) ||
        (model_.profile.code_lanes & variant.lanes) == 0)
      return false;
    const Result<Strategy> only = run();
    RouteVariant without = variant;
    without.lanes = 0;
    return only && !only->is_estimate() && only->variant == without;
  }
  [[nodiscard]] std::optional<Strategy> tuned_lanes(const RouteVariant& variant) const {
    if (!is_lanes_sound(variant)) return std::nullopt;
    return Strategy{.variant = variant};
  }

  // As far as it is known without a plan or code.
  [[nodiscard]] bool is_route_sound(const RouteVariant& variant) const {
    RouteVariant bare;
    bare.route = variant.route;
    switch (variant.route) {
      case Route::Native: return variant == bare && groups_ <= most_resident();
      case Route::Resident: return variant == bare && can_.resident_buffers;
      case Route::Host: return false;
      case Route::Persistent: break;
    }
    const uint64_t lanes = std::max<uint64_t>(1, launch_->lanes_per_workgroup());
    return std::has_single_bit(variant.workgroups_per_block) &&
           variant.workgroups_per_block <= groups_ &&
           variant.workgroups_per_block * lanes <=
               std::max<uint64_t>(lanes, can_.max_invocations_per_workgroup) &&
           std::has_single_bit(variant.interleave) && variant.interleave <= most_interleaved() &&
           variant.unrolled_iterations <= kMostUnrolled && variant.lanes == 0 &&
           variant.is_1d == is_1d();
  }
  // Of the sizes of a shape class some take more iterations than there are in registers: then their
  // state is in memory.
  [[nodiscard]] std::optional<Strategy> tuned_route(RouteVariant variant) const {
    if (!is_route_sound(variant)) return std::nullopt;
    if (variant.route == Route::Resident) return Strategy{.variant = variant};
    if (variant.route == Route::Native) {
      const VariantFacts* const facts = model_.find(variant);
      if (facts == nullptr || !facts->is_loaded)
        return Strategy{.variant = variant, .missing = Missing::Residency};
      if (groups_ > facts->least_resident()) return std::nullopt;
      return Strategy{.variant = variant};
    }
    for (;; variant.unrolled_iterations = 0) {
      const VariantFacts* const facts = model_.find(variant);
      if (facts == nullptr) return Strategy{.variant = variant, .missing = Missing::Plan};
      if (facts->route != Route::Persistent) return std::nullopt;
      if (!facts->is_loaded) return Strategy{.variant = variant, .missing = Missing::Residency};
      if (can_run(*facts)) return Strategy{.variant = variant, .iterations = iterations(*facts)};
      if (variant.unrolled_iterations == 0) return std::nullopt;
    }
  }

  [[nodiscard]] bool is_1d() const { return launch_->grid[1] == 1 && launch_->grid[2] == 1; }

  [[nodiscard]] static Strategy by_route(Route route, std::string why) {
    return {.variant = {.route = route}, .why = std::move(why)};
  }
  [[nodiscard]] static Strategy estimate(Route route, Missing missing, std::string why) {
    return {.variant = {.route = route}, .missing = missing, .why = std::move(why)};
  }
  [[nodiscard]] static std::unexpected<Error> refused(std::string message) {
    return std::unexpected(error(ErrorCode::Unsupported, std::move(message)));
  }

  // A launch for each segment, because of `why`.
  [[nodiscard]] Result<Strategy> split(std::string why) const {
    if (!can_.host_split)
      return refused(
          fmt::format("the program has a barrier over the grid; {}, and the device does "
                      "not allow to split the program there. Fix: use another device, "
                      "or a smaller grid",
                      why));
    if (can_.resident_buffers)
      return by_route(Route::Resident, fmt::format("{}: one launch per segment", why));
    return by_route(
        Route::Host,
        fmt::format("{}, and no buffers stay on the device between launches: they go through the "
                    "host",
                    why));
  }

  [[nodiscard]] Result<Strategy> requested(Route route) const {
    std::string why = "asked for with --route";
    if ((route == Route::Resident || route == Route::Host) && !can_.host_split)
      return split(fmt::format("the route {} was asked for", name_of(route)));
    if (route != Route::Persistent) return by_route(route, std::move(why));
    const RouteVariant variant = persistent_variant();
    const VariantFacts* facts = model_.find(variant);
    if (facts == nullptr) return Strategy{variant, 0, Missing::Plan, std::move(why)};
    if (facts->route != Route::Persistent && !can_.host_split) return split(facts->refusal);
    if (facts->route != Route::Persistent)
      return by_route(Route::Resident, fmt::format("persistent was asked for, but {}: one launch "
                                                   "per segment",
                                                   facts->refusal));
    return Strategy{without_idle_iterations(*facts), 0,
                    launch_ == nullptr ? Missing::Grid : Missing::Nothing, std::move(why)};
  }

  // Nothing, where the device may split or one launch does for the program: barriers stay inside
  // it, but resumes and collectives end it on every route.
  [[nodiscard]] std::optional<Result<Strategy>> unless_one_launch() const {
    if (can_.host_split) return std::nullopt;
    const VariantFacts* native = model_.find({.route = Route::Native});
    if (native == nullptr)
      return estimate(Route::Native, Missing::Plan, "if the host takes no part in it");
    if (!native->host_takes_part) return std::nullopt;
    return split("the host takes part in it (resume, collectives)");
  }

  // The code that is made before a grid is known.
  [[nodiscard]] Result<Strategy> for_any_grid() const {
    if (auto other = unless_one_launch()) return *std::move(other);
    const VariantFacts* native = model_.find({.route = Route::Native});
    if (request_.require_cooperative || native == nullptr || !native->is_loaded)
      return estimate(Route::Native, Missing::Grid,
                      "if all workgroups fit on the device at once; else persistent");
    const RouteVariant wanted = persistent_variant();
    if (is_unlimited(native->least_resident()))
      return by_route(Route::Native, "any number of workgroups fits on the device at once");
    std::string why = fmt::format("takes any grid; one of at most {} workgroups runs natively",
                                  native->least_resident());
    const VariantFacts* facts = model_.find(wanted);
    if (facts == nullptr) return Strategy{wanted, 0, Missing::Plan, std::move(why)};
    if (facts->route != Route::Persistent) return split(facts->refusal);
    return Strategy{wanted, 0, Missing::Grid, std::move(why)};
  }

  [[nodiscard]] Result<Strategy> cooperative() const {
    if (auto other = unless_one_launch()) return *std::move(other);
    if (!request_.require_cooperative) {
      if (prefers_few_blocks()) {
        const RouteVariant wanted = persistent_variant();
        std::string why = fmt::format(
            "{} workgroups: a barrier of few large blocks costs less than one of many small ones",
            groups_);
        const VariantFacts* facts = model_.find(wanted);
        if (facts == nullptr) return Strategy{wanted, 0, Missing::Plan, std::move(why)};
        if (costs_no_memory(*facts)) {
          auto few = persistent(std::move(why));
          // It was a matter of speed: a device that may not split can still run the blocks that
          // fit.
          if (few || can_.host_split) return few;
        }
      }
      if (const uint64_t most = most_resident(); groups_ > most)
        return persistent(fmt::format(
            "{} workgroups, of which at most {} fit on the device at once", groups_, most));
    }
    const VariantFacts* native = model_.find({.route = Route::Native});
    if (native == nullptr || !native->is_loaded)
      return estimate(
          Route::Native, Missing::Residency,
          fmt::format("if all {} workgroups fit on the device at once; else persistent", groups_));
    const uint64_t resident = native->least_resident();
    if (groups_ <= resident)
      return by_route(Route::Native, fmt::format("all {} workgroups fit on the device at once ({} "
                                                 "can)",
                                                 groups_, count_or_any(resident)));
    if (request_.require_cooperative)
      return std::unexpected(error(
          ErrorCode::CooperativeResidencyExceeded,
          fmt::format("a cooperative launch of {} workgroups is required, but the device keeps {} "
                      "of this program at once. Fix: use a smaller grid or larger workgroups, or "
                      "let the route be chosen (cooperative: auto)",
                      groups_, resident)));
    if (resident == 0) return split("the device has no code with the barrier inside");
    return persistent(
        fmt::format("{} workgroups, but {} fit on the device at once: each block "
                    "runs several",
                    groups_, resident));
  }

  // First with state in registers, then in memory, then a launch per segment: every step but the
  // last holds only if the loaded code has enough blocks.
  [[nodiscard]] Result<Strategy> persistent(std::string why) const {
    const RouteVariant wanted = persistent_variant();
    const VariantFacts* planned = model_.find(wanted);
    if (planned == nullptr) return Strategy{wanted, 0, Missing::Plan, std::move(why)};
    if (planned->route != Route::Persistent) return split(planned->refusal);
    RouteVariant variant = without_idle_iterations(*planned);
    for (;;) {
      const VariantFacts* loaded = model_.find(variant);
      if (loaded == nullptr || !loaded->is_loaded)
        return Strategy{variant, 0, Missing::Residency, std::move(why)};
      if (can_run(*loaded)) return Strategy{variant, iterations(*loaded), {}, std::move(why)};
      if (variant.unrolled_iterations == 0)
        return split(
            fmt::format("{} workgroups are too many for the blocks that fit on the device "
                        "at once",
                        groups_));
      variant.unrolled_iterations = 0;
    }
  }

  // How workgroups are spread over fewer blocks: those are as large as the device has them, because
  // barriers cost by the number of blocks, but all compute units have some.
  [[nodiscard]] RouteVariant persistent_variant() const {
    RouteVariant variant{.route = Route::Persistent, .interleave = most_interleaved()};
    const check::Axes& size = launch_ != nullptr ? launch_->workgroup : checked_.workgroup;
    const uint64_t lanes = std::max<uint64_t>(1, uint64_t{size[0]} * size[1] * size[2]);
    const uint64_t most = can_.max_invocations_per_workgroup / lanes;
    const uint64_t units = std::max<uint64_t>(1, model_.profile.compute_units);
    const uint64_t share =
        launch_ != nullptr ? groups_ / units : std::numeric_limits<uint64_t>::max();
    variant.workgroups_per_block =
        static_cast<uint32_t>(std::bit_floor(std::max<uint64_t>(1, std::min(most, share))));
    if (launch_ == nullptr) return variant;  // for any grid
    variant.is_1d = is_1d();
    const uint64_t beside = variant.workgroups_per_block;
    const uint64_t on_device =
        units * std::max<uint64_t>(1, lanes_with_registers() / (beside * lanes)) * beside;
    // Every block has workgroups side by side, so there are no more blocks than that.
    const uint64_t at_once =
        std::max<uint64_t>(beside, std::min(on_device, groups_ / beside * beside));
    const uint64_t iterations = divided_up(groups_, at_once);
    // No wider than there are iterations: code for more takes registers and never runs.
    variant.interleave = static_cast<uint32_t>(
        std::bit_floor(std::clamp<uint64_t>(iterations, 1, most_interleaved())));
    if (iterations <= kMostUnrolled)
      variant.unrolled_iterations = static_cast<uint32_t>(iterations);
    return variant;
  }

  // At least 1, a power of two.
  [[nodiscard]] uint32_t most_interleaved() const {
    const uint32_t preferred = model_.profile.preferred_unroll;
    return std::bit_floor(std::min(preferred != 0 ? preferred : kUsualUnroll, kMostInterleaved));
  }

  // Of one compute unit.
  [[nodiscard]] uint64_t lanes_with_registers() const {
    const uint64_t registers = model_.profile.registers_per_compute_unit;
    return (registers != 0 ? registers : kUsualRegisters) / kRegistersOfLane;
  }

  // Without state their number does not matter: one code for all grids.
  [[nodiscard]] static RouteVariant without_idle_iterations(const VariantFacts& planned) {
    RouteVariant variant = planned.variant;
    if (std::ranges::none_of(planned.segments,
                             [](const auto& s) { return s.unrolled_iterations != 0; }))
      variant.unrolled_iterations = 0;
    return variant;
  }

  [[nodiscard]] bool prefers_few_blocks() const {
    const device::DeviceProfile& profile = model_.profile;
    return profile.barrier_blocks_per_compute_unit != 0 &&
           groups_ > uint64_t{profile.barrier_blocks_per_compute_unit} * profile.compute_units;
  }

  // Several workgroups side by side in all phases with barriers, and no state in memory.
  [[nodiscard]] static bool costs_no_memory(const VariantFacts& facts) {
    const auto inside = [](const auto& s) { return s.barriers_inside; };
    const auto side_by_side = [](const auto& s) {
      return !s.barriers_inside || s.workgroups_per_block > 1;
    };
    return facts.route == Route::Persistent && !facts.state_in_memory &&
           std::ranges::any_of(facts.segments, inside) &&
           std::ranges::all_of(facts.segments, side_by_side);
  }

  // By the lanes that compute units hold, whatever the code needs.
  [[nodiscard]] uint64_t most_resident() const {
    const device::DeviceProfile& profile = model_.profile;
    if (profile.lanes_per_compute_unit == 0 || profile.compute_units == 0)
      return std::numeric_limits<uint64_t>::max();
    const uint64_t lanes = std::max<uint64_t>(1, launch_->lanes_per_workgroup());
    return uint64_t{profile.lanes_per_compute_unit} / lanes * profile.compute_units;
  }

  // The device has code for each segment, also for those in which lanes do not wait for all others,
  // and enough blocks for those that run virtual workgroups.
  [[nodiscard]] bool can_run(const VariantFacts& facts) const {
    for (size_t i = 0; i < facts.segments.size(); ++i) {
      const VariantFacts::Segment& s = facts.segments[i];
      if (facts.resident[i] == 0 ||
          (s.workgroups_per_block != 0 && blocks_of(s, groups_, facts.resident[i]) == 0))
        return false;
    }
    return true;
  }

  [[nodiscard]] uint64_t iterations(const VariantFacts& facts) const {
    uint64_t most = 0;
    for (size_t i = 0; i < facts.segments.size(); ++i)
      if (const auto& s = facts.segments[i]; s.workgroups_per_block != 0)
        most = std::max(most, divided_up(groups_, blocks_of(s, groups_, facts.resident[i]) *
                                                      s.workgroups_per_block));
    return most;
  }

  const check::CheckedProgram& checked_;
  const check::Launch* launch_;
  const DeviceModel& model_;
  const device::Capabilities& can_;
  const StrategyRequest& request_;
  const uint64_t groups_;
};

}  // namespace

Result<Strategy> decide(const check::CheckedProgram& checked, const check::Launch* launch,
                        const DeviceModel& model, const StrategyRequest& request) {
  const Decision decision(checked, launch, model, request);
  if (auto tuned = decision.tuned()) return *std::move(tuned);
  return decision.run();
}

std::vector<RouteVariant> candidates(const check::CheckedProgram& checked,
                                     const check::Launch& launch, const DeviceModel& model,
                                     const StrategyRequest& request) {
  const Decision decision(checked, &launch, model, request);
  const auto chosen = decision.run();
  if (launch.workgroups() == 0 || !chosen || chosen->is_estimate() || request.route ||
      request.require_cooperative)
    return {};
  return decision.candidates(chosen->variant);
}

}  // namespace vyre::plan
