// SPDX-License-Identifier: Apache-2.0
#include "run/memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "check/prints.hpp"

namespace vyre::run {

using namespace device;
using ir::BufferId;
using ir::BufferKind;
using plan::Hidden;

namespace {

uint64_t aligned(uint64_t bytes, uint64_t to = Layout::kAlignment) {
  return (bytes + to - 1) / to * to;
}

bool starts_as_zeros(Hidden::Kind kind) {
  switch (kind) {
    case Hidden::Kind::Shared:
    case Hidden::Kind::Mask:
    case Hidden::Kind::Control:
    case Hidden::Kind::Fixpoint:
    case Hidden::Kind::Votes:
    case Hidden::Kind::Print: return true;
    case Hidden::Kind::Frame:
    case Hidden::Kind::GroupFrame:
    case Hidden::Kind::Slot:
    case Hidden::Kind::ReportValue:
    case Hidden::Kind::ReportSite:
    case Hidden::Kind::Snapshot:
    case Hidden::Kind::Asserted:
    case Hidden::Kind::Grid: return false;
  }
  return true;
}

// Cleared once, with the outputs.
bool keeps_over_passes(Hidden::Kind kind) {
  return kind == Hidden::Kind::Print;
}

// state_bytes() has made sure that these fit.
uint64_t bytes_of_hidden(const Hidden& h, const check::CheckedProgram& source,
                         const check::Launch& launch) {
  const uint64_t unit = uint64_t{h.count} * bytes_of(h.element);
  switch (h.extent) {
    case Hidden::Extent::Once: return unit;
    case Hidden::Extent::PerWorkgroup: return unit * launch.workgroups();
    case Hidden::Extent::PerLane: return unit * launch.workgroups() * launch.lanes_per_workgroup();
    case Hidden::Extent::LikeBuffer:
      return launch.counts[h.like.index()] * bytes_of(source.program[h.like].element);
  }
  return 0;
}

uint32_t word_in(std::span<const std::byte> bytes, uint64_t word) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + word * 4, 4);
  return value;
}

}  // namespace

bool is_written(BufferKind kind) {
  return kind == BufferKind::InOut || kind == BufferKind::Out || kind == BufferKind::WriteOnly ||
         kind == BufferKind::Persistent || kind == BufferKind::Scratch;
}

Layout make_layout(const plan::Schedule& plan, const check::CheckedProgram& source,
                   const check::Launch& launch, const LayoutWishes& wishes) {
  const std::vector<bool>& resident = wishes.resident;
  const bool repeated = wishes.repeated;
  Layout layout;
  uint64_t at = 0;
  const auto place = [&](uint64_t bytes) {
    const uint64_t here = at;
    at += aligned(bytes);
    return here;
  };
  for (const Hidden& h : plan.hidden)
    layout.hidden_bytes.push_back(
        h.kind == Hidden::Kind::Print
            ? 4 * (plan::PrintWords::kHead +
                   check::print_capacity(wishes.print_bytes, plan.print_words) * plan.print_words)
            : bytes_of_hidden(h, source, launch));
  layout.hidden_at.resize(plan.hidden.size());
  for (const bool zeros : {true, false}) {
    for (size_t i = 0; i < plan.hidden.size(); ++i) {
      if (starts_as_zeros(plan.hidden[i].kind) != zeros || keeps_over_passes(plan.hidden[i].kind))
        continue;
      layout.hidden_at[i][0] = place(layout.hidden_bytes[i]);
      layout.hidden_at[i][1] =
          plan.hidden[i].two_halves ? place(layout.hidden_bytes[i]) : layout.hidden_at[i][0];
    }
    if (!zeros) continue;
    if (!plan.fixpoints.empty() || repeated)
      layout.words_at = place(4 * uint64_t{DriverWords::count(plan.fixpoints.size())});
    layout.zero_bytes = at;
  }
  layout.hidden_end = at;
  for (size_t i = 0; i < plan.hidden.size(); ++i)
    if (keeps_over_passes(plan.hidden[i].kind))
      layout.hidden_at[i].fill(place(layout.hidden_bytes[i]));
  const auto& buffers = source.program.buffers;
  layout.source_at.assign(buffers.size(), Layout::kElsewhere);
  layout.snapshot_at.assign(buffers.size(), Layout::kElsewhere);
  layout.overwritten.assign(buffers.size(), false);
  layout.source_bytes.assign(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].kind == BufferKind::Shared) continue;
    layout.source_bytes[i] = launch.counts[i] * bytes_of(buffers[i].element);
    if (!resident[i]) {
      const uint64_t alignment = std::max<uint64_t>(source.buffers[i].align, Layout::kAlignment);
      layout.alignment = std::max(layout.alignment, alignment);
      at = aligned(at, alignment);
      layout.source_at[i] = place(layout.source_bytes[i]);
    }
    if (repeated && is_written(buffers[i].kind))
      layout.snapshot_at[i] = place(layout.source_bytes[i]);
  }
  uint64_t exchanged = 0;
  for (const check::SwapFact& swap : source.swaps)
    if (resident[swap.a.index()] || resident[swap.b.index()])
      exchanged = std::max(exchanged, layout.source_bytes[swap.a.index()]);
  if (exchanged != 0) layout.exchange_at = place(exchanged);
  layout.total = at;
  return layout;
}

void Memory::begin(const Setup& setup, Recorder& recorder) {
  setup_ = setup;
  recorder_ = &recorder;
  const Layout& layout = *setup.layout;
  sources_ = layout.source_at.size();
  half_.assign(layout.hidden_at.size(), 0);
  places_.resize(sources_ + 2 * half_.size() + 1 + sources_);
  const auto in_arena = [&](uint64_t at, uint64_t bytes) {
    return at == Layout::kElsewhere ? Region{} : Region{setup.arena, at, bytes};
  };
  for (Place& place : places_) place.own = false;
  for (size_t i = 0; i < sources_; ++i) {
    places_[i].region = layout.source_at[i] == Layout::kElsewhere
                            ? setup.resident[i]
                            : in_arena(layout.source_at[i], layout.source_bytes[i]);
    places_[i].given = setup.given[i];
    places_[snapshot_place(BufferId{static_cast<uint32_t>(i)})].region =
        in_arena(layout.snapshot_at[i], layout.source_bytes[i]);
  }
  for (uint32_t row = 0; row < half_.size(); ++row)
    for (const uint32_t half : {0U, 1U})
      places_[place_of_row(row, half)].region =
          in_arena(layout.hidden_at[row][half], layout.hidden_bytes[row]);
  places_[words_place()].region =
      in_arena(layout.words_at, 4 * uint64_t{DriverWords::count(setup.plan->fixpoints.size())});
  control_row_ = setup.plan->find_hidden(Hidden::Kind::Control);
  frame_row_ = setup.plan->find_hidden(Hidden::Kind::Frame);
}

// ---- at the host

std::span<const std::byte> Memory::Place::bytes() const {
  return own ? std::span<const std::byte>(contents) : given;
}

std::span<std::byte> Memory::Place::writable() {
  if (!own) {
    // Before the first write the contents are the caller's, who keeps them as they are.
    contents.assign(given.begin(), given.end());
    contents.resize(region.bytes);
    own = true;
  }
  return contents;
}

// ---- actions

void Memory::fill(Place& place, std::byte value) {
  if (setup_.at_host) {
    place.contents.assign(place.region.bytes, value);
    place.own = true;
  } else if (place.region.bytes != 0) {
    recorder_->add(Fill{place.region, value});
  }
}

void Memory::copy(Place& to, const Place& from) {
  if (setup_.at_host) {
    const auto source = from.bytes();
    to.contents.assign(source.begin(), source.end());
    to.own = true;
  } else if (to.region.bytes != 0) {
    recorder_->add(Copy{to.region, from.region});
  }
}

void Memory::compare(const Place& a, const Place& b, Place& words, uint64_t word) {
  if (setup_.at_host) {
    if (!std::ranges::equal(a.bytes(), b.bytes())) set_word(words, word, 1);
  } else if (a.region.bytes != 0) {
    recorder_->add(
        Compare{a.region, b.region, {words.region.buffer, words.region.offset + 4 * word}});
  }
}

void Memory::set_word(Place& place, uint64_t word, uint32_t value) {
  if (setup_.at_host)
    std::memcpy(place.writable().data() + 4 * word, &value, 4);
  else
    recorder_->add(SetWord{{place.region.buffer, place.region.offset + 4 * word}, value});
}

void Memory::upload_inputs() {
  if (setup_.at_host) return;  // every launch uploads what it needs
  for (size_t i = 0; i < sources_; ++i) {
    if (setup_.given[i].empty()) continue;
    // A device only reads from it.
    recorder_->add(Transfer{Transfer::Direction::ToDevice, places_[i].region,
                            const_cast<std::byte*>(setup_.given[i].data())});
  }
}

void Memory::zero_outputs() {
  for (size_t i = 0; i < sources_; ++i) {
    if (setup_.source->program.buffers[i].kind == BufferKind::Shared ||
        setup_.source->buffers[i].input_slot)
      continue;
    if (!setup_.layout->overwritten[i])
      fill_zero(places_[i]);
    else if (setup_.poison)
      fill(places_[i], *setup_.poison);
  }
  for (uint32_t row = 0; row < half_.size(); ++row)
    if (keeps_over_passes(setup_.plan->hidden[row].kind)) fill_zero(places_[place_of_row(row, 0)]);
}

void Memory::reset() {
  std::ranges::fill(half_, 0);
  if (setup_.at_host) {
    const std::byte anything = setup_.poison.value_or(std::byte{0});
    for (uint32_t row = 0; row < half_.size(); ++row) {
      if (keeps_over_passes(setup_.plan->hidden[row].kind)) continue;
      for (const uint32_t half : {0U, 1U})
        fill(places_[place_of_row(row, half)],
             starts_as_zeros(setup_.plan->hidden[row].kind) ? std::byte{0} : anything);
    }
    fill_zero(places_[words_place()]);
    return;
  }
  const uint64_t zeros = setup_.layout->zero_bytes;
  const uint64_t end = setup_.layout->hidden_end;
  if (zeros != 0) recorder_->add(Fill{{setup_.arena, 0, zeros}, std::byte{0}});
  if (setup_.poison && end != zeros)
    recorder_->add(Fill{{setup_.arena, zeros, end - zeros}, *setup_.poison});
}

void Memory::swap(Hidden::Kind kind) {
  for (uint32_t row = 0; row < half_.size(); ++row)
    if (setup_.plan->hidden[row].kind == kind) half_[row] = 1 - half_[row];
}

void Memory::swap_buffers(BufferId a, BufferId b) {
  std::swap(places_[a.index()], places_[b.index()]);
}

void Memory::return_swapped() {
  for (size_t i = 0; i < sources_; ++i) {
    const Region& home = setup_.resident[i];
    Region& now = places_[i].region;
    if (setup_.layout->source_at[i] != Layout::kElsewhere || home.bytes == 0 || now == home)
      continue;
    size_t other = 0;
    while (!(places_[other].region == home)) ++other;
    const Region between{setup_.arena, setup_.layout->exchange_at, home.bytes};
    recorder_->add(Copy{between, home});
    recorder_->add(Copy{home, now});
    recorder_->add(Copy{now, between});
    std::swap(now, places_[other].region);
  }
}

void Memory::carry(Hidden::Kind kind) {
  for (uint32_t row = 0; row < half_.size(); ++row)
    if (setup_.plan->hidden[row].kind == kind && setup_.plan->hidden[row].two_halves)
      copy(places_[place_of_row(row, half_[row])], places_[place_of_row(row, 1 - half_[row])]);
}

void Memory::zero(uint32_t row) {
  fill_zero(places_[place_of_row(row, half_[row])]);
}

void Memory::set_hidden_word(uint32_t row, uint32_t word, uint32_t value) {
  set_word(places_[place_of_row(row, half_[row])], word, value);
}

Word Memory::hidden_word(uint32_t row, uint32_t word) const {
  const Region& region = places_[place_of_row(row, half_[row])].region;
  return {region.buffer, region.offset + 4 * uint64_t{word}};
}

Word Memory::driver_word(uint32_t word) const {
  const Region& region = places_[words_place()].region;
  return {region.buffer, region.offset + 4 * uint64_t{word}};
}

void Memory::set_driver_word(uint32_t word, uint32_t value) {
  set_word(places_[words_place()], word, value);
}

void Memory::take_snapshot(uint32_t row, BufferId buffer) {
  copy(places_[place_of_row(row, half_[row])], places_[buffer.index()]);
}

void Memory::compare_snapshot(uint32_t row, BufferId buffer, uint32_t control_word) {
  compare(places_[place_of_row(row, half_[row])], places_[buffer.index()],
          places_[place_of_row(*control_row_, 0)], control_word);
}

void Memory::take_snapshots() {
  set_driver_word(DriverWords::kDiffers, 0);
  for (uint32_t i = 0; i < sources_; ++i)
    if (setup_.layout->snapshot_at[i] != Layout::kElsewhere)
      copy(places_[snapshot_place(BufferId{i})], places_[i]);
}

void Memory::compare_snapshots() {
  for (uint32_t i = 0; i < sources_; ++i)
    if (setup_.layout->snapshot_at[i] != Layout::kElsewhere)
      compare(places_[snapshot_place(BufferId{i})], places_[i], places_[words_place()],
              DriverWords::kDiffers);
}

Result<void> Memory::launch(const plan::SegmentLaunch& segment, const Launch& launch,
                            const Entry& entry) {
  const auto place_of = [&](size_t i) -> Place* {
    const plan::Argument& a = segment.arguments[i];
    if (entry.bindings[i].shared) {
      for (const plan::SharedUse& use : segment.shared)
        if (use.buffer.index() == i) return &places_[place_of_row(use.hidden, 0)];
      return nullptr;
    }
    if (a.kind == plan::Argument::Kind::Source) return &places_[a.index];
    const uint32_t half = half_[a.index];
    return &places_[place_of_row(a.index,
                                 a.kind == plan::Argument::Kind::HiddenOut ? 1 - half : half)];
  };
  arguments_.clear();
  for (size_t i = 0; i < segment.arguments.size(); ++i) {
    Place* const place = place_of(i);
    arguments_.push_back(place != nullptr ? place->region : Region{});
    if (setup_.at_host && place != nullptr && place->region.bytes != 0) {
      const auto from = place->bytes();
      recorder_->add(Transfer{Transfer::Direction::ToDevice, place->region,
                              const_cast<std::byte*>(from.data())});
    }
  }
  recorder_->launch(launch, arguments_, &entry);
  if (!setup_.at_host) return {};
  for (size_t i = 0; i < segment.arguments.size(); ++i) {
    Place* const place = place_of(i);
    if (place == nullptr || place->region.bytes == 0) continue;
    if (!entry.bindings[i].written) continue;
    // The upload above may still read from the caller's bytes, or from `contents`, which stays.
    if (!place->own) place->contents.resize(place->region.bytes);
    place->own = true;
    recorder_->add(Transfer{Transfer::Direction::ToHost, place->region, place->contents.data()});
  }
  // What happens at the host next must find the results there.
  return recorder_->flush();
}

// ---- looking

Result<void> Memory::refresh() {
  if (setup_.at_host) return recorder_->flush();
  const auto read = [&](Place& place) {
    place.contents.resize(place.region.bytes);
    if (!place.contents.empty())
      recorder_->add(Transfer{Transfer::Direction::ToHost, place.region, place.contents.data()});
  };
  if (control_row_) read(places_[place_of_row(*control_row_, 0)]);
  if (frame_row_)
    for (const uint32_t half : {0U, 1U}) read(places_[place_of_row(*frame_row_, half)]);
  return recorder_->flush();
}

uint32_t Memory::control(uint32_t word) const {
  return word_in(places_[place_of_row(*control_row_, 0)].contents, word);
}

uint32_t Memory::frame(uint32_t word) const {
  return word_in(places_[place_of_row(*frame_row_, half_[*frame_row_])].contents, word);
}

Result<void> Memory::read_driver_words(std::vector<uint32_t>& words) {
  Place& place = places_[words_place()];
  words.resize(place.region.bytes / 4);
  if (setup_.at_host) {
    VYRE_TRY(recorder_->flush());
    std::memcpy(words.data(), place.writable().data(), place.region.bytes);
    return {};
  }
  recorder_->add(Transfer{Transfer::Direction::ToHost, place.region,
                          reinterpret_cast<std::byte*>(words.data())});
  return recorder_->flush();
}

Result<uint32_t> Memory::read_driver_word(uint32_t word) {
  Place& place = places_[words_place()];
  if (setup_.at_host) {
    VYRE_TRY(recorder_->flush());
    return word_in(place.writable(), word);
  }
  uint32_t value = 0;
  recorder_->add(Transfer{Transfer::Direction::ToHost,
                          {place.region.buffer, place.region.offset + 4 * uint64_t{word}, 4},
                          reinterpret_cast<std::byte*>(&value)});
  VYRE_TRY(recorder_->flush());
  return value;
}

Result<std::span<std::byte>> Memory::fetch(Place& place) {
  if (setup_.at_host) {
    VYRE_TRY(recorder_->flush());
    return place.writable();
  }
  place.contents.resize(place.region.bytes);
  if (!place.contents.empty())
    recorder_->add(Transfer{Transfer::Direction::ToHost, place.region, place.contents.data()});
  VYRE_TRY(recorder_->flush());
  return std::span(place.contents);
}

void Memory::put_back(Place& place) {
  if (!setup_.at_host && place.region.bytes != 0)
    recorder_->add(Transfer{Transfer::Direction::ToDevice, place.region, place.contents.data()});
}

Result<std::span<std::byte>> Memory::fetch(BufferId buffer) {
  return fetch(places_[buffer.index()]);
}
void Memory::put_back(BufferId buffer) {
  put_back(places_[buffer.index()]);
}
Result<std::span<std::byte>> Memory::fetch_hidden(uint32_t row) {
  return fetch(places_[place_of_row(row, half_[row])]);
}
void Memory::put_back_hidden(uint32_t row) {
  put_back(places_[place_of_row(row, half_[row])]);
}

void Memory::read_back(BufferId buffer, uint64_t offset, std::span<std::byte> to) {
  if (to.empty()) return;
  Place& place = places_[buffer.index()];
  if (setup_.at_host) {
    std::ranges::copy(place.bytes().subspan(offset, to.size()), to.begin());
    return;
  }
  recorder_->add(Transfer{Transfer::Direction::ToHost,
                          {place.region.buffer, place.region.offset + offset, to.size()},
                          to.data()});
}

}  // namespace vyre::run
