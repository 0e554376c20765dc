// SPDX-License-Identifier: Apache-2.0
// Reads the binary form into a Program; binary_format.hpp has the numbers.
//
// Every failure sticks in the reader. A node made after one may hold invalid ids; it is never
// looked at, because the program is given away only when all went well. Recursion is bounded by the
// limits of the language.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/binary_format.hpp"
#include "ir/binary_reader.hpp"
#include "vyre/base/result.hpp"
#include "vyre/ir/program.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::ir::binary {

// ---- what is read without the program so far

uint32_t at_least_one(Reader& in, std::string_view what);
std::string name_in(Reader& in, std::string_view what);
inline Type type_in(Reader& in, std::string_view what = "a type") {
  return in.tag<Type>(kTypeCount, what);
}
std::optional<Type> optional_type_in(Reader& in);
Expr int_literal_in(Reader& in);
Expr float_literal_in(Reader& in);
// The operator of `v op= e`, or none.
std::optional<BinaryOp> assign_op_in(Reader& in);
inline uint16_t trap_tag_in(Reader& in) {
  return static_cast<uint16_t>(in.varint(kMaxTag, "a tag"));
}

inline bool is_memory(Local::Kind kind) {
  return kind == Local::Kind::Array || kind == Local::Kind::BufferParam;
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  Result<Program> run();

 private:
  // ---- frame ----

  void start();
  // Called where something is read that the versions before do not have.
  void needs(uint32_t version) { needed_ = std::max(needed_, version); }

  template <class Read>
  void in_section(Section id, Read&& read) {
    in_.enter(static_cast<uint8_t>(id));
    if (!in_.ok()) return;
    read();
    in_.leave();
  }

  // Called once for everything that takes memory.
  void take_node();

  // A count of things that each call take_node().
  uint32_t node_count(std::string_view what);

  // ---- declarations ----

  void declarations();
  void header();
  std::array<ExprId, 3> axes(uint8_t least, std::string_view what);
  std::vector<ExprId> exprs(uint32_t count);
  void buffer_parts(Buffer& b, bool has_more);
  BufferKind buffer_kind();
  Range shape();
  void functions();
  LocalId param();
  void body();

  // ---- references ----

  LocalId declare(Local local);
  LocalId local();

  uint32_t index(size_t size, std::string_view what);
  Memory memory();

  // What len() and calls take: no table and no array.
  Memory whole_buffer();

  // ---- expressions ----

  ExprId expr();
  Expr expr_node();

  Expr local_ref(size_t start);
  Expr const_ref(size_t start);
  Expr atomic();
  Expr uniform_load();
  Expr call();
  Expr axis_index();

  // ---- statements ----

  // `depth` is the number of blocks around the statements of this one.
  Block block(uint32_t depth);
  Stmt stmt_node(uint32_t depth);
  Stmt let(Local::Kind kind);
  // By its code: a count or axes, with or without values.
  Stmt declare_array(uint8_t code);
  Stmt store();
  Stmt eval();
  Stmt for_loop(uint32_t depth);
  Stmt fixpoint(uint32_t depth);
  Stmt async_copy();
  Stmt collective();

  struct Declared {
    LocalId id;
    bool visible;
  };

  std::span<const std::byte> bytes_;
  Reader in_;
  Program p_;
  uint32_t version_ = kFirstVersion;  // as the bytes say
  uint32_t needed_ = kFirstVersion;   // by what was read
  std::vector<Declared> locals_;      // of the function or main body at hand, by number
  std::vector<bool> more_parts_;      // by BufferId: a second byte of parts follows the first
  uint32_t expr_depth_ = 0;
  size_t nodes_ = 0;
  uint32_t statements_ = 0;
};

}  // namespace vyre::ir::binary
