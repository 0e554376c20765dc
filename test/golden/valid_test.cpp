// SPDX-License-Identifier: Apache-2.0
// Valid programs. valid/ uses every construct of the language (a test proves it); uniform/ shows
// what counts as uniform, each beside a planted error that shows what does not. Every program gives
// no diagnostic, prints as its committed .expected.print, and survives text and bytes unchanged.
// VYRE_REGEN=1 in the environment writes the .expected.print files anew.
#include <cstdlib>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "base/match.hpp"
#include "golden/golden.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::golden {
namespace {

struct GoldenFile {
  std::string folder;
  std::string stem;
};
std::ostream& operator<<(std::ostream& out, const GoldenFile& file) {
  return out << file.folder << '/' << file.stem;
}

std::vector<GoldenFile> golden_files() {
  std::vector<GoldenFile> files;
  for (const char* folder : {"valid", "uniform"})
    for (const std::string& stem : stems_in(golden_dir() / folder, ".vyre"))
      files.push_back({folder, stem});
  return files;
}

class Golden : public testing::TestWithParam<GoldenFile> {
 protected:
  [[nodiscard]] std::filesystem::path path(std::string_view ending) const {
    return golden_dir() / GetParam().folder / (GetParam().stem + std::string(ending));
  }
  [[nodiscard]] std::string source() const { return read_file(path(".vyre")); }
};

TEST_P(Golden, GivesNoDiagnostic) {
  const Judged judged = judge(source(), GetParam().stem);
  EXPECT_TRUE(judged.diagnostics.list().empty()) << describe(judged.diagnostics);
  EXPECT_TRUE(judged.checked.has_value());
}

TEST_P(Golden, PrintsAsCommitted) {
  const std::string printed = text::print(text::parse(source(), GetParam().stem).program);
  if (const char* regenerate = std::getenv("VYRE_REGEN");
      regenerate != nullptr && std::string_view(regenerate) == "1")
    std::ofstream(path(".expected.print"), std::ios::binary) << printed;
  EXPECT_EQ(printed, read_file(path(".expected.print")))
      << "run with VYRE_REGEN=1 if the change is meant";
}

TEST_P(Golden, SurvivesTheTextForm) {
  const ir::Program program = text::parse(source(), GetParam().stem).program;
  const std::string printed = text::print(program);
  const text::Parsed again = text::parse(printed, GetParam().stem);
  EXPECT_TRUE(again.diagnostics.list().empty()) << describe(again.diagnostics);
  EXPECT_TRUE(again.program == program);
  EXPECT_EQ(text::print(again.program), printed);
}

TEST_P(Golden, SurvivesTheBinaryForm) {
  const ir::Program program = text::parse(source(), GetParam().stem).program;
  const std::vector<std::byte> bytes = ir::encode(program);
  const Result<ir::Program> decoded = ir::decode(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(*decoded == program);
  EXPECT_EQ(ir::encode(*decoded), bytes);
}

TEST_P(Golden, SurvivesFormatting) {
  const text::Formatted formatted = text::format(source(), GetParam().stem);
  ASSERT_TRUE(formatted.text);
  const text::Parsed again = text::parse(*formatted.text, GetParam().stem);
  EXPECT_TRUE(again.program == text::parse(source(), GetParam().stem).program);
  EXPECT_EQ(text::format(*formatted.text, GetParam().stem).text, formatted.text);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& file) {
  return file.param.folder + "_" + file.param.stem;
});

TEST(GoldenUniform, HasARejectedTwin) {
  for (const std::string& stem : stems_in(golden_dir() / "uniform", ".vyre")) {
    static constexpr std::string_view kTwin = "// Twin: ";
    const std::string text = read_file(golden_dir() / "uniform" / (stem + ".vyre"));
    ASSERT_TRUE(text.starts_with(kTwin)) << stem;
    const std::string twin = text.substr(kTwin.size(), text.find('\n') - kTwin.size());
    EXPECT_TRUE(std::filesystem::exists(golden_dir() / "errors" / (twin + ".vyre")))
        << stem << " names " << twin;
  }
}

// ---- every construct is used ----

// What a set of programs is made of: enumerators by table, and which alternatives of the variants.
struct Used {
  std::set<size_t> exprs, stmts;
  std::set<ir::Type> buffer_types, local_types, cast_types, bitcast_types, suffixes;
  std::set<ir::BufferKind> kinds;
  std::set<ir::Locality> localities;
  std::set<int> axes_hinted;
  std::set<ir::UnaryOp> unary;
  std::set<ir::BinaryOp> binary, local_assign, store_assign;
  std::set<ir::Intrinsic> intrinsics;
  std::set<std::pair<ir::AtomicOp, ir::MemoryOrder>> atomics;
  std::set<ir::SubgroupOp> subgroup;
  std::set<std::pair<ir::Builtin, int>> builtins;
  std::set<ir::Scope> barriers, loads;
  std::set<std::tuple<ir::CollectiveOp, bool>> collectives;  // with a group?
  std::set<ir::ReduceOp> reduces;
  std::set<size_t> workgroup_axes, over_axes;
  std::set<ir::Memory::Kind> memories;
  std::set<std::string> attributes;
  bool step = false, unroll = false, else_if = false, result = false, no_result = false,
       table = false, require = false;
};

void collect(const ir::Expr& expr, Used& used) {
  used.exprs.insert(expr.index());
  match(
      expr,
      [&](const ir::IntLiteral& e) {
        if (e.suffix) used.suffixes.insert(*e.suffix);
      },
      [&](const ir::FloatLiteral& e) {
        if (e.suffix) used.suffixes.insert(*e.suffix);
      },
      [](const ir::BoolLiteral&) {}, [](const ir::LocalRef&) {}, [](const ir::ConstRef&) {},
      [&](const ir::BuiltinRef& e) {
        used.builtins.emplace(e.builtin, ir::has_axis(e.builtin) ? e.axis : 0);
      },
      [](const ir::Len&) {}, [&](const ir::Load& e) { used.memories.insert(e.memory.kind); },
      [&](const ir::Unary& e) { used.unary.insert(e.op); },
      [&](const ir::Binary& e) { used.binary.insert(e.op); },
      [&](const ir::Cast& e) { used.cast_types.insert(e.type); },
      [&](const ir::Bitcast& e) { used.bitcast_types.insert(e.type); },
      [&](const ir::IntrinsicCall& e) { used.intrinsics.insert(e.op); },
      [&](const ir::Atomic& e) { used.atomics.emplace(e.op, e.order); },
      [&](const ir::Subgroup& e) { used.subgroup.insert(e.op); },
      [&](const ir::UniformLoad& e) { used.loads.insert(e.scope); }, [](const ir::Call&) {},
      [](const ir::Poison&) {}, [](const ir::AxisIndex&) {}, [](const ir::AxisLen&) {});
}

void collect(const ir::Program& p, const ir::Stmt& stmt, Used& used) {
  used.stmts.insert(stmt.index());
  if (const auto* assign = std::get_if<ir::Assign>(&stmt); assign != nullptr && assign->op)
    used.local_assign.insert(*assign->op);
  if (const auto* store = std::get_if<ir::Store>(&stmt); store != nullptr && store->op)
    used.store_assign.insert(*store->op);
  if (const auto* barrier = std::get_if<ir::Barrier>(&stmt)) used.barriers.insert(barrier->scope);
  if (const auto* loop = std::get_if<ir::For>(&stmt)) {
    used.step = used.step || loop->step.valid();
    used.unroll = used.unroll || loop->unroll;
  }
  if (const auto* branch = std::get_if<ir::If>(&stmt)) {
    const auto items = p.items(branch->else_block);
    used.else_if =
        used.else_if || (items.size() == 1 && std::holds_alternative<ir::If>(p[items.front()]));
  }
  if (const auto* collective = std::get_if<ir::Collective>(&stmt)) {
    used.collectives.emplace(collective->op, collective->group.valid());
    if (collective->op == ir::CollectiveOp::AllReduce) used.reduces.insert(collective->reduce);
  }
}

void collect(const ir::Buffer& b, Used& used) {
  used.kinds.insert(b.kind);
  used.buffer_types.insert(b.element);
  used.localities.insert(b.locality);
  if (b.coalesce_axis) used.axes_hinted.insert(*b.coalesce_axis);
  if (b.count.valid()) used.attributes.insert("[n]");
  if (b.binding.valid()) used.attributes.insert("binding");
  if (b.align.valid()) used.attributes.insert("align");
  if (b.size.valid()) used.attributes.insert("count");
  if (b.range_first.valid()) used.attributes.insert("range");
  if (b.live_out) used.attributes.insert("live_out");
}

Used used_by_all() {
  Used used;
  for (const GoldenFile& file : golden_files()) {
    const std::string path = (golden_dir() / file.folder / (file.stem + ".vyre")).string();
    const ir::Program p = text::parse(read_file(path), path).program;
    for (const ir::Expr& e : p.exprs) collect(e, used);
    for (const ir::Stmt& s : p.stmts) collect(p, s, used);
    for (const ir::Buffer& b : p.buffers) collect(b, used);
    for (const ir::Local& l : p.locals)
      if (l.type && l.kind != ir::Local::Kind::BufferParam) used.local_types.insert(*l.type);
    for (const ir::Fn& f : p.fns) (f.result ? used.result : used.no_result) = true;
    for (const ir::Const& c : p.consts) used.table = used.table || c.table;
    used.require = used.require || !p.require_list.empty();
    used.workgroup_axes.insert(ir::Program::axes(p.workgroup));
    used.over_axes.insert(ir::Program::axes(p.over));
  }
  return used;
}

template <class Enum>
void expect_all(const std::set<Enum>& found, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    EXPECT_TRUE(found.contains(static_cast<Enum>(i))) << what << " number " << i;
}

TEST(GoldenValid, UsesEveryExpressionAndStatement) {
  const Used used = used_by_all();
  EXPECT_EQ(used.exprs.size(), std::variant_size_v<ir::Expr> - 1);  // all but Poison
  EXPECT_EQ(used.stmts.size(), std::variant_size_v<ir::Stmt>);
  EXPECT_TRUE(used.step && used.unroll && used.else_if && used.result && used.no_result &&
              used.table && used.require);
  expect_all(used.memories, 3, "memory");
}

TEST(GoldenValid, UsesEveryTypeAndBuffer) {
  const Used used = used_by_all();
  expect_all(used.buffer_types, ir::kTypeCount, "buffer type");
  expect_all(used.local_types, 7, "local type");
  expect_all(used.cast_types, 7, "cast to type");
  expect_all(used.kinds, ir::kBufferKindCount, "buffer kind");
  expect_all(used.localities, 4, "locality");
  EXPECT_EQ(used.axes_hinted.size(), 3U);
  EXPECT_EQ(used.suffixes.size(), 6U);
  EXPECT_EQ(used.attributes.size(), 6U);
  EXPECT_EQ(used.workgroup_axes, (std::set<size_t>{1, 2, 3}));
  EXPECT_EQ(used.over_axes, (std::set<size_t>{0, 1, 2, 3}));
}

TEST(GoldenValid, UsesEveryOperation) {
  const Used used = used_by_all();
  expect_all(used.unary, 3, "unary operator");
  expect_all(used.binary, static_cast<int>(ir::BinaryOp::Rem) + 1, "binary operator");
  EXPECT_EQ(used.local_assign.size(), 10U);
  EXPECT_EQ(used.store_assign.size(), 10U);
  expect_all(used.intrinsics, ir::kIntrinsicCount, "function");
  expect_all(used.subgroup, ir::kSubgroupOpCount, "subgroup operation");
  expect_all(used.barriers, 3, "barrier");
  EXPECT_EQ(used.loads, (std::set<ir::Scope>{ir::Scope::Workgroup, ir::Scope::Grid}));
  EXPECT_EQ(used.collectives.size(), 8U);
  expect_all(used.reduces, 6, "reduction");
  for (int b = 0; b < ir::kBuiltinCount; ++b) {
    const auto builtin = static_cast<ir::Builtin>(b);
    for (int axis = 0; axis < (ir::has_axis(builtin) ? 3 : 1); ++axis)
      EXPECT_TRUE(used.builtins.contains({builtin, axis}))
          << ir::name_of(builtin) << " axis " << axis;
  }
}

TEST(GoldenValid, UsesEveryAtomicWithEveryOrder) {
  const Used used = used_by_all();
  for (int op = 0; op < ir::kAtomicCount; ++op)
    for (int order = 0; order < 4; ++order) {
      const auto atomic = static_cast<ir::AtomicOp>(op);
      const auto memory_order = static_cast<ir::MemoryOrder>(order);
      using enum ir::MemoryOrder;
      if (atomic == ir::AtomicOp::Load && (memory_order == Release || memory_order == AcqRel))
        continue;
      if (atomic == ir::AtomicOp::Store && (memory_order == Acquire || memory_order == AcqRel))
        continue;
      EXPECT_TRUE(used.atomics.contains({atomic, memory_order}))
          << ir::name_of(atomic) << " " << ir::name_of(memory_order);
    }
}

}  // namespace
}  // namespace vyre::golden
