// SPDX-License-Identifier: Apache-2.0
#include "plan/stores.hpp"

#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "vyre/check/launch.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {

namespace {

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  generator::Generated run() {
    generator::Generated g;
    size_[0] = 1 + below(40);
    size_[1] = flat_ ? 1 : 1 + below(6);
    size_[2] = below(12);
    size_[3] = below(2);
    std::string body;
    const uint32_t count = 1 + below(5);
    for (uint32_t i = 0; i < count; ++i) body += statement();
    const std::string text = fmt::format(
        "program stores {{\n"
        "  workgroup {};\n"
        "  over {};\n"
        "  in      x    : u32[];\n"
        "  uniform size : u32[4];\n"  // at a place whose contents the driver knows
        "  inout   seen : u32[];\n"
        "  out     y    : {}[] @count({});\n"
        "  fn put(b : buffer {}[], i : u32, n : u32) {{ if i >= n {{ return; }} b[i] = i * 3 + 1; "
        "}}\n"
        "{}{}}}\n",
        flat_ ? "4" : "4, 2", flat_ ? pick({"size[0]", "len(x)", "12"}) : "size[0], size[1]",
        element_, flat_ ? "size[0]" : "size[0] * size[1]", element_, lazy_functions(), body);
    text::Parsed parsed = text::parse(text, "stores.vyre");
    if (parsed.diagnostics.has_errors())
      throw std::logic_error(text + render_text(parsed.diagnostics, {}));
    g.program = std::move(parsed.program);
    g.inputs = {words(30, true), words(4, false), words(16, false)};
    std::memcpy(g.inputs[1].data(), size_, sizeof size_);
    const auto checked = check::check_valid(g.program);
    if (!checked) throw std::logic_error(text + to_string(checked.error()));
    const std::vector<std::span<const std::byte>> inputs(g.inputs.begin(), g.inputs.end());
    g.grid = check::resolve_launch(*checked, {.inputs = inputs})->grid;
    if (below(6) == 0) g.grid[0] = below(6);
    if (below(8) == 0) g.grid[1] = 1 + below(3);
    return g;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string pick(std::initializer_list<std::string> list) {
    return *(list.begin() + below(static_cast<uint32_t>(list.size())));
  }

  std::vector<std::byte> words(size_t count, bool random) {
    std::vector<uint32_t> all(count);
    if (random)
      for (uint32_t& word : all) word = below(8);
    std::vector<std::byte> bytes(4 * count);
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return bytes;
  }

  std::string number() { return std::to_string(below(14)); }

  std::string index() {
    if (!flat_ && below(4) != 0)
      return pick({"gid.y * size[0] + gid.x", "gid.x * size[1] + gid.y", "gid.x + size[0] * gid.y",
                   "gid.y * 40 + gid.x", "(gid.y * num_workgroups.x + wid.x) * 4 + lid.x"});
    switch (below(9)) {
      case 0: return "wid.x * 4 + lid.x";
      case 1: return "len(y) - 1 - gid.x";
      case 2: return "gid.x + " + number();
      case 3: return "gid.x - " + number();
      case 4: return pick({"lid.x", "wid.x", "gid.x * 2", "gid.x / 2", "x[gid.x]", "gid.y"});
      case 5: return number();
      default: return "gid.x";
    }
  }

  std::string condition() {
    switch (below(12)) {
      case 0: return "gid.x < size[0] && gid.y < size[1]";
      case 1: return "gid.x < " + number();
      case 2: return "gid.x - " + number() + " < len(y)";
      case 3: return "lid.x == " + std::to_string(below(5));
      case 4: return "wid.x >= " + std::to_string(below(3));
      case 5: return "x[gid.x] < " + number();
      case 6: return "size[" + std::to_string(below(5)) + "] > " + number();
      case 7: return "(gid.x as i32) - 3 < " + number();
      case 8: return pick({"!(gid.x >= len(y))", "gid.x < len(x) || gid.y == 0", "true"});
      default: return "gid.x < len(y)";
    }
  }

  // With an index that is computed once.
  std::string store(const std::string& at) {
    if (below(6) == 0) return fmt::format("put(y, {}, {});", at, pick({"len(y)", "size[2]"}));
    const std::string name = fmt::format("at{}", names_++);
    return fmt::format("let {0} = {1}; y[{0}] = {0} * 3 + 1;", name, at);
  }

  // What the right operands of && and || call. `some` may leave before its store, `never` has a
  // loop around it that need not run, and `twice` calls in operands of its own.
  [[nodiscard]] std::string lazy_functions() const {
    const std::string parameters = fmt::format("(b : buffer {}[], i : u32, n : u32)", element_);
    return fmt::format(
        "  fn all{0} -> bool {{ b[i] = i * 3 + 1; return i < n; }}\n"
        "  fn some{0} -> bool {{ if i >= n {{ return true; }} b[i] = i * 3 + 1; return false; }}\n"
        "  fn loop{0} -> bool {{ for k in 0 .. n {{ b[i] = i * 3 + 1; }} return i == 0; }}\n"
        "  fn until{0} -> bool {{ var k = 0; while k < n {{ b[i] = i * 3 + 1; k += 1; }} "
        "return k == 0; }}\n"
        "  fn twice{0} -> bool {{ return i < n && (all(b, i, n) || some(b, i, n)); }}\n",
        parameters);
  }

  // Calls that store, at places where they may not be evaluated.
  std::string lazy(const std::string& at, uint32_t depth) {
    const auto part = [&] {
      if (depth != 0 && below(3) == 0) return "(" + lazy(at, depth - 1) + ")";
      return "(" + condition() + ")";
    };
    const std::string call =
        fmt::format("{}(y, {}, {})", pick({"all", "all", "some", "loop", "until", "twice"}), at,
                    pick({"len(y)", "size[2]", "size[3]", "0", number()}));
    const std::string op = pick({"&&", "||"});
    switch (below(6)) {
      case 0: return fmt::format("{} {} {}", call, op, part());  // evaluated, and perhaps the rest
      case 1: return fmt::format("{} {} !{}", part(), op, call);
      case 2: return fmt::format("{} {} ({} {} {})", part(), op, part(), pick({"&&", "||"}), call);
      case 3: return fmt::format("select({} {} {}, {}, false)", part(), op, call, condition());
      default: return fmt::format("{} {} {}", part(), op, call);
    }
  }

  std::string lazy_statement() {
    const std::string at = fmt::format("at{}", names_++);
    const std::string let = fmt::format("let {} = {}; ", at, index());
    const std::string value = lazy(at, 2);
    const std::string name = fmt::format("c{}", names_++);
    switch (below(6)) {
      case 0: return fmt::format("{}if {} {{ }}", let, value);
      case 1: return fmt::format("{}if {} {{ {} }}", let, value, store(index()));
      case 2: return fmt::format("{}if {} {{ }} else {{ {} }}", let, value, store(index()));
      case 3: return fmt::format("{}while {} {{ break; }}", let, value);
      case 4:
        return fmt::format("{0}for k{1} in 0 .. select({2}, size[3], 0) {{ {3} }}", let, names_++,
                           value, store(at));
      default: return fmt::format("{}let {} = {};", let, name, value);
    }
  }

  // A loop that need not run.
  std::string maybe_loop() {
    const std::string k = fmt::format("k{}", names_++);
    const std::string end = pick({"size[3]", "size[2]", "x[0]", "0", number()});
    const std::string body = below(3) == 0 ? lazy_statement() : store(index());
    if (below(2) == 0) return fmt::format("for {} in {} .. {} {{ {} }}", k, number(), end, body);
    return fmt::format("var {0} = 0; while {0} < {1} {{ {2} {0} += 1; }}", k, end, body);
  }

  std::string guarded(const std::string& body) {
    switch (below(4)) {
      case 0: return body;
      case 1: return fmt::format("if {} {{ {} }}", condition(), body);
      case 2: return fmt::format("if {} {{ }} else {{ {} }}", condition(), body);
      default: {
        const std::string name = fmt::format("c{}", names_++);
        return fmt::format("let {0} = {1}; if {0} {{ {2} }}", name, condition(), body);
      }
    }
  }

  std::string loop() {
    const std::string k = fmt::format("k{}", names_++);
    const std::string lanes = "num_workgroups.x * 4";
    const std::string out = below(4) == 0 ? fmt::format("if x[{}] == 5 {{ {} }}", k,
                                                        pick({"break;", "continue;", "return;"}))
                                          : "";
    std::string head;
    std::string body;
    if (below(2) == 0) {
      head = fmt::format("for {} in gid.x .. {} step {}", k, pick({"len(y)", "size[0]", number()}),
                         pick({"4", "8", "12"}));
      body = store(k);
    } else {
      head = fmt::format("for {} in {} .. {}", k, pick({"0", "0", "1"}), 1 + below(6) * below(3));
      body = store(below(2) == 0 ? fmt::format("{} * {} + gid.x", k, lanes)
                                 : fmt::format("gid.x * 3 + {}", k));
    }
    return fmt::format("{} {{ {} }}", head,
                       below(2) == 0 ? out + guarded(body) : guarded(body) + out);
  }

  std::string statement() {
    std::string text;
    switch (below(16)) {
      case 0: text = "barrier grid;"; break;
      case 1: text = fmt::format("if {} {{ return; }}", condition()); break;
      case 2:
        text = fmt::format("barrier grid; atomic_add(seen[{}], y[{}]); barrier grid;", number(),
                           pick({"gid.x", "gid.x * 5 % 7", "len(y) - 1"}));
        break;
      case 3: text = guarded(fmt::format("if {} {{ return; }}", condition())); break;
      case 4:
      case 5: text = loop(); break;
      case 6:
        text = fmt::format("fixpoint max {} over (y) {{ {} }}", pick({"2", "size[2] + 1"}),
                           guarded(store(index())));
        break;
      case 7: text = fmt::format("for k{} in 0 .. size[3] {{ barrier grid; }}", names_++); break;
      case 8:
      case 9: text = lazy_statement(); break;
      case 10: text = maybe_loop(); break;
      case 11: text = guarded(lazy_statement()); break;
      default: text = guarded(store(index())); break;
    }
    return "  " + text + "\n";
  }

  std::mt19937_64 random_;
  bool flat_ = below(3) != 0;
  std::string element_ = pick({"u32", "u32", "u8", "u16"});
  uint32_t size_[4] = {};
  uint32_t names_ = 0;
};

}  // namespace

generator::Generated random_stores(uint64_t seed) {
  return Writer(seed).run();
}

}  // namespace vyre::plan_test
