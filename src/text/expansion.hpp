// SPDX-License-Identifier: Apache-2.0
// What the parser knows of a text beyond what the IR holds: files, functions with static
// parameters, structs, values known while the text is expanded. All of it is gone from the program
// that the parser gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/scalar.hpp"
#include "text/lexer.hpp"
#include "text/scope.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::text {

// Uses inside uses; `f<N - 1>` under `if const` counts one each.
inline constexpr uint32_t kMaxExpansionDepth = 64;
inline constexpr size_t kMaxInstances = 1000;
inline constexpr size_t kMaxFields = 16;
// Tokens read again for instances and dropped branches: a bound on time.
inline constexpr size_t kMaxExpandedTokens = size_t{4} << 20;
// Parameters and arguments that hoisted memory adds.
inline constexpr size_t kMaxHidden = size_t{1} << 18;
inline constexpr uint32_t kNoIndex = UINT32_MAX;

// A file: the main one (0), a used one, or a built-in module.
struct Unit {
  std::string name;  // of its module; "" for the main file
  std::string path;  // relative to the folder of the main file
  std::string file;  // as diagnostics call it
  std::string text;  // empty for the main file
  std::string_view source;
  uint32_t file_index = 0;  // into Positions::files
  bool loading = false;
  bool broken = false;
  Token use;  // where it is used first, and in which unit that stands
  uint32_t used_by = 0;
  std::unordered_map<std::string_view, uint32_t> modules;  // names of its `use` lines -> units
};

// A type as written: `f32`, `T`, `S`, `m.S`.
struct TypeName {
  Token module;  // End if there is none
  Token name;
};

struct StructType {
  Token name;
  std::string full_name;  // with the module
  std::string file;
  std::vector<std::pair<std::string_view, ir::Type>> fields;
};

enum class TypeClass : uint8_t { Any, Number, Integer, Float };

struct StaticParam {
  Token name;
  bool is_type = true;
  TypeClass type_class = TypeClass::Any;
  ir::Type const_type = ir::Type::U32;
  Token fallback;  // first token of the default; End if there is none
};

struct ParamHead {
  enum class Form : uint8_t { Value, Buffer, Fn };
  Form form = Form::Value;
  Token name;
  TypeName type;                    // Value, Buffer
  uint8_t rank = 1;                 // Buffer: number of axes
  std::vector<TypeName> fn_params;  // Fn
  std::optional<TypeName> fn_result;
};

// A function as declared. Plain ones stand in the main file, have neither static nor function
// parameters and are in the program as they are; the others become instances.
struct FnDecl {
  Token name;
  uint32_t unit = 0;
  uint32_t plain = kNoIndex;  // FnId of a plain one
  bool head_read = false;
  bool broken = false;
  bool used = false;
  std::vector<StaticParam> statics;
  std::vector<ParamHead> params;
  std::optional<TypeName> result;
  Token body;  // its `{`
};

struct StaticValue {
  ir::Type type = ir::Type::U32;
  ir::Bits bits = 0;
  friend bool operator==(const StaticValue&, const StaticValue&) = default;
};

// A scalar type or a struct.
struct DeclaredType {
  ir::Type scalar = ir::Type::U32;
  uint32_t record = kNoIndex;  // into structs_
  [[nodiscard]] bool is_struct() const { return record != kNoIndex; }
  friend bool operator==(const DeclaredType&, const DeclaredType&) = default;
};

// What a lambda reads from around it, as the function that uses the lambda passes it on.
struct Capture {
  std::string name;
  bool buffer = false;
  ir::Type type = ir::Type::U32;
  ir::Memory memory;  // of a buffer
  ir::LocalId local;  // of a value
};

// What is passed for a function parameter.
struct FnTarget {
  enum class Op : uint8_t { None, Add, Mul, Min, Max, And, Or, Xor };
  Op op = Op::None;
  ir::FnId fn;
  std::string label;  // in names of instances
  std::vector<Capture> captures;
};

// A static parameter with its argument.
struct Bound {
  bool is_type = true;
  ir::Type type = ir::Type::U32;
  StaticValue value;
};

// An instance to be read: its body is parsed when the rest of the text has been.
struct Instance {
  uint32_t decl = 0;
  ir::FnId fn;
  std::vector<Bound> statics;
  std::vector<FnTarget> targets;
  std::string key;
  ir::LocId use;
  uint32_t depth = 0;
};

// A struct as an expression: a value per field.
struct Record {
  uint32_t type = 0;
  std::vector<ir::ExprId> fields;
  Token where;
  uint32_t unit = 0;
  ir::LocId use;
  bool taken = false;
};

// A struct or an array of structs that the text declares: a local per field.
struct RecordLocal {
  uint32_t type = 0;
  std::vector<ir::LocalId> fields;
};

// A call that is expanded where it stands, because its function gives a struct or gets a private
// array: `return` assigns to these.
struct InPlace {
  std::optional<DeclaredType> type;
  std::vector<ir::LocalId> result;
  std::string suffix;  // of the names of its locals
};

// An argument before it is matched with its parameter.
struct RawArg {
  enum class Form : uint8_t { Value, Memory, Record, Target, Lambda };
  Form form = Form::Value;
  ir::ExprId value;
  ir::Memory memory;
  uint32_t record = kNoIndex;
  FnTarget target;
  Token where;
};

// Memory declared in a function.
struct Hoisted {
  ir::BufferId buffer;
  ir::LocalId param;
};

}  // namespace vyre::text
