// SPDX-License-Identifier: Apache-2.0
// Deliberate mistakes in the planner, one per name, to prove that the tests would notice them.
//
// The library that is shipped knows none of them: mutated() is false at compile time. The tests
// build the planner a second time with VYRE_MUTATIONS and switch on one mistake after the other.
#pragma once

#include <cstdint>
#include <string_view>

namespace vyre::plan {

// clang-format off
#define VYRE_PLAN_MUTATIONS(X)                                                                    \
  /* fixpoints */                                                                                 \
  X(TrackDespiteResume) X(TrackStoreInLoop) X(TrackEveryWrite) X(TrackOutOfBounds)                \
  X(TrackInnermostOnly) X(TrackDespiteSwap)                                                       \
  /* control flow */                                                                              \
  X(BreakWithoutSkip) X(ContinueSkipsStep) X(BoundEvaluatedAgain) X(ConditionAfterBreak)          \
  X(ConditionReadAgain) X(StepOverflows)                                                          \
  /* barriers and phases */                                                                       \
  X(DropBarrier) X(PhaseAtEveryCut) X(NoEntryBarrier) X(SwapLeftOut) X(SwapEndsNoPhase)           \
  /* what is saved */                                                                             \
  X(DropSavedValue) X(DropArray) X(ReuseSlot) X(RecomputeLoads) X(RecomputeVariables)             \
  X(RecomputeWords) X(RecomputeFixpointResult) X(FrameInPlace) X(GroupFrameInPlace)               \
  X(FrameByFirstLane) X(SaveBeforeBody) X(SaveOnlyHalfOfWide)                                     \
  /* shared memory */                                                                             \
  X(NoSharedRestore) X(NoSharedSave) X(SharedDeadAtReturn)                                        \
  /* lanes that ended or wait */                                                                  \
  X(SkipEndedMask) X(ReturnKeepsLane) X(ParkedNotSaved) X(ParkOwnTagOnly) X(OpenSpansIgnored)     \
  X(NoLiveWord) X(GroupFrameNotCarried) X(TrapSiteOfOther)                                        \
  /* native route */                                                                              \
  X(NativeNoVote) X(NativeNoResync) X(NativeGuardUniform) X(NativeWalkEveryLoop)                  \
  X(NativeNoGridResync) X(NativeStopAtInternal) X(NativeSnapshotOnce) X(NativeEndedSubgroup)      \
  /* persistent kernels */                                                                        \
  X(PersistentUniformInPlace) X(PersistentNotSaved) X(PersistentLiveInLoopOnly)                   \
  X(PersistentTooManyIterations) X(PersistentRotatedTooOften) X(PersistentLaneZeroNever)
// clang-format on

enum class Mutation : uint8_t {
  None,
#define VYRE_ROW(name) name,
  VYRE_PLAN_MUTATIONS(VYRE_ROW)
#undef VYRE_ROW
};

#ifdef VYRE_MUTATIONS
extern thread_local Mutation current_mutation;
inline bool mutated(Mutation m) {
  return current_mutation == m;
}
#else
constexpr bool mutated(Mutation) {
  return false;
}
#endif

}  // namespace vyre::plan
