// SPDX-License-Identifier: Apache-2.0
// What the disk cache keeps of a compilation: the code, its entries and the schedule, so that a hit
// neither plans nor generates. There are no positions in it, because programs that differ only in
// their layout share an entry; pipeline/site_table.hpp finds those.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::pipeline {

// Of all that decides what a device executes: the steps, the memory, and the programs that the code
// generator gets. Without positions: programs that differ only in their layout have equal digests.
Digest plan_digest(const plan::Plan& plan);

struct ArtifactImage {
  device::Format format = device::Format::Program;
  std::span<const std::byte> code = {};
  const std::vector<device::Entry>& entries;
  const plan::Schedule& schedule;
  Digest plan = {};  // plan_digest() of the plan that all of this was made from
};
// Integers are little-endian, whatever the machine.
std::vector<std::byte> encode(const ArtifactImage& image);

struct DecodedArtifact {
  device::Format format = device::Format::Program;
  std::vector<std::byte> code;
  std::vector<device::Entry> entries;
  plan::Schedule schedule;
  Digest plan;
};
// Nothing if the bytes are not such an image of a program with this many buffers. Every length,
// enumerator and index is checked: bytes of any kind give nothing or an artifact in which each
// reference leads somewhere.
std::optional<DecodedArtifact> decode_artifact(std::span<const std::byte> bytes, size_t buffers);

}  // namespace vyre::pipeline
