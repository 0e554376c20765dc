// SPDX-License-Identifier: Apache-2.0
// Accesses far outside of memory, which must not cost the device, and memory that runs out.
#include <algorithm>
#include <array>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

struct Access {
  const char* name;
  const char* declarations;  // beside `m`, of 10 words that are all 7
  const char* body;          // with the index `k`, which is outside; o[gid.x] becomes 0
};
constexpr std::array kAccesses = {
    Access{"load", "", "o[gid.x] = m[k];"},
    Access{"store", "", "m[k] = 1;"},
    Access{"change", "", "m[k] += 1;\n  o[gid.x] = m[k];"},
    Access{"rows", "", "o[gid.x] = m[k + (gid.x as $I)];"},
    Access{"stores of rows", "", "m[k + (gid.x as $I)] = gid.x;"},
    Access{"atomic_add", "", "o[gid.x] = atomic_add(m[k], 1);"},
    Access{"atomic_cas", "", "o[gid.x] = atomic_cas(m[k], 0, 1);"},
    Access{"atomic_store", "", "atomic_store(m[k], 1);"},
    Access{"bytes", "  in b : u8[];\n", "o[gid.x] = b[k];"},
    Access{"pairs", "  in w : u64[];\n", "o[gid.x] = w[k] as u32;"},
    Access{"shared", "  shared s : u32[10];\n", "s[k] = 9;\n  o[gid.x] = s[k] + s[lid.x % 10];"},
    Access{"shared atomics", "  shared s : u32[10];\n", "o[gid.x] = atomic_max(s[k], 9);"},
    Access{"arrays", "", "var p : u32[10];\n  p[k] = 9;\n  o[gid.x] = p[k] + p[gid.x % 10];"},
    Access{"tables", "  const Table : u32[] = { 1, 2, 3 };\n", "o[gid.x] = Table[k];"},
    Access{"workgroup_load", "", "let v = workgroup_load(m[k]);\n  o[gid.x] = v;"},
    Access{"loops", "", "for n in 0 .. 9 {\n    o[gid.x] += m[k + (n as $I)];\n  }"},
};
// With 63 lanes behind them none comes round to the start.
constexpr std::array<uint64_t, 9> kFar = {64,          65'536,      0x1000'0000,
                                          0x3FFF'FFF0, 0x4000'0000, 0x7FFF'FFC0,
                                          0x8000'0000, 0xFFFF'FF00, 0xC000'0000};
constexpr std::array<uint64_t, 6> kFarther = {0x1'0000'0000,         0x1'0000'0003,
                                              0x4000'0000'0000'0000, 0x8000'0000'0000'0000,
                                              0x3FFF'FFFF'FFFF'FFF0, 0xFFFF'FFFF'FFFF'FF00};

std::string text_of(const Access& access, bool wide) {
  std::string body = access.body;
  const std::string_view type = wide ? "u64" : "u32";
  for (size_t at; (at = body.find("$I")) != std::string::npos;) body.replace(at, 2, type);
  return fmt::format(
      "program far {{\n  workgroup 64;\n  over 256;\n  uniform at : {}[1];\n{}  inout m : u32[];\n"
      "  out o : u32[256];\n  let k = at[0];\n  {}\n}}\n",
      type, access.declarations, body);
}

uint32_t try_far(const Soak& soak, const Access& access, bool wide) {
  const Pipeline pipeline = compile(soak.device, text_of(access, wide));
  const std::array<uint64_t, 8> rest = {};  // of `b` and `w`
  const Words sevens(10, 7);
  const bool more = std::string_view(access.declarations).starts_with("  in ");
  uint32_t count = 0;
  const auto one = [&](uint64_t k) {
    const std::array<uint64_t, 1> wide_at = {k};
    const std::array<uint32_t, 1> at = {static_cast<uint32_t>(k)};
    std::vector<Argument> inputs = {wide ? Argument(wide_at) : Argument(at)};
    if (more) inputs.emplace_back(rest);
    inputs.emplace_back(sevens);
    for (const bool checked : {false, true}) {
      auto ran = pipeline.dispatch({.inputs = inputs}, {.checked = checked});
      const std::string what = fmt::format("{} at {:#x}", access.name, k);
      if (checked) {
        hold(!ran && ran.error().code == ErrorCode::OutOfBounds,
             what + ": " + (ran ? "nobody told" : to_string(ran.error())));
      } else {
        const DispatchResult result = must(std::move(ran), what);
        hold(to_vector<uint32_t>(result.outputs[0]) == sevens, what + ": memory has changed");
        hold(to_vector<uint32_t>(result.outputs[1]) == Words(256), what + ": it loads something");
      }
      ++count;
    }
  };
  std::ranges::for_each(kFar, one);
  if (wide) std::ranges::for_each(kFarther, one);
  return count;
}

// As many pieces as there are, of one size.
Error fill_up(const Device& device, uint64_t bytes, std::vector<Buffer>& pieces) {
  for (;;) {
    auto piece = device.allocate(bytes);
    if (!piece) return piece.error();
    pieces.push_back(std::move(*piece));
  }
}

void expect_no_room(const Error& error, uint64_t bytes) {
  hold(error.code == ErrorCode::DeviceOutOfMemory, to_string(error));
  hold(error.message.contains(fmt::format("{} bytes", bytes)),
       "it does not say what was requested: " + error.message);
  hold(error.message.contains("available"), "it does not say what there is: " + error.message);
}

}  // namespace

void check_bounds(Soak& soak) {
  uint32_t count = 0;
  for (const Access& access : kAccesses)
    for (const bool wide : {false, true}) {
      if (wide && !soak.device.info().capabilities.i64) continue;
      count += try_far(soak, access, wide);
    }
  soak.note = fmt::format("{} dispatches", count);
}

void check_memory(Soak& soak) {
  const Rounds program(soak.device, Form::Loop, Rounds::Extra::None);
  const auto grids = program.grids(soak);
  const Rounds::Run run{.grid = grids.back(), .rounds = 10};
  // More than any machine has, or a buffer may have.
  const auto refused = soak.device.allocate(uint64_t{1} << 42);
  hold(!refused.has_value(), "four tebibytes were there");
  hold(refused.error().code == ErrorCode::DeviceOutOfMemory ||
           refused.error().code == ErrorCode::LimitExceeded,
       to_string(refused.error()));
  must(program.run(run), "after a request for too much");
  if (soak.smoke) return;  // the memory of the machine itself would be next

  std::vector<Buffer> pieces;
  uint64_t total = 0;
  for (uint64_t bytes = uint64_t{8} << 30; bytes >= uint64_t{2} << 20; bytes /= 16) {
    const size_t before = pieces.size();
    expect_no_room(fill_up(soak.device, bytes, pieces), bytes);
    total += (pieces.size() - before) * bytes;
  }
  // There is hardly anything left: it works or it says why.
  const auto tight = program.run(run);
  hold(tight || tight.error().code == ErrorCode::DeviceOutOfMemory,
       tight ? "" : "with full memory: " + to_string(tight.error()));
  // Every byte of a piece is there.
  const std::array<uint64_t, 2> ends = {0, pieces[0].bytes() - 4};
  const std::array<uint32_t, 1> word = {0x1234'5678};
  for (const uint64_t at : ends) {
    must(soak.device.write(pieces[0], as_bytes(word), at), "write");
    std::array<uint32_t, 1> back = {};
    must(soak.device.read_range(pieces[0], at, std::as_writable_bytes(std::span(back))), "read");
    hold(back == word, "a word of a large buffer is another");
  }
  const size_t count = pieces.size();
  pieces.clear();
  must(program.run(run), "when memory is free again");
  // Pieces of another size, which none of the old ones was.
  constexpr uint64_t kOther = uint64_t{3} << 30;
  for (uint64_t bytes = 0; bytes + kOther < total / 2; bytes += kOther)
    pieces.push_back(must(soak.device.allocate(kOther), "half of it in other pieces"));
  soak.note =
      fmt::format("{} buffers, {:.1f} GiB, then {}", count, static_cast<double>(total) / (1U << 30),
                  tight ? "a dispatch that fits" : "a dispatch refused for lack of memory");
}

}  // namespace vyre::soak
