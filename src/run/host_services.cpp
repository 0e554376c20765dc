// SPDX-License-Identifier: Apache-2.0
// Where a running program calls its host: traps that wait for a handler, and collectives.
#include <algorithm>
#include <cstring>

#include "pipeline/site_table.hpp"
#include "run/plan_runner.hpp"

namespace vyre::run {

using namespace plan;
using ir::BufferId;
using ir::BufferKind;

// The buffers of the dispatch while a handler reads them.
class PlanRunner::Buffers : public HandlerBuffers {
 public:
  Buffers(const check::CheckedProgram& source, Memory& memory)
      : source_(source), memory_(memory), fetched_(source.program.buffers.size()) {}

  [[nodiscard]] std::span<const std::byte> read(BufferId buffer) const override {
    return get(buffer);
  }
  std::span<std::byte> write(BufferId buffer) override {
    const BufferKind kind = source_.program[buffer].kind;
    if (kind != BufferKind::InOut && kind != BufferKind::Out && kind != BufferKind::Persistent)
      return {};
    const std::span<std::byte> bytes = get(buffer);
    written_.push_back(buffer);
    return bytes;
  }
  Result<void> finish() {
    if (error_) return std::unexpected(*error_);
    for (const BufferId buffer : written_) memory_.put_back(buffer);
    return memory_.flush();
  }

 private:
  std::span<std::byte> get(BufferId buffer) const {
    auto& fetched = fetched_[buffer.index()];
    if (fetched) return *fetched;
    const auto bytes = memory_.fetch(buffer);
    if (!bytes) {
      if (!error_) error_ = bytes.error();
      return {};
    }
    fetched = *bytes;
    return *bytes;
  }

  const check::CheckedProgram& source_;
  Memory& memory_;
  mutable std::vector<std::optional<std::span<std::byte>>> fetched_;
  mutable std::optional<Error> error_;
  std::vector<BufferId> written_;
};

PlanRunner::Signal PlanRunner::resume_step(const ResumeStep& x) {
  if (Signal s = check_stop(); s != Signal::Go) return s;
  ++phases_;
  if (auto ok = report_phase(); !ok) return fail(ok.error());
  if (!waiting_[x.resume]) return Signal::Go;
  waiting_[x.resume] = false;
  const auto sites = report_words(Hidden::Kind::ReportSite);
  if (!sites) return fail(sites.error());
  const auto values = report_words(Hidden::Kind::ReportValue);
  if (!values) return fail(values.error());
  const uint32_t mask_row = *plan_.find_hidden(Hidden::Kind::Mask);
  const auto mask = m_.fetch_hidden(mask_row);
  if (!mask) return fail(mask.error());
  std::vector<TrapReport> reports;
  for (uint32_t lane = 0; lane < mask->size() / 4; ++lane) {
    std::byte* const at = mask->data() + size_t{lane} * 4;
    uint32_t state = 0;
    std::memcpy(&state, at, 4);
    if (state != kParked + x.resume) continue;
    const auto report = report_of(lane, *sites, *values);
    if (!report) return fail(report.error());
    reports.push_back({report->site.tag, report->value, lane, report->site.at});
    std::memcpy(at, &kLive, 4);
  }
  m_.put_back_hidden(mask_row);
  Buffers buffers(*s_.source, m_);
  if (auto ok = resume(reports, buffers); !ok) return fail(ok.error());
  if (auto ok = buffers.finish(); !ok) return fail(ok.error());
  std::ranges::move(reports, std::back_inserter(report_.resumed));
  return Signal::Go;
}

Result<void> PlanRunner::resume(std::span<const TrapReport> reports, HandlerBuffers& buffers) {
  if (reports.empty() || s_.trap_handler == nullptr || !*s_.trap_handler) return {};
  return (*s_.trap_handler)(reports, buffers);
}

void PlanRunner::progress(uint64_t done, uint64_t of) {
  if (s_.progress != nullptr && *s_.progress) (*s_.progress)(done, of);
}

PlanRunner::Signal PlanRunner::collective(const CollectiveStep& x) {
  const ir::Program& program = s_.source->program;
  const bool in_place = !x.dst.valid() || x.dst == x.src;
  const BufferId dst = in_place ? x.src : x.dst;
  const auto src_bytes = m_.fetch(x.src);
  if (!src_bytes) return fail(src_bytes.error());
  const auto dst_bytes = in_place ? src_bytes : m_.fetch(x.dst);
  if (!dst_bytes) return fail(dst_bytes.error());
  device::Exchange exchange;
  exchange.op = x.op;
  exchange.reduce = x.reduce;
  exchange.element = program[x.src].element;
  exchange.root = x.root;
  exchange.group = x.group;
  exchange.src_name = program[x.src].name;
  exchange.dst_name = program[dst].name;
  exchange.src = *src_bytes;
  exchange.dst = *dst_bytes;
  device::Communicator& ranks =
      s_.communicator != nullptr ? *s_.communicator : device::self_communicator();
  if (auto ok = ranks.exchange(exchange); !ok) {
    Error error = ok.error();
    if (!error.at.known()) error.at = s_.variant->sites->collective(plan_, x);
    return fail(std::move(error));
  }
  m_.put_back(dst);
  return Signal::Go;
}

}  // namespace vyre::run
