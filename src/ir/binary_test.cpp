// SPDX-License-Identifier: Apache-2.0
#include "vyre/ir/binary.hpp"

#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/binary_format.hpp"
#include "ir/sample_test.hpp"
#include "vyre/ir/semantics.hpp"
#include "vyre/text/text.hpp"

namespace vyre::ir {
namespace {

using Bytes = std::vector<std::byte>;

Program parsed(std::string_view source) {
  text::Parsed result = text::parse(source, "test");
  EXPECT_FALSE(result.diagnostics.has_errors())
      << render_text(result.diagnostics, {{"test", source}});
  return std::move(result.program);
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += "0123456789abcdef"[static_cast<int>(b) >> 4];
    text += "0123456789abcdef"[static_cast<int>(b) & 15];
  }
  return text;
}

// The code of the one diagnostic, which must say where and what to do.
std::optional<Code> code_of(const Bytes& bytes) {
  const Result<Program> result = decode(bytes);
  if (result) return std::nullopt;
  EXPECT_EQ(result.error().code, ErrorCode::InvalidProgram);
  EXPECT_EQ(result.error().diagnostics.size(), 1u);
  const Diagnostic& found = result.error().diagnostics.at(0);
  EXPECT_EQ(found.message.find("at byte "), 0u) << found.message;
  EXPECT_FALSE(found.fix.empty());
  return found.code;
}

// A program of one region with the statements that `fill` adds.
Program with_body(const std::function<std::vector<StmtId>(Program&)>& fill) {
  Program p;
  p.name = "p";
  p.workgroup[0] = p.add(Expr{IntLiteral{1, false, {}}});
  const std::vector<StmtId> items = fill(p);
  const StmtId region = p.add(Stmt{Region{"main", p.add_block(items)}});
  p.body = p.add_block(std::array{region});
  return p;
}

Program nested(uint32_t blocks) {
  return with_body([&](Program& p) {
    std::vector<StmtId> items;
    for (uint32_t i = 1; i < blocks; ++i) items = {p.add(Stmt{Nested{p.add_block(items)}})};
    return items;
  });
}

Program deep(uint32_t nodes) {
  return with_body([&](Program& p) {
    ExprId value = p.add(Expr{BoolLiteral{true}});
    for (uint32_t i = 1; i < nodes; ++i) value = p.add(Expr{Unary{UnaryOp::Not, value}});
    return std::vector{p.add(Stmt{Return{value}})};
  });
}

TEST(Binary, KeepsEveryConstruct) {
  const Program program = parsed(kEverything);
  const Bytes bytes = encode(program);
  EXPECT_TRUE(is_encoded(bytes));
  const Result<Program> decoded = decode(bytes);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, program);
  EXPECT_EQ(encode(*decoded), bytes);
  EXPECT_EQ(text::print(*decoded), text::print(program));
  EXPECT_EQ(digest_of(*decoded), digest_of(program));
}

TEST(Binary, LeavesOutPositionsAndDeadNodes) {
  const Program program = parsed("program p { workgroup 1; let x = 1; return; }");
  Program other = parsed("program p {\n  workgroup 1;\n\n  region main { let x = 1; return; } }");
  other.add(Expr{BoolLiteral{true}});
  EXPECT_EQ(encode(program), encode(other));
  EXPECT_NE(digest_of(program), digest_of(parsed("program p { workgroup 1; let y = 1; return; }")));
}

// An accidental change of the format shows here. A deliberate one needs a new kBinaryVersion.
TEST(Binary, GoldenBytes) {
  const Program program = parsed(
      "program scale { workgroup 256; in a : f32[]; out b : f32[] @count(len(a));"
      "  let i = gid.x; if i < len(b) { b[i] = a[i] * -2.5; } }");
  EXPECT_EQ(hex(encode(program)),
            "89565952450d0a1a010000006d0000000111000000057363616c650002016100050162030500020c000000"
            "010100800200000807"
            "0000000300000000042c000000010e046d61696e0201016900060000070a04040007000101050001000400"
            "0a0f08000004000201"
            "0202323500");
  EXPECT_EQ(digest_of(program).hex(),
            "b39b93b1a4d728152c118ef9983253488d438d46a30669523f4e41119a502e62");
}

// Enumerators are written as numbers, so the numbers are part of the format.
TEST(Binary, NumbersOfEnumeratorsStay) {
  const auto names = [](int count, auto name) {
    std::string all;
    for (int i = 0; i < count; ++i) all += std::string(name(i)) + ' ';
    return all;
  };
  EXPECT_EQ(names(kTypeCount, [](int i) { return name_of(static_cast<Type>(i)); }),
            "bool u32 i32 u64 i64 f32 f64 u8 i8 u16 i16 f16 bf16 ");
  EXPECT_EQ(names(3, [](int i) { return spelling_of(static_cast<UnaryOp>(i)); }), "- ! ~ ");
  EXPECT_EQ(names(18, [](int i) { return spelling_of(static_cast<BinaryOp>(i)); }),
            "|| && == != < <= > >= | ^ & << >> + - * / % ");
  EXPECT_EQ(names(kIntrinsicCount, [](int i) { return name_of(static_cast<Intrinsic>(i)); }),
            "select min max clamp abs abs_diff sign sat_add sat_sub sat_mul mul_hi rotl rotr "
            "popcount clz ctz "
            "reverse_bits fma sqrt floor ceil trunc round is_nan is_inf is_finite exp exp2 log "
            "log2 sin cos tan asin "
            "acos atan sinh cosh tanh pow rsqrt recip atan2 hypot log10 log1p expm1 cbrt erf exp10 "
            "round_away ");
  EXPECT_EQ(
      names(kAtomicCount, [](int i) { return name_of(static_cast<AtomicOp>(i)); }),
      "atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_nand "
      "atomic_exchange atomic_cas atomic_load atomic_store ");
  EXPECT_EQ(names(4, [](int i) { return name_of(static_cast<MemoryOrder>(i)); }),
            "relaxed acquire release acq_rel ");
  EXPECT_EQ(
      names(kSubgroupOpCount, [](int i) { return name_of(static_cast<SubgroupOp>(i)); }),
      "subgroup_ballot subgroup_shuffle subgroup_shuffle_xor subgroup_shuffle_up "
      "subgroup_shuffle_down "
      "subgroup_broadcast subgroup_add subgroup_mul subgroup_min subgroup_max subgroup_and "
      "subgroup_or "
      "subgroup_xor subgroup_exclusive_add subgroup_inclusive_add subgroup_any subgroup_all ");
  EXPECT_EQ(names(kBuiltinCount, [](int i) { return name_of(static_cast<Builtin>(i)); }),
            "gid lid wid num_workgroups workgroup_size subgroup_lane subgroup_id subgroup_size "
            "fixpoint_passes "
            "fixpoint_converged ");
  EXPECT_EQ(names(3, [](int i) { return name_of(static_cast<Scope>(i)); }),
            "subgroup workgroup grid ");
  EXPECT_EQ(names(4, [](int i) { return name_of(static_cast<CollectiveOp>(i)); }),
            "all_reduce broadcast all_gather reduce_scatter ");
  EXPECT_EQ(names(6, [](int i) { return name_of(static_cast<ReduceOp>(i)); }),
            "add min max and or xor ");
  EXPECT_EQ(names(kBufferKindCount, [](int i) { return name_of(static_cast<BufferKind>(i)); }),
            "in uniform inout out writeonly shared persistent scratch ");
  EXPECT_EQ(names(4, [](int i) { return name_of(static_cast<Locality>(i)); }),
            " streaming temporal random ");
}

TEST(Binary, EveryTruncationIsAnError) {
  const Bytes bytes = encode(parsed(kEverything));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto code = code_of(cut);
    ASSERT_TRUE(code.has_value()) << size;
    EXPECT_EQ(*code, size < binary::kMagic.size() ? Code::NotAProgramFile : Code::MalformedBytes)
        << size;
  }
}

// With the total length and the section lengths mended, so that the reader gets to the cut.
TEST(Binary, EveryCutInsideASectionIsAnError) {
  const Bytes bytes = encode(parsed(kEverything));
  for (size_t size = binary::kHeaderBytes; size < bytes.size(); ++size) {
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    for (size_t i = 0; i < 4; ++i) cut[12 + i] = static_cast<std::byte>(size >> (8 * i));
    ASSERT_EQ(code_of(cut), Code::MalformedBytes) << size;
  }
}

// Another program perhaps, but then exactly the bytes of that program.
TEST(Binary, EveryBitFlipIsAnErrorOrCanonical) {
  const Bytes bytes = encode(parsed(kEverything));
  size_t accepted = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const Result<Program> result = decode(flipped);
    if (!result) continue;
    ++accepted;
    ASSERT_EQ(encode(*result), flipped) << "bit " << bit;
  }
  EXPECT_GT(accepted, 0u);
}

TEST(Binary, RejectsOtherFilesAndVersions) {
  EXPECT_EQ(code_of({}), Code::NotAProgramFile);
  EXPECT_EQ(code_of(bytes_of({'p', 'r', 'o', 'g', 'r', 'a', 'm', ' ', 'x'})),
            Code::NotAProgramFile);
  EXPECT_FALSE(is_encoded(bytes_of({'p', 'r', 'o', 'g', 'r', 'a', 'm', ' '})));
  EXPECT_FALSE(is_encoded({}));
  Bytes newer = encode(nested(1));
  newer[8] = std::byte{kBinaryVersion + 1};
  EXPECT_EQ(code_of(newer), Code::NotAProgramFile);
  EXPECT_NE(decode(newer).error().message.find(fmt::format("version {}", kBinaryVersion + 1)),
            std::string::npos);
  newer[8] = std::byte{0};
  EXPECT_EQ(code_of(newer), Code::NotAProgramFile);
  Bytes longer = encode(nested(1));
  longer.push_back(std::byte{0});
  EXPECT_EQ(code_of(longer), Code::MalformedBytes);
}

// One program, one sequence of bytes: a version above the lowest that does is refused.
TEST(Binary, RejectsAVersionThatTheProgramDoesNotNeed) {
  Bytes bytes = encode(nested(1));
  ASSERT_EQ(bytes[8], std::byte{1});
  bytes[8] = std::byte{2};
  EXPECT_EQ(code_of(bytes), Code::MalformedBytes);
  EXPECT_NE(decode(bytes).error().message.find("is written with version 1"), std::string::npos);
}

// What came with version 2, and its numbers.
TEST(Binary, WritesReversedLoopsAndArraysWithValues) {
  const auto loop = [](bool reversed) {
    return encode(with_body([&](Program& p) {
      For s;
      s.first = p.add(Expr{IntLiteral{0, false, {}}});
      s.last = p.add(Expr{IntLiteral{4, false, {}}});
      s.reversed = reversed;
      s.variable = p.add(Local{"i", Local::Kind::For, {}, {}});
      return std::vector{p.add(Stmt{s})};
    }));
  };
  EXPECT_EQ(loop(false)[8], std::byte{1});
  EXPECT_EQ(loop(true)[8], std::byte{2});
  EXPECT_EQ(code_of(loop(true)), std::nullopt);
  const auto array = [](bool with_values) {
    return encode(with_body([&](Program& p) {
      Local a{"a", Local::Kind::Array, Type::U32, p.add(Expr{IntLiteral{3, false, {}}})};
      if (with_values) a.values = p.add_values(std::array{p.add(Expr{IntLiteral{7, false, {}}})});
      return std::vector{p.add(Stmt{DeclareArray{p.add(std::move(a))}})};
    }));
  };
  EXPECT_EQ(array(false)[8], std::byte{1});
  EXPECT_EQ(array(true)[8], std::byte{2});
  EXPECT_EQ(code_of(array(true)), std::nullopt);
  EXPECT_NE(array(true), array(false));
  EXPECT_EQ(encode(*decode(array(true))), array(true));
  EXPECT_EQ(encode(*decode(loop(true))), loop(true));
}

TEST(Binary, FunctionsOfTheSecondEditionNeedItsVersion) {
  for (int i = 0; i < kIntrinsicCount; ++i) {
    const auto op = static_cast<Intrinsic>(i);
    if (op < Intrinsic::Rsqrt) continue;
    const Program program =
        parsed(fmt::format("program p {{ workgroup 1; inout a : f64[]; a[0] = {}(a[1]{}); }}",
                           name_of(op), arity_of(op) == 2 ? ", a[2]" : ""));
    const Bytes bytes = encode(program);
    EXPECT_EQ(bytes[8], std::byte{is_second_edition(op) ? uint8_t{2} : uint8_t{1}}) << name_of(op);
    const auto back = decode(bytes);
    ASSERT_TRUE(back.has_value()) << name_of(op);
    EXPECT_EQ(*back, program) << name_of(op);
  }
}

// Names of later built-in functions were free, and programs that have them keep their bytes.
TEST(Binary, NamesOfTheSecondEditionStayFree) {
  const Program program = parsed(
      "program erf { workgroup 1; inout hypot : f32[]; const exp10 : f32 = 2.0;"
      " fn cbrt(atan2 : f32) -> f32 { return atan2 * exp10; }"
      " let log1p = cbrt(hypot[0]); hypot[1] = log1p; }");
  const Bytes bytes = encode(program);
  EXPECT_EQ(bytes[8], std::byte{1});
  const auto back = decode(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, program);
}

TEST(Binary, RejectsNumbersThatAreNotInShortestForm) {
  // workgroup 1: the section starts with the number of axes, then the literal: code, flags,
  // magnitude.
  Bytes bytes = encode(nested(1));
  const Bytes literal = bytes_of({1, 1, 0, 1});
  auto at = std::search(bytes.begin(), bytes.end(), literal.begin(), literal.end());
  ASSERT_NE(at, bytes.end());
  const auto section_length = at - 4;
  *(at + 3) = std::byte{0x81};
  bytes.insert(at + 4, std::byte{0});
  const auto length = bytes.begin() + (section_length - bytes.begin());
  *length = static_cast<std::byte>(static_cast<int>(*length) + 1);
  bytes[12] = static_cast<std::byte>(static_cast<int>(bytes[12]) + 1);
  EXPECT_EQ(code_of(bytes), Code::MalformedBytes);
  EXPECT_NE(decode(bytes).error().message.find("shortest form"), std::string::npos);
}

TEST(Binary, HoldsTheLimits) {
  EXPECT_EQ(code_of(encode(nested(kMaxNesting))), std::nullopt);
  EXPECT_EQ(code_of(encode(nested(kMaxNesting + 1))), Code::NestingTooDeep);
  EXPECT_EQ(code_of(encode(deep(kMaxExprDepth))), std::nullopt);
  EXPECT_EQ(code_of(encode(deep(kMaxExprDepth + 1))), Code::ExpressionTooDeep);
  Program named = nested(1);
  named.name = std::string(kMaxNameBytes, 'n');
  EXPECT_EQ(code_of(encode(named)), std::nullopt);
  named.name += 'n';
  EXPECT_EQ(code_of(encode(named)), Code::NameTooLong);
  const auto many = [](uint32_t count) {
    return with_body([&](Program& p) {
      std::vector<StmtId> items;
      for (uint32_t i = 0; i < count; ++i) items.push_back(p.add(Stmt{Break{}}));
      return items;
    });
  };
  EXPECT_EQ(code_of(encode(many(kMaxStatements - 1))), std::nullopt);  // and the region around them
  EXPECT_EQ(code_of(encode(many(kMaxStatements))), Code::TooManyStatements);
}

TEST(Binary, EncodesProgramsOfAnyDepth) {
  EXPECT_EQ(code_of(encode(deep(300'000))), Code::ExpressionTooDeep);
  EXPECT_EQ(code_of(encode(nested(50'000))), Code::NestingTooDeep);
}

TEST(Binary, RejectsWhatNoProgramHas) {
  const auto returns = [](auto make) {
    return encode(with_body(
        [&](Program& p) { return std::vector{p.add(Stmt{Return{p.add(Expr{make(p)})}})}; }));
  };
  EXPECT_EQ(code_of(returns([](Program&) { return IntLiteral{1, false, Type::U8}; })),
            Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return IntLiteral{1, false, Type::Bool}; })),
            Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return IntLiteral{1, false, Type::F32}; })),
            std::nullopt);
  EXPECT_EQ(code_of(returns([](Program&) { return FloatLiteral{"5", 0, false, Type::U32}; })),
            Code::MalformedBytes);
  for (const char* digits : {"05", "50", "5x", "0"})
    EXPECT_EQ(code_of(returns([&](Program&) { return FloatLiteral{digits, 0, false, {}}; })),
              Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return FloatLiteral{"", 1, false, {}}; })),
            Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return FloatLiteral{"", 0, true, {}}; })), std::nullopt);
  EXPECT_EQ(code_of(returns([](Program&) { return BuiltinRef{Builtin::Gid, 3}; })),
            Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return ConstRef{ConstId{0}}; })), Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program&) { return Len{Memory::of(BufferId{0})}; })),
            Code::MalformedBytes);
  EXPECT_EQ(code_of(returns([](Program& p) {
              const ExprId index = p.add(Expr{BoolLiteral{}});
              p.add(Buffer{});
              p.buffers[0].name = "b";
              return UniformLoad{Scope::Subgroup, Memory::of(BufferId{0}), index};
            })),
            Code::MalformedBytes);
}

TEST(Binary, KeepsTablesAndValuesApart) {
  const auto with_const = [](bool table, bool as_table) {
    Program p = with_body([&](Program& q) {
      const ExprId one = q.add(Expr{IntLiteral{1, false, {}}});
      q.add(Const{"c", Type::U32, table, q.add_values(std::array{one})});
      const ExprId index = q.add(Expr{IntLiteral{0, false, {}}});
      const ExprId value = as_table ? q.add(Expr{Load{Memory::of(ConstId{0}), index}})
                                    : q.add(Expr{ConstRef{ConstId{0}}});
      return std::vector{q.add(Stmt{Return{value}})};
    });
    return code_of(encode(p));
  };
  EXPECT_EQ(with_const(true, true), std::nullopt);
  EXPECT_EQ(with_const(false, false), std::nullopt);
  EXPECT_EQ(with_const(true, false), Code::MalformedBytes);
  EXPECT_EQ(with_const(false, true), Code::MalformedBytes);
}

TEST(Binary, KeepsLocalsInTheirScope) {
  // { let x = true; } return x;
  const Program outside = with_body([](Program& p) {
    const LocalId x = p.add(Local{"x", Local::Kind::Let, {}, {}});
    const StmtId let = p.add(Stmt{Let{x, p.add(Expr{BoolLiteral{true}})}});
    const StmtId block = p.add(Stmt{Nested{p.add_block(std::array{let})}});
    return std::vector{block, p.add(Stmt{Return{p.add(Expr{LocalRef{x}})}})};
  });
  EXPECT_EQ(code_of(encode(outside)), Code::MalformedBytes);
  // let x = x;
  const Program itself = with_body([](Program& p) {
    const LocalId x = p.add(Local{"x", Local::Kind::Let, {}, {}});
    return std::vector{p.add(Stmt{Let{x, p.add(Expr{LocalRef{x}})}})};
  });
  EXPECT_EQ(code_of(encode(itself)), Code::MalformedBytes);
  // var x : u32[1]; return x;
  const Program array = with_body([](Program& p) {
    const LocalId x =
        p.add(Local{"x", Local::Kind::Array, Type::U32, p.add(Expr{IntLiteral{1, false, {}}})});
    return std::vector{p.add(Stmt{DeclareArray{x}}), p.add(Stmt{Return{p.add(Expr{LocalRef{x}})}})};
  });
  EXPECT_EQ(code_of(encode(array)), Code::MalformedBytes);
}

TEST(Binary, RejectsBadNamesStringsAndTopLevels) {
  Program p = nested(1);
  p.name = "9lives";
  EXPECT_EQ(code_of(encode(p)), Code::InvalidName);
  p.name = "while";
  EXPECT_EQ(code_of(encode(p)), Code::ReservedName);
  p = nested(1);
  p.add(Require{p.add(Expr{BoolLiteral{true}}), "fine \xc3\xa9\n\t", 0});
  EXPECT_EQ(code_of(encode(p)), std::nullopt);
  p.require_list[0].message = "bad \xc3";
  EXPECT_EQ(code_of(encode(p)), Code::MalformedBytes);
  p.require_list[0].message = "bell \a";
  EXPECT_EQ(code_of(encode(p)), Code::MalformedBytes);
  p = nested(1);
  p.body = p.add_block(std::array{p.add(Stmt{Return{}})});
  EXPECT_EQ(code_of(encode(p)), Code::RegionRule);
}

TEST(Binary, RejectsRequirementsOutOfOrder) {
  Program p = nested(1);
  p.add(Buffer{});
  p.buffers[0].name = "b";
  p.add(Require{p.add(Expr{BoolLiteral{true}}), "x", 1});
  p.add(Require{p.add(Expr{BoolLiteral{true}}), "y", 1});
  EXPECT_EQ(code_of(encode(p)), std::nullopt);
  p.require_list[1].buffers_before = 0;
  EXPECT_EQ(code_of(encode(p)), Code::MalformedBytes);
  p.require_list[1].buffers_before = 2;
  EXPECT_EQ(code_of(encode(p)), Code::MalformedBytes);
}

}  // namespace
}  // namespace vyre::ir
