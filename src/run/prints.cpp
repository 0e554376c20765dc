// SPDX-License-Identifier: Apache-2.0
// What print() and assert() leave in the memory of a plan, as text.
#include "check/prints.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/errors.hpp"
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
  std::ranges::stable_sort(lines, {},
                           [](const PrintLine& line) { return std::pair(line.phase, line.lane); });
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

// Before anything runs: should the submission fail at once, the records of the dispatch before are
// not those of this one.
Result<void> Dispatch::prepare_prints() {
  Workspace& w = *lease_;
  prints_ready_ = w.wanted.policy.print;
  const auto row = w.variant->schedule.find_hidden(Hidden::Kind::Print);
  if (!prints_ready_ || !row || device_.at_host()) return {};
  std::array<std::byte, 4 * PrintWords::kHead> head = {};
  Region region = w.memory.hidden(*row);
  region.bytes = head.size();
  const Transfer transfer{Transfer::Direction::ToDevice, region, head.data()};
  return device_.backend->transfer({&transfer, 1});
}

Result<PrintReport> Dispatch::fetch_prints() {
  Workspace& w = *lease_;
  const plan::Schedule& plan = w.variant->schedule;
  const auto row = plan.find_hidden(Hidden::Kind::Print);
  if (!row) {
    PrintReport printed = std::exchange(runner_->printed(), {});
    sort(printed.lines);
    return printed;
  }
  std::vector<uint32_t> words;
  if (device_.at_host()) {
    const auto bytes = w.memory.hidden_at_host(*row);
    words.resize(bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), 4 * words.size());
    return words.empty() ? PrintReport() : report_of(plan, *w.variant->sites, words);
  }
  // Not as a part of a submission: the time of the dispatch may be over.
  const Region whole = w.memory.hidden(*row);
  const auto read = [&](uint64_t count) -> Result<void> {
    words.resize(count);
    Region region = whole;
    region.bytes = 4 * count;
    const Transfer transfer{Transfer::Direction::ToHost, region,
                            reinterpret_cast<std::byte*>(words.data())};
    return device_.backend->transfer({&transfer, 1});
  };
  VYRE_TRY(read(PrintWords::kHead));
  const uint64_t used = std::min<uint64_t>(
      words[PrintWords::kUsed], (whole.bytes / 4 - PrintWords::kHead) / plan.print_words);
  VYRE_TRY(read(PrintWords::kHead + used * plan.print_words));
  return report_of(plan, *w.variant->sites, words);
}

void Dispatch::deliver_prints(Result<Report>& report) {
  if (!prints_ready_ || !runner_ || device_.backend->is_lost()) return;
  auto printed = fetch_prints();
  if (!printed) {
    if (report) report = std::unexpected(with_context(std::move(printed.error()), 0));
    return;  // the dispatch has failed already, and the device answers no more
  }
  if (config_.print_to && *config_.print_to && **config_.print_to) (**config_.print_to)(*printed);
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
Result<void> PlanRunner::tell_phase() {
  const auto row = plan_.find_hidden(Hidden::Kind::Print);
  if (!row) return {};
  VYRE_TRY_ASSIGN(const uint32_t last, m_.read_hidden_word(*row, PrintWords::kPhase));
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
    const auto word = m_.read_hidden_word(row, lane);
    if (!word) return fail(word.error());
    words.push_back(*word);
  }
  return fail(oracle::assertion_error(lane, text_of(site, words.data()), at));
}

}  // namespace vyre::run
