// SPDX-License-Identifier: Apache-2.0
// What print() and assert() leave in the memory of a plan, as text.
#include "check/prints.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/errors.hpp"
#include "base/stable_sort.hpp"
#include "ir/print_format.hpp"
#include "pipeline/site_table.hpp"
#include "run/state.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::run {

using device::Region;
using device::Transfer;
using plan::Hidden;
using plan::PrintWords;

static_assert(kPrintBytes == check::kUsualPrintBytes);

namespace {

std::string text_of(const plan::PrintSite& site, const uint32_t* words) {
  std::vector<uint64_t> bits;
  for (const ir::Type type : site.types) {
    uint64_t value = *words++;
    if (check::print_words(type) == 2) value |= uint64_t{*words++} << 32;
    bits.push_back(value);
  }
  return ir::format_text(site.format, site.types, bits);
}

void sort(std::vector<PrintLine>& lines) {
  // Lines of a lane come in their order of execution, which has to stay.
  base::stable_sort(lines, [](const PrintLine& line) { return std::pair(line.phase, line.lane); });
}

bool is_at_host(const device::Backend& backend) {
  return !backend.info().capabilities.resident_buffers;
}

// The first words of that hidden memory.
Region words_of(const Workspace& w, uint32_t row, uint64_t count) {
  const device::Word first = w.memory.hidden_word(row, 0);
  return {first.buffer, first.offset, 4 * count};
}

// By record, so that those of one lane stay in their order.
PrintReport report_of(const plan::Schedule& plan, const pipeline::SiteTable& sites,
                      std::span<const uint32_t> words) {
  PrintReport report;
  report.dropped = words[PrintWords::kDropped] | uint64_t{words[PrintWords::kDropped + 1]} << 32;
  std::vector<Position> at(plan.prints.size());
  for (uint32_t i = 0; i < at.size(); ++i) at[i] = sites.print(i);
  for (size_t first = PrintWords::kHead; first + plan.print_words <= words.size();
       first += plan.print_words) {
    const uint32_t* const record = words.data() + first;
    const uint32_t number = record[PrintWords::kSite];
    if (number == 0 || number > plan.prints.size()) continue;  // its lane was stopped before
    report.lines.push_back(
        {.phase = record[PrintWords::kRecordPhase],
         .lane = record[PrintWords::kRecordLane],
         .at = at[number - 1],
         .text = text_of(plan.prints[number - 1], record + PrintWords::kArguments)});
  }
  sort(report.lines);
  return report;
}

}  // namespace

Result<void> clear_prints(device::Backend& backend, const Workspace& w) {
  const auto row = w.variant->schedule.find_hidden(Hidden::Kind::Print);
  if (!row || is_at_host(backend)) return {};  // at the host the memory is made anew
  std::array<std::byte, 4 * PrintWords::kHead> head = {};
  const Transfer transfer{Transfer::Direction::ToDevice, words_of(w, *row, PrintWords::kHead),
                          head.data()};
  return backend.transfer({&transfer, 1});
}

Result<PrintReport> fetch_prints(device::Backend& backend, Workspace& w, PlanRunner& runner) {
  const plan::Schedule& plan = w.variant->schedule;
  const auto row = plan.find_hidden(Hidden::Kind::Print);
  if (!row) {
    PrintReport printed = std::exchange(runner.printed(), {});
    sort(printed.lines);
    return printed;
  }
  std::vector<uint32_t> words;
  if (is_at_host(backend)) {
    VYRE_TRY_ASSIGN(const auto bytes, w.memory.fetch_hidden(*row));
    words.resize(bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), 4 * words.size());
    return report_of(plan, *w.variant->sites, words);
  }
  // Not as a part of a submission: the time of the dispatch may be over.
  const auto read = [&](uint64_t count) -> Result<void> {
    words.resize(count);
    const Transfer transfer{Transfer::Direction::ToHost, words_of(w, *row, count),
                            reinterpret_cast<std::byte*>(words.data())};
    return backend.transfer({&transfer, 1});
  };
  VYRE_TRY(read(PrintWords::kHead));
  const uint64_t room = (w.layout.hidden_bytes[*row] / 4 - PrintWords::kHead) / plan.print_words;
  const uint64_t used = std::min<uint64_t>(words[PrintWords::kUsed], room);
  VYRE_TRY(read(PrintWords::kHead + used * plan.print_words));
  return report_of(plan, *w.variant->sites, words);
}

void deliver(Result<PrintReport> printed, const DispatchConfig& config, Result<Report>& report) {
  if (!printed) {
    // Otherwise the dispatch has failed already, and the device answers no more.
    if (report) report = std::unexpected(std::move(printed.error()));
    return;
  }
  if (config.print_to && *config.print_to && **config.print_to) (**config.print_to)(*printed);
  if (report) report->printed = std::move(*printed);
}

// ---- with the plan

void PlanRunner::printed(PrintReport lines) {
  const uint64_t most =
      check::print_capacity(s_.print_bytes, check::print_record_words(*s_.source));
  for (PrintLine& line : lines.lines) {
    if (printed_.lines.size() < most)
      printed_.lines.push_back(std::move(line));
    else
      ++printed_.dropped;
  }
  printed_.dropped += lines.dropped;
}

// Lanes that have waited go on in the phase behind the last one that a live lane has begun.
Result<void> PlanRunner::report_phase() {
  const auto row = plan_.find_hidden(Hidden::Kind::Print);
  if (!row) return {};
  VYRE_TRY_ASSIGN(const auto bytes, m_.fetch_hidden(*row));
  uint32_t last = 0;
  std::memcpy(&last, bytes.data() + size_t{4} * PrintWords::kPhase, sizeof last);
  const uint32_t next = last + taken_part_ + 1;
  taken_part_ = 0;
  m_.set_hidden_word(*row, PrintWords::kBase, next);
  // Should no lane be left that says so.
  m_.set_hidden_word(*row, PrintWords::kPhase, next);
  return {};
}

PlanRunner::Signal PlanRunner::failed_assertion(uint32_t lane, uint32_t number,
                                                const Position& at) {
  if (number >= plan_.asserts.size())
    return fail(vyre::fail(ErrorCode::Internal,
                           "a lane failed an assert that its program does not have. Fix: report "
                           "this as a bug of Vyre")
                    .error());
  const plan::PrintSite& site = plan_.asserts[number];
  std::vector<uint32_t> words;
  for (uint32_t row = 0; row < plan_.hidden.size(); ++row) {
    if (plan_.hidden[row].kind != Hidden::Kind::Asserted) continue;
    const auto bytes = m_.fetch_hidden(row);
    if (!bytes) return fail(bytes.error());
    uint32_t word = 0;
    if (size_t{4} * lane + 4 <= bytes->size())
      std::memcpy(&word, bytes->data() + size_t{4} * lane, sizeof word);
    words.push_back(word);
  }
  return fail(oracle::assertion_error(lane, text_of(site, words.data()), at));
}

}  // namespace vyre::run
