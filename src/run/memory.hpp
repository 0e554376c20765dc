// SPDX-License-Identifier: Apache-2.0
// The memory of one dispatch: the program's buffers, what its plan hides, and a few words of the
// driver. On a device that keeps buffers, actions become steps; on one that does not, every buffer
// lies on the host, actions happen there, and each launch carries what it needs both ways.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "run/recorder.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/plan/schedule.hpp"

namespace vyre::run {

// Where everything of a dispatch lies in its arena; a function of plan and launch.
struct Layout {
  static constexpr uint64_t kElsewhere = ~uint64_t{0};  // in a buffer of the caller
  static constexpr uint64_t kAlignment = device::kLeastAlignment;

  std::vector<uint64_t> source_bytes;  // by BufferId; 0 for shared ones
  std::vector<uint64_t> source_at;
  std::vector<bool> overwritten;      // by BufferId: what it begins with is unobservable
  std::vector<uint64_t> snapshot_at;  // of written buffers, when the program is repeated
  std::vector<std::array<uint64_t, 2>> hidden_at;  // by row, both halves
  std::vector<uint64_t> hidden_bytes;
  uint64_t words_at = kElsewhere;  // if they are not needed
  // For return_swapped(), if a buffer of the caller may be exchanged.
  uint64_t exchange_at = kElsewhere;
  uint64_t zero_bytes = 0;  // from the start: what begins as zeros
  uint64_t hidden_end = 0;  // from there: what is hidden and begins as anything
  uint64_t total = 0;
  uint64_t alignment = kAlignment;  // of the arena: the largest @align of a buffer in it
};

// Words of the driver: whether a pass changed anything, and per fixpoint passes, convergence and
// the sum of passes.
struct DriverWords {
  static constexpr uint32_t kDiffers = 0;
  static constexpr uint32_t kIterations =
      1;  // two: passes of the program, and whether they settled
  static constexpr uint32_t result(uint32_t fixpoint) { return 3 + 3 * fixpoint; }
  static constexpr uint32_t total(uint32_t fixpoint) { return 5 + 3 * fixpoint; }
  static constexpr uint32_t count(size_t fixpoints) {
    return 3 + 3 * static_cast<uint32_t>(fixpoints);
  }
};

struct LayoutWishes {
  const std::vector<bool>& resident;  // by BufferId: the caller has a buffer for it
  bool repeated = false;
  uint64_t print_bytes = 0;
};
Layout make_layout(const plan::Schedule& plan, const check::CheckedProgram& source,
                   const check::Launch& launch, const LayoutWishes& wishes);

bool is_written(ir::BufferKind kind);

class Memory {
 public:
  struct Setup {
    const plan::Schedule* plan = nullptr;
    const check::CheckedProgram* source = nullptr;
    const Layout* layout = nullptr;
    bool at_host = false;
    device::Handle arena;
    std::span<const device::Region> resident;             // by BufferId; none: no buffer
    std::span<const std::span<const std::byte>> given{};  // by BufferId: bytes of the caller
    std::optional<std::byte> poison{};  // for what begins as anything (run/poison.hpp)
  };
  void begin(const Setup& setup, Recorder& recorder);

  // What the first pass starts from: inputs where they belong, outputs as zeros, but for those that
  // are overwritten.
  void upload_inputs();
  void zero_outputs();
  // What every pass starts from: hidden memory.
  void reset();

  [[nodiscard]] device::Region source(ir::BufferId buffer) const {
    return places_[buffer.index()].region;
  }
  void swap(plan::Hidden::Kind kind);
  // From here on each of them is where the other one was.
  void swap_buffers(ir::BufferId a, ir::BufferId b);
  // Buffers of the caller are in the caller's memory again.
  void return_swapped();
  // Instead of swap() where the halves keep their roles: what was written becomes what is read.
  void carry(plan::Hidden::Kind kind);

  // The entry must outlive the flush.
  Result<void> launch(const plan::SegmentLaunch& segment, const device::Launch& launch,
                      const device::Entry& entry);
  void zero(uint32_t row);
  void set_hidden_word(uint32_t row, uint32_t word, uint32_t value);
  [[nodiscard]] device::Word hidden_word(uint32_t row, uint32_t word) const;
  [[nodiscard]] device::Word driver_word(uint32_t word) const;
  void set_driver_word(uint32_t word, uint32_t value);
  // A fixpoint's snapshot, and whether it still holds; the answer is stored as 1 to the word.
  void take_snapshot(uint32_t row, ir::BufferId buffer);
  void compare_snapshot(uint32_t row, ir::BufferId buffer, uint32_t control_word);
  // The same for all written buffers of the program.
  void take_snapshots();
  void compare_snapshots();

  // Makes control words and frames readable here.
  Result<void> refresh();
  [[nodiscard]] uint32_t control(uint32_t word) const;
  [[nodiscard]] uint32_t frame(uint32_t word) const;
  Result<uint32_t> read_driver_word(uint32_t word);
  Result<void> read_driver_words(std::vector<uint32_t>& words);

  // Bytes of any buffer on the host; valid until the next call for the same one.
  Result<std::span<std::byte>> fetch(ir::BufferId buffer);
  void put_back(ir::BufferId buffer);
  Result<std::span<std::byte>> fetch_hidden(uint32_t row);
  void put_back_hidden(uint32_t row);
  // Into the caller's memory, with the next flush; at the host, at once.
  void read_back(ir::BufferId buffer, uint64_t offset, std::span<std::byte> to);

  Result<void> flush() { return recorder_->flush(); }

 private:
  struct Place {
    device::Region region;
    std::span<const std::byte> given;  // at the host, until it is written
    std::vector<std::byte> contents;   // at the host; else what fetch() brought
    bool own = false;                  // `contents` holds the contents

    // At the host: the contents, and the same to be written.
    [[nodiscard]] std::span<const std::byte> bytes() const;
    std::span<std::byte> writable();
  };
  [[nodiscard]] size_t place_of_row(uint32_t row, uint32_t half) const {
    return sources_ + 2 * size_t{row} + half;
  }
  [[nodiscard]] size_t words_place() const { return sources_ + 2 * half_.size(); }
  [[nodiscard]] size_t snapshot_place(ir::BufferId b) const {
    return words_place() + 1 + b.index();
  }
  void fill(Place& place, std::byte value);
  void fill_zero(Place& place) { fill(place, std::byte{0}); }
  void copy(Place& to, const Place& from);
  void compare(const Place& a, const Place& b, Place& words, uint64_t word);
  void set_word(Place& place, uint64_t word, uint32_t value);
  Result<std::span<std::byte>> fetch(Place& place);
  void put_back(Place& place);

  Setup setup_;
  Recorder* recorder_ = nullptr;
  size_t sources_ = 0;
  std::vector<Place> places_;
  std::vector<uint32_t> half_;  // by hidden row: the one that is read
  std::optional<uint32_t> control_row_, frame_row_;
  std::vector<device::Region> arguments_;
};

}  // namespace vyre::run
