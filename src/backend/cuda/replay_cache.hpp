// SPDX-License-Identifier: Apache-2.0
// Which submissions are kept as graphs. Plain bookkeeping without calls of the driver, but for the
// graphs that are freed; the lock of the tracker protects it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cuda/graph.hpp"
#include "backend/cuda/in_flight.hpp"

namespace vyre::backend::cuda {

class ReplayCache {
 public:
  static constexpr size_t kMostReplays = 64;
  static constexpr size_t kMostAlike = 4;  // of one form

  // The idle graph that was used for this key last; null: none.
  InFlightSubmission* find(uint64_t key);
  // The idle graph that does this already, or one that can be patched; null: none.
  InFlightSubmission* find(const Likeness& like, bool& comes_again);
  // The steps of the submission are kept as a graph, and those that were used least lately go.
  // Nothing: it could not be made one, and there is no further attempt with steps of this form.
  void keep(InFlightSubmission& in_flight, std::unique_ptr<InFlightSubmission::Replay> replay);
  // The submission has none any more.
  void drop(InFlightSubmission& in_flight) noexcept;
  // Nor does it get another one before what it was made of has come twice again.
  void forget(InFlightSubmission& in_flight);
  void clear();

 private:
  struct Form {
    uint64_t form = 0;
    bool refused = false;
  };
  Form& form_of(const Likeness& like) { return forms_[like.form % forms_.size()]; }

  std::vector<InFlightSubmission*> replays_;
  // Submissions of late, at the last digits of a hash.
  std::array<Form, 256> forms_ = {};
  std::array<uint64_t, 256> wholes_ = {};
};

}  // namespace vyre::backend::cuda
