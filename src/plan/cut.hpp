// SPDX-License-Identifier: Apache-2.0
// The cut: a normalised program as a tree of segments, and what lives across their boundaries.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/stop.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

// Locals by number, then shared buffers.
class LiveSet {
 public:
  explicit LiveSet(size_t size = 0) : words_((size + 63) / 64) {}
  [[nodiscard]] bool contains(uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void insert(uint32_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void erase(uint32_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  // True if something was added.
  bool unite(const LiveSet& other) {
    poll_stop(static_cast<int32_t>(1 + words_.size() / 16));
    bool grew = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      grew = grew || (other.words_[i] & ~words_[i]) != 0;
      words_[i] |= other.words_[i];
    }
    return grew;
  }
  // In ascending order, which is source order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
        visit(static_cast<uint32_t>(w * 64 + static_cast<size_t>(__builtin_ctzll(bits))));
  }
  friend bool operator==(const LiveSet&, const LiveSet&) = default;

 private:
  std::vector<uint64_t> words_;
};

// A segment before lowering: statements between two cuts.
struct RawSegment {
  struct Item {
    ir::StmtId stmt;
    uint32_t region = 0;  // into Tree::regions
  };
  std::vector<Item> items;
  bool ends_phase = false;
  Position barrier;
  // Filled by analyse().
  std::set<uint16_t> open = {};  // tags whose lanes may be waiting or come to wait here
  LiveSet live_in, live_out;
  LiveSet maybe_in, maybe_out;  // shared buffers that may have been written
  LiveSet defined;              // locals it assigns at any depth
  bool ended_in = false;        // a lane may have ended or wait before, after
  bool ended_out = false;
};

struct Node;
using Nodes = std::vector<Node>;
struct SegmentNode {
  uint32_t segment = 0;
};
struct BranchNode {
  ir::LocalId word;
  Nodes then_nodes, else_nodes;
  Position at;
};
struct LoopNode {
  Nodes condition;
  ir::LocalId word;
  Nodes body;
  uint32_t id = 0;
  Position at;
};
struct FixpointNode {
  uint32_t row = 0;
  std::optional<uint32_t> most = {};  // if it is a constant
  ir::LocalId word = {};              // otherwise
  Nodes body;
  uint32_t id = 0;
};
struct ResumeNode {
  uint16_t tag = 0;
  ir::StmtId stmt;
};
struct CollectiveNode {
  ir::StmtId stmt;
};
struct CopyNode {
  ir::StmtId stmt;
  ir::LocalId dst, src, count;
};
struct SwapNode {
  ir::StmtId stmt;
};
struct Node {
  std::variant<SegmentNode, BranchNode, LoopNode, FixpointNode, ResumeNode, CollectiveNode,
               CopyNode, SwapNode>
      node;
};

struct Tree {
  // Regions nest; 0 is no region at all.
  struct Region {
    std::string name;
    uint32_t outer = 0;
    ir::LocId loc;
  };
  std::vector<Region> regions = {Region{}};
  Nodes nodes;
  std::vector<RawSegment> segments;  // in source order
  uint32_t loops = 0;

  // Filled by analyse().
  std::map<uint16_t, LiveSet> live_at_resume;
  std::map<uint32_t, LiveSet> park;  // by StmtId of a trap: what a lane that waits needs
  LiveSet words;                     // locals the plan decides on
  std::vector<bool> recomputed;      // by LocalId
  std::vector<ir::ExprId> values;    // by LocalId: of immutable locals
  bool ends_lanes = false;           // a return or trap

  // Of a shared buffer, as an element of a LiveSet.
  [[nodiscard]] uint32_t number_of(ir::BufferId shared) const {
    return static_cast<uint32_t>(recomputed.size()) + shared.value;
  }
};

Tree cut(Draft& d, const CutPoints& cuts);
// What lives across so many boundaries can be kept in memory and found in time; otherwise analyse()
// is not to be called.
bool fits_analysis(const Draft& d, const Tree& tree);
Tree analyse(const Draft& d, Tree tree, bool checked);

// Where a value lives between segments.
struct Storage {
  std::map<uint32_t, uint32_t> frame;        // by LocalId: first word
  std::map<uint32_t, uint32_t> group_frame;  // by LocalId: row
  std::map<uint32_t, uint32_t> slot;         // by LocalId: number of the slot
  struct Slot {
    ir::Type type = ir::Type::U32;
    uint32_t elements = 0;  // of a private array
  };
  std::vector<Slot> slots;
  uint32_t frame_words = 0;
  std::vector<uint32_t> group_rows;  // words of each
};
Storage assign_storage(const Draft& d, const Tree& tree, const CutPoints& cuts);

}  // namespace vyre::plan
