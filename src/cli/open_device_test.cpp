// SPDX-License-Identifier: Apache-2.0
#include "cli/open_device.hpp"

#include <gtest/gtest.h>

namespace vyre::cli {
namespace {

device::Selection::Candidate candidate(const char* id, device::Kind kind, const char* failure) {
  device::Selection::Candidate c;
  c.facts.id = id;
  c.kind = kind;
  c.failure = failure;
  return c;
}

// D-REG.4: a CPU may be taken, and the command line says so.
TEST(FallbackNote, DReg4SaysWhyThereIsNoGpu) {
  device::Selection selection;
  selection.winner = "cpu";
  selection.candidates = {candidate("cuda", device::Kind::Gpu, "no driver"),
                          candidate("cuda:1", device::Kind::Gpu, "busy"),
                          candidate("cpu", device::Kind::Cpu, "")};
  EXPECT_EQ(fallback_note(selection),
            "vyre: no usable GPU (cuda: no driver; cuda:1: busy), so this runs on cpu\n");
  selection.candidates.erase(selection.candidates.begin(), selection.candidates.begin() + 2);
  EXPECT_EQ(fallback_note(selection),
            "vyre: no usable GPU (no backend of this build sees one), so this runs on cpu\n");
}

TEST(FallbackNote, DReg4NothingToSayAboutAGpu) {
  device::Selection selection;
  EXPECT_EQ(fallback_note(selection), "");
  selection.winner = "cuda";
  selection.candidates = {candidate("cuda", device::Kind::Gpu, ""),
                          candidate("cpu", device::Kind::Cpu, "")};
  EXPECT_EQ(fallback_note(selection), "");
}

}  // namespace
}  // namespace vyre::cli
