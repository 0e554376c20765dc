// SPDX-License-Identifier: Apache-2.0
// A plan as it is shown: a plan and its program go in, names and numbers come out that every form
// (text, JSON, dot, svg, html) is written from. Texts are raw; each form escapes them its own way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plan_launch.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::cli {

// A line and column of the source; 0: unknown.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
};
// "12:3"
std::string text_of(Place place);

struct PlanView {
  struct Buffer {
    std::string name, kind, element;
    std::string access;             // "read", "write", "read write"; "workgroup" for shared memory
    std::optional<uint64_t> count;  // elements, if known
    std::vector<uint64_t> axes;     // their lengths, if there are several and they are known
    std::optional<uint32_t> input_slot, output_slot, binding;
    // "given", "zeros", "overwritten"; none: the launch is not known
    std::optional<std::string> begins;
  };
  // "12", "12 = 3 x 4"; "?" if it is not known.
  static std::string count_text(const Buffer& b);
  struct LiveAcross {
    std::string name, type, level, where, why;
    plan::LiveAcross::How how = plan::LiveAcross::How::Saved;
    Place declared;
  };
  struct Shared {
    std::string name;
    bool restore = false, save = false;
  };
  struct Segment {
    std::vector<std::string> regions;
    uint32_t first_line = 0, last_line = 0;
    bool ends_phase = false;
    bool barriers_inside = false;
    Place barrier;
    std::string end;  // what ends it, in words
    std::vector<LiveAcross> live_across;
    std::vector<Shared> shared;
    std::vector<std::string> notes;
    std::string program;  // its text

    [[nodiscard]] std::string lines() const;  // "lines 3 to 7"; empty if unknown
  };
  struct Step;
  // Steps under a heading: "then", "condition", "each pass".
  struct Group {
    std::string label;
    std::vector<Step> steps;
  };
  struct Step {
    enum class Kind : uint8_t {
      Launch,
      Barrier,
      Branch,
      Loop,
      Fixpoint,
      Resume,
      Collective,
      Copy,
      Swap
    };
    Kind kind = Kind::Launch;
    std::string label;
    std::string again;                // what decides whether a loop or fixpoint goes on
    std::optional<uint32_t> segment;  // of a launch
    std::optional<uint32_t> row;      // of `fixpoints` or `resumes`
    std::optional<uint32_t> word;     // of the frame
    Place at;
    std::vector<Group> groups;
  };
  struct Hidden {
    std::string name, kind, element;
    uint32_t count = 0;
    bool two_halves = false;
    std::string each;               // "dispatch", "workgroup", "lane", "buffer"
    std::string like;               // buffer of the source
    std::optional<uint64_t> bytes;  // per dispatch, workgroup or lane; none: not known
  };
  struct Fixpoint {
    struct Watched {
      std::string name, mode, why;
    };
    std::vector<Watched> buffers;
    Place at;
  };
  struct Stop {
    uint32_t tag = 0;
    bool zero_passes = false;
    Place at;
    bool assertion = false;
  };

  std::string file, program, digest;
  std::string source;  // what lines count in; may be empty
  std::string route, why;
  plan::Strategy strategy;
  std::string plan_digest;
  bool checked = false;
  bool whole = false;
  uint32_t barriers = 0;
  std::vector<Buffer> buffers;
  std::vector<std::string> inputs, outputs;  // names by slot

  check::Axes workgroup = {1, 1, 1};
  std::optional<check::Axes> grid;
  std::string grid_missing;  // why the grid is not known

  std::vector<Step> steps;
  std::vector<Segment> segments;
  std::vector<Hidden> hidden;
  std::vector<Fixpoint> fixpoints;
  std::vector<Stop> resumes, traps;

  uint64_t lane_bytes = 0, workgroup_bytes = 0, fixed_bytes = 0;
  std::optional<uint64_t> snapshot_bytes, total_bytes;
  std::string total_missing;

  [[nodiscard]] uint64_t workgroups() const;  // needs a grid
};

struct PlanViewInput {
  const Prepared& prepared;
  const plan::Plan& plan;
  Digest digest;  // of the plan
  const KnownLaunch& known;
  plan::Strategy strategy;
  bool checked = false;
};
Result<PlanView> view_plan(const PlanViewInput& input);

// "regions a, b"; "restored and saved"
std::string regions_text(const PlanView::Segment& segment);
std::string shared_text(const PlanView::Shared& shared);
// "1 lane", "2 lanes"
std::string counted(uint64_t count, std::string_view noun);

// ---- the forms

std::string plan_text(const PlanView& view, bool segments, bool color);
Json plan_json(const PlanView& view);
std::string plan_dot(const PlanView& view);
struct SvgOptions {
  bool links = false;  // from each card to "#segment-N" of the page around
};
std::string plan_svg(const PlanView& view, SvgOptions options = {});
std::string plan_html(const PlanView& view);
// The style of pages, and the source with a number at each line, for other pages with a plan.
std::string_view page_style();
std::string source_html(const PlanView& view);

// For XML and HTML, in text and in quoted attributes: what they cannot hold becomes U+FFFD.
std::string escape_markup(std::string_view text);

// What a segment's card says below its title: lines, regions, what crosses its end.
struct CardLine {
  enum class Kind : uint8_t { Plain, Saved, Kept, Recomputed };
  std::string text;
  Kind kind = Kind::Plain;
};
std::vector<CardLine> card_lines(const PlanView::Segment& segment);

}  // namespace vyre::cli
