// SPDX-License-Identifier: Apache-2.0
// print() and assert() become ordinary statements on hidden memory, so that no code generator knows
// of them. A print takes the next record of a buffer that all lanes share (PrintWords) and fills
// it; records of a lane have rising numbers, since it takes them one after the other. An assert
// that fails leaves its arguments in memory of its lane and traps with a tag of its own.
//
// The phase of a print is that of the source: a local that every lane raises behind each barrier of
// the grid. Lanes that waited for a resume have missed some; the host knows the last phase that a
// live lane has begun and says behind a resume which one this is.
#include "check/prints.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/properties.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

using Words = PrintWords;

class PrintLowerer {
 public:
  PrintLowerer(Draft& d, Outline& plan, uint32_t record_words)
      : d_(d), plan_(plan), record_words_(record_words) {}

  void run() {
    bool prints = false;
    bool synchronises = false;
    for (const StmtId top : d_.p.items(d_.p.body)) {
      for_each_stmt(d_.p, top, [&](StmtId s) {
        prints |= std::holds_alternative<Print>(d_.p[s]);
        note_assert(s);
        synchronises |= properties_of(d_.p[s]).synchronises == Scope::Grid;
        resumes_ |= std::holds_alternative<Resume>(d_.p[s]);
      });
      synchronises |= any_expr_below(d_.p, top, [&](ExprId e) { return is_grid_load(e); });
    }
    if (!prints && !d_.assert_tag) return;
    if (prints) declare_records();
    for (uint32_t i = 0; i < asserted_words_; ++i) {
      Hidden row;
      row.kind = Hidden::Kind::Asserted;
      row.name = "asserted";
      row.extent = Hidden::Extent::PerLane;
      asserted_.push_back(d_.add_hidden(std::move(row)));
    }
    StmtList body;
    if (prints && synchronises) {
      phase_ = d_.local(Local::Kind::Var, "phase", Type::U32, Level::Grid);
      body.push_back(d_.let(phase_, d_.number(0)));
    }
    block(d_.p.body, body);
    d_.p.body = d_.block(body);
  }

 private:
  [[nodiscard]] bool is_grid_load(ExprId e) const {
    const auto* load = std::get_if<UniformLoad>(&d_.p[e]);
    return load != nullptr && load->scope == Scope::Grid;
  }

  void note_assert(StmtId id) {
    const auto* s = std::get_if<Assert>(&d_.p[id]);
    if (s == nullptr) return;
    if (!d_.assert_tag) d_.assert_tag = d_.fresh_tag();
    uint32_t words = 0;
    for (const ExprId arg : d_.p.values(s->args)) words += words_of(d_.type_of(arg));
    asserted_words_ = std::max(asserted_words_, words);
  }

  void declare_records() {
    plan_.print_words = record_words_;
    Hidden records;
    records.kind = Hidden::Kind::Print;
    records.name = "printed";
    records.count = Words::kHead + record_words_ * static_cast<uint32_t>(check::print_capacity(
                                                       check::kUsualPrintBytes, record_words_));
    records_ = Memory::of(d_.add_hidden(std::move(records)));
  }

  // ---- statements

  void block(Block b, StmtList& out) {
    const auto items = d_.p.items(b);
    for (const StmtId id : StmtList(items.begin(), items.end())) statement(id, out);
  }
  StmtList inside(Block b, uint32_t phases_before = 0) {
    StmtList list;
    begin_phase(phases_before, list);
    block(b, list);
    return list;
  }

  void statement(StmtId id, StmtList& out) {
    const Stmt s = d_.p[id];
    if (const auto* x = std::get_if<Print>(&s)) return print(id, *x, out);
    if (const auto* x = std::get_if<Assert>(&s)) return assertion(id, *x, out);
    uint32_t loads = 0;
    for_each_operand(d_.p, s, [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) { loads += is_grid_load(e) ? 1 : 0; });
    });
    if (const auto* x = std::get_if<While>(&s); x != nullptr && loads != 0)
      return while_loop(id, *x, 2 * loads, out);
    if (std::holds_alternative<Break>(s) && left_.valid())
      out.push_back(d_.assign(left_, d_.boolean(true)));
    // Of a condition: on both ways behind it.
    const bool is_branch = std::holds_alternative<If>(s);
    const bool is_fixpoint = std::holds_alternative<Fixpoint>(s);
    const uint32_t before = is_branch ? 2 * loads : is_fixpoint ? 1 : 0;
    const LocalId outer = left_;
    if (properties_of(s).is_loop) left_ = {};
    out.push_back(d_.map_blocks(id, [&](Block b) { return inside(b, before); }));
    left_ = outer;
    if (is_branch) return;
    if (std::holds_alternative<Resume>(s)) return after_resume(out);
    begin_phase(2 * loads, out);
    if (properties_of(s).synchronises == Scope::Grid) begin_phase(1, out);
  }

  // The condition is evaluated before each iteration and, unless a `break` ends the loop, behind
  // the last one.
  void while_loop(StmtId id, const While& s, uint32_t phases, StmtList& out) {
    LocalId left;
    if (phase_.valid() && breaks(s.body)) {
      left = d_.local(Local::Kind::Var, "left", Type::Bool, Level::Grid);
      out.push_back(d_.let(left, d_.boolean(false)));
    }
    const LocalId outer = std::exchange(left_, left);
    out.push_back(d_.with_blocks(id, {inside(s.body, phases)}));
    left_ = outer;
    if (!left.valid()) return begin_phase(phases, out);
    StmtList behind;
    begin_phase(phases, behind);
    out.push_back(d_.stmt(If{d_.negate(d_.ref(left)), d_.block(behind), {}}, {}, Level::Grid));
  }

  [[nodiscard]] bool breaks(Block b) const {
    return std::ranges::any_of(d_.p.items(b), [&](StmtId id) {
      if (std::holds_alternative<Break>(d_.p[id])) return true;
      if (properties_of(d_.p[id]).is_loop) return false;
      bool found = false;
      for_each_block(d_.p[id], [&](Block inner) { found = found || breaks(inner); });
      return found;
    });
  }

  // ---- phases

  void begin_phase(uint32_t count, StmtList& out) {
    if (count == 0 || !phase_.valid()) return;
    out.push_back(d_.assign(phase_, d_.binary(BinaryOp::Add, d_.ref(phase_), d_.number(count))));
    note_phase(out);
  }

  // For the host, which has to go on from there at a resume.
  void note_phase(StmtList& out) {
    if (resumes_)
      out.push_back(d_.atomic(AtomicOp::Max, records_, d_.number(Words::kPhase), d_.ref(phase_)));
  }

  void after_resume(StmtList& out) {
    if (!phase_.valid()) return;
    out.push_back(d_.assign(phase_, d_.load(records_, d_.number(Words::kBase), true)));
    note_phase(out);
  }

  // ---- arguments: loads in them stop no lane

  // The element, or 0 outside of the memory.
  ExprId guarded(ExprId id, StmtList& out) {
    const auto load = std::get<Load>(d_.p[id]);
    const ExprId index_value = quiet(load.index, out);
    const Type type = d_.type_of(index_value);
    const LocalId index = d_.capture(index_value, "at", Level::Lane, out);
    const bool wide = bits_of(type) == 64;
    const Type bound = wide ? Type::U64 : Type::U32;
    ExprId within = d_.binary(BinaryOp::Lt, d_.cast(bound, d_.ref(index)),
                              d_.cast(bound, count_of(load.memory)));
    if (is_signed(type) && !wide)
      within = d_.binary(BinaryOp::LogicalAnd,
                         d_.binary(BinaryOp::Ge, d_.ref(index), d_.zero(type)), within);
    const LocalId value = d_.local(Local::Kind::Var, "element", d_.type_of(id), Level::Lane);
    out.push_back(d_.let(value, d_.zero(d_.type_of(id))));
    out.push_back(d_.when(within, {d_.assign(value, d_.load(load.memory, d_.ref(index), true))}));
    return d_.ref(value);
  }

  ExprId count_of(Memory m) {
    switch (m.kind) {
      case Memory::Kind::Buffer:
        if (!d_.is_shared(m)) return d_.length(m);
        return d_.number(*d_.c.buffers[m.index].constant_count);
      case Memory::Kind::Table: return d_.number(d_.c.constants[m.index].size());
      case Memory::Kind::Local: break;
    }
    return d_.number(d_.c.array_counts[m.index]);
  }

  ExprId quiet(ExprId id, StmtList& out) {
    if (!d_.checked) return id;
    if (std::holds_alternative<Load>(d_.p[id]) && d_.c.expr_proofs[id.index()] < 0)
      return guarded(id, out);
    std::vector<ExprId> operands = d_.operands(id);
    bool changed = false;
    for (ExprId& e : operands) {
      const ExprId before = e;
      e = quiet(e, out);
      changed |= !(e == before);
    }
    return changed ? d_.with_operands(id, operands) : id;
  }

  // The arguments as words, in order.
  std::vector<ExprId> words(Range args, StmtList& out) {
    std::vector<ExprId> all;
    const auto list = d_.p.values(args);
    for (const ExprId arg : std::vector<ExprId>(list.begin(), list.end())) {
      const ExprId value = quiet(arg, out);
      const LocalId local = d_.capture(value, "printed", Level::Lane, out);
      for (uint32_t k = 0; k < words_of(d_.type_of(local)); ++k)
        all.push_back(word_of(d_, d_.ref(local), k));
    }
    return all;
  }

  PrintSite site(StmtId id, const std::string& format, Range args) const {
    PrintSite site{.format = format, .types = {}, .at = d_.p.position_of(id)};
    for (const ExprId arg : d_.p.values(args)) site.types.push_back(d_.type_of(arg));
    return site;
  }

  // ---- the two statements

  ExprId ticket(AtomicOp op, uint32_t word, StmtList& out) {
    const StmtId s =
        d_.atomic(op, records_, d_.number(word), op == AtomicOp::Load ? ExprId{} : d_.number(1));
    const ExprId value = std::get<Eval>(d_.p[s]).value;
    return d_.ref(d_.capture(value, "record", Level::Lane, out));
  }

  void print(StmtId id, const Print& s, StmtList& out) {
    const auto number = static_cast<uint32_t>(plan_.prints.size());
    plan_.prints.push_back(site(id, s.format, s.args));
    StmtList items;
    const std::vector<ExprId> arguments = words(s.args, items);
    const ExprId room = d_.binary(BinaryOp::Sub, d_.length(records_), d_.number(Words::kHead));
    const LocalId most = d_.capture(d_.binary(BinaryOp::Div, room, d_.number(record_words_)),
                                    "most", Level::Lane, items);
    // Once it is full the count stays near its limit: it never wraps.
    const LocalId at = d_.local(Local::Kind::Var, "at", Type::U32, Level::Lane);
    items.push_back(d_.let(at, d_.ref(most)));
    const ExprId used = ticket(AtomicOp::Load, Words::kUsed, items);
    StmtList take;
    take.push_back(d_.assign(at, ticket(AtomicOp::Add, Words::kUsed, take)));
    items.push_back(d_.when(d_.binary(BinaryOp::Lt, used, d_.ref(most)), take));
    items.push_back(d_.when(d_.binary(BinaryOp::Lt, d_.ref(at), d_.ref(most)),
                            record(number, at, arguments), dropped()));
    out.push_back(d_.stmt(Nested{d_.block(items)}, d_.p.loc(id)));
  }

  StmtList record(uint32_t number, LocalId at, const std::vector<ExprId>& arguments) {
    StmtList list;
    const LocalId first = d_.capture(
        d_.binary(BinaryOp::Add, d_.binary(BinaryOp::Mul, d_.ref(at), d_.number(record_words_)),
                  d_.number(Words::kHead)),
        "first", Level::Lane, list);
    const auto word = [&](uint32_t k) {
      return k == 0 ? d_.ref(first) : d_.binary(BinaryOp::Add, d_.ref(first), d_.number(k));
    };
    list.push_back(d_.store(records_, word(Words::kRecordPhase),
                            phase_.valid() ? d_.ref(phase_) : d_.number(0)));
    list.push_back(d_.store(records_, word(Words::kRecordLane), lane_id(d_)));
    for (uint32_t k = 0; k < arguments.size(); ++k)
      list.push_back(d_.store(records_, word(Words::kArguments + k), arguments[k]));
    // Last: a lane that is stopped in between leaves no half of a line.
    list.push_back(d_.atomic(AtomicOp::Store, records_, word(Words::kSite), d_.number(number + 1)));
    return list;
  }

  // Counted in two words, since there may be any number.
  StmtList dropped() {
    StmtList list;
    const ExprId before = ticket(AtomicOp::Add, Words::kDropped, list);
    list.push_back(d_.when(
        d_.binary(BinaryOp::Eq, before, d_.number(kNoLane)),
        {d_.atomic(AtomicOp::Add, records_, d_.number(Words::kDropped + 1), d_.number(1))}));
    return list;
  }

  void assertion(StmtId id, const Assert& s, StmtList& out) {
    const auto number = static_cast<uint32_t>(plan_.asserts.size());
    plan_.asserts.push_back(site(id, s.format, s.args));
    StmtList items;
    const ExprId holds = quiet(s.condition, items);
    StmtList fails;
    const std::vector<ExprId> arguments = words(s.args, fails);
    for (uint32_t k = 0; k < arguments.size(); ++k)
      fails.push_back(d_.store(Memory::of(asserted_[k]), lane_id(d_), arguments[k]));
    fails.push_back(d_.stmt(Trap{*d_.assert_tag, d_.number(number)}, d_.p.loc(id)));
    items.push_back(d_.when(d_.negate(holds), fails));
    out.push_back(d_.stmt(Nested{d_.block(items)}, d_.p.loc(id)));
  }

  Draft& d_;
  Outline& plan_;
  uint32_t record_words_;
  Memory records_;
  std::vector<BufferId> asserted_;  // by word
  uint32_t asserted_words_ = 0;
  LocalId phase_;
  LocalId left_;  // of the loop around, if a `break` of it has to say so
  bool resumes_ = false;
};

}  // namespace

Draft lower_prints(Draft d, Outline& plan, uint32_t record_words) {
  PrintLowerer(d, plan, record_words).run();
  return d;
}

}  // namespace vyre::plan
