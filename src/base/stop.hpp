// SPDX-License-Identifier: Apache-2.0
// How work that may take long learns that it is to stop. A call that has a deadline or a cancel
// flag holds a StopScope; the passes below it say which stage they are and call poll_stop() as they
// go, which throws Stopped. Like std::bad_alloc, Stopped goes through the frames of this project
// only and ends at the entry of the call (run::enter, the commands of the tool). It must not cross
// frames of LLVM: there stop_requested() is read, and LLVM's passes return early.
#pragma once

#include <cstdint>
#include <string_view>

#include "vyre/base/result.hpp"
#include "vyre/base/stop.hpp"

namespace vyre {

enum class Stage : uint8_t { Prepare, Parse, Check, Plan, Generate, Load };
std::string_view text_of(Stage stage);  // "planning the program"

// What poll_stop() throws.
struct Stopped {
  Stage stage = Stage::Prepare;
  bool cancelled = false;  // otherwise the time is up
};
// Timeout, with the stage that was stopped.
Error error_of(const Stopped& stopped);

// For this thread, until it is destroyed. Scopes nest: each of them can stop the work.
class StopScope {
 public:
  explicit StopScope(const StopCondition& condition);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // The stop conditions of this thread: the earliest deadline.
  static StopCondition::Time deadline();
  static bool active();

 private:
  friend struct StopState;
  StopCondition condition_;
  StopScope* outer_;
};

// The stage that this thread is in, for the message.
class StageScope {
 public:
  explicit StageScope(Stage stage);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  Stage outer_;
};

struct StopState {
  static constexpr int32_t kPollEvery = 1024;
  int32_t countdown = kPollEvery;
  Stage stage = Stage::Prepare;
  StopScope* scope = nullptr;

  // Reads clock and flags. True: `stopped` says why.
  bool poll(Stopped& stopped) const;
};
extern constinit thread_local StopState stop_state;

// Nothing stops this thread until it is destroyed: for short work that reports how other work
// ended.
class StopPause {
 public:
  StopPause() : outer_(stop_state.scope) { stop_state.scope = nullptr; }
  ~StopPause() { stop_state.scope = outer_; }
  StopPause(const StopPause&) = delete;
  StopPause& operator=(const StopPause&) = delete;

 private:
  StopScope* outer_;
};

// Reads the clock and the flags now.
bool stop_requested();
void poll_stop_now();
// The same once in a while: cheap enough for each node of a program.
inline void poll_stop(int32_t nodes = 1) {
  if ((stop_state.countdown -= nodes) <= 0) [[unlikely]]
    poll_stop_now();
}

}  // namespace vyre
