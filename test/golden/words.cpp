// SPDX-License-Identifier: Apache-2.0
#include "golden/words.hpp"

#include <algorithm>

#include "vyre/ir/ops.hpp"
#include "vyre/ir/program.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::golden {
namespace {

template <class Enum>
void add_names(std::vector<std::string>& words, int count) {
  for (int i = 0; i < count; ++i) words.emplace_back(name_of(static_cast<Enum>(i)));
}

void sort_out_doubles(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

}  // namespace

std::vector<std::string> reserved_words() {
  // The keywords have no table that can be walked; ReservedWords in grammar_test.cpp holds each of
  // these against ir::is_reserved.
  std::vector<std::string> words = {
      "program", "workgroup", "over",      "const",         "require", "fn",       "buffer",
      "let",     "var",       "if",        "else",          "for",     "step",     "while",
      "break",   "continue",  "return",    "region",        "barrier", "fixpoint", "async",
      "copy",    "wait",      "trap",      "resume",        "as",      "true",     "false",
      "len",     "bitcast",   "grid_load", "workgroup_load"};
  add_names<ir::Type>(words, ir::kTypeCount);
  add_names<ir::BufferKind>(words, ir::kBufferKindCount);
  std::erase(words, "scratch");  // a word only where it begins a declaration
  add_names<ir::Builtin>(words, ir::kBuiltinCount);
  for (int i = 0; i < ir::kIntrinsicCount; ++i)
    if (const auto op = static_cast<ir::Intrinsic>(i); !is_second_edition(op))
      words.emplace_back(name_of(op));
  add_names<ir::AtomicOp>(words, ir::kAtomicCount);
  add_names<ir::SubgroupOp>(words, ir::kSubgroupOpCount);
  add_names<ir::CollectiveOp>(words, 4);
  add_names<ir::Scope>(words, 3);
  sort_out_doubles(words);
  return words;
}

std::vector<std::string> words_in_place() {
  std::vector<std::string> words = {"binding",  "align",  "count", "range", "live_out", "locality",
                                    "coalesce", "unroll", "swap",  "print", "assert",   "scratch"};
  for (const ir::Locality hint :
       {ir::Locality::Streaming, ir::Locality::Temporal, ir::Locality::Random})
    words.emplace_back(ir::name_of(hint));
  add_names<ir::MemoryOrder>(words, 4);
  add_names<ir::ReduceOp>(words, 6);
  for (int i = 0; i < ir::kIntrinsicCount; ++i)
    if (const auto op = static_cast<ir::Intrinsic>(i); is_second_edition(op))
      words.emplace_back(name_of(op));
  sort_out_doubles(words);
  return words;
}

std::vector<std::string> words_of_the_language() {
  std::vector<std::string> words = reserved_words();
  const std::vector<std::string> in_place = words_in_place();
  words.insert(words.end(), in_place.begin(), in_place.end());
  sort_out_doubles(words);
  return words;
}

}  // namespace vyre::golden
