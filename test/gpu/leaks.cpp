// SPDX-License-Identifier: Apache-2.0
// Memory that changes its owner: nothing of what one pipeline, device handle or process left in
// global, shared or private memory comes back to another.
#include <algorithm>
#include <array>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

constexpr uint32_t kMark = 0x5EC2'E7A1;

// Leaves the mark in `out` memory, in all of shared memory and in private arrays.
constexpr const char* kMarker = R"(program marker {
  workgroup 256;
  out o : u32[NN];
  shared s : u32[11264];
  var p : u32[64];
  for k in 0 .. 64 { p[(k + lid.x) % 64] = 0x5EC2E7A1; }
  for k in 0 .. 44 { s[k * 256 + lid.x] = 0x5EC2E7A1; }
  barrier workgroup;
  o[gid.x] = s[(gid.x * 7) % 11264] & p[gid.x % 64];
}
)";

// Reads what it has not written: the shared and private memory of these begins as zeros, whether
// all of it is cleared or the code generator has found that some need not be.
constexpr std::array kReaders = {
    "shared s : u32[11264]; o[gid.x] = s[(gid.x * 13) % 11264];",
    "shared s : u32[11264]; if lid.x < 100 { s[lid.x * 7] = 0; } barrier workgroup;"
    " o[gid.x] = s[(lid.x * 44) % 11264];",
    "shared s : u32[256]; if lid.x % 2 == 0 { s[lid.x] = 1; } barrier workgroup;"
    " o[gid.x] = s[lid.x ^ 1] & 0xFFFFFFFE;",
    "shared s : u32[256]; let c = lid.x < 9 && put(s, lid.x); barrier workgroup;"
    " o[gid.x] = s[255 - lid.x] & select(c, 0, 0xFFFFFFFE);",
    "var p : u32[64]; if lid.x == 300 { p[3] = 1; } o[gid.x] = p[gid.x % 64];",
    "var p : u32[64]; for k in 0 .. lid.x % 9 { p[k * 3] = 0; } o[gid.x] = p[(gid.x * 5) % 64];",
};

std::string reader(std::string_view body) {
  const size_t shared = body.starts_with("shared") ? body.find(';') + 1 : 0;
  return fmt::format(
      "program reader {{\n  workgroup 256;\n  out o : u32[NN];\n  {}\n"
      "  fn put(b : buffer u32[], i : u32) -> bool {{ b[i] = 1; return true; }}\n  {}\n}}\n",
      body.substr(0, shared), body.substr(shared));
}

std::string sized(std::string text, uint32_t lanes) {
  text.replace(text.find("NN"), 2, std::to_string(lanes));
  return text;
}

void expect_marks(const Outputs& outputs) {
  hold(std::ranges::all_of(to_vector<uint32_t>(outputs[0]),
                           [](uint32_t word) { return word == kMark; }),
       "the marks were not made");
}

void expect_no_mark(const Words& words, const std::string& where) {
  hold(std::ranges::find(words, kMark) == words.end(), where + " holds another owner's words");
}

Words contents(const Device& device, const Buffer& buffer) {
  Words words(buffer.bytes() / sizeof(uint32_t));
  must(device.read_range(buffer, 0, std::as_writable_bytes(std::span(words))), "reading");
  return words;
}

// Buffers of many sizes, as they are handed out.
void check_fresh(const Device& device, uint64_t most, const std::string& where) {
  std::vector<Buffer> held;
  for (uint64_t bytes = 4096; bytes <= most; bytes *= 4)
    for (const device::Contents wanted :
         {device::Contents::Uninitialised, device::Contents::Zeros}) {
      held.push_back(must(device.allocate(bytes, wanted), "allocating"));
      const Words words = contents(device, held.back());
      expect_no_mark(words, fmt::format("{}: a new buffer of {} bytes", where, bytes));
      if (wanted == device::Contents::Zeros)
        hold(std::ranges::all_of(words, [](uint32_t word) { return word == 0; }),
             where + ": a new buffer is not zeros");
    }
}

void mark_buffers(const Device& device, uint64_t most) {
  std::vector<Buffer> held;
  for (uint64_t bytes = 4096; bytes <= most; bytes *= 4)
    for (int i = 0; i < 2; ++i) {
      const Words words(bytes / sizeof(uint32_t), kMark);
      held.push_back(must(device.upload(std::as_bytes(std::span(words))), "uploading"));
    }
}

struct Sizes {
  uint32_t lanes = 0;
  uint64_t most = 0;  // bytes of a buffer
};
Sizes sizes_of(bool smoke) {
  return smoke ? Sizes{1024, uint64_t{1} << 20} : Sizes{1 << 20, uint64_t{1} << 28};
}

}  // namespace

// For a process of its own: everything it can reach holds marks when it ends.
void leave_marks(const std::string& id) {
  const Device device = must(Device::open(id, {.cache_directory = {}}), "opening the device");
  const Sizes sizes = sizes_of(false);
  mark_buffers(device, sizes.most);
  const Pipeline marker = compile(device, sized(kMarker, sizes.lanes));
  for (int i = 0; i < 4; ++i) expect_marks(must(marker.dispatch({}), "marking").outputs);
}

void check_leaks(Soak& soak) {
  const Sizes sizes = sizes_of(soak.smoke);
  const Device other =
      must(Device::open(soak.device.info().id, {.cache_directory = {}}), "a second handle");
  uint32_t programs = 0;
  const uint32_t rounds = soak.times(6, 1);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const char* const body : kReaders) {
      {
        const Pipeline marker = compile(soak.device, sized(kMarker, sizes.lanes));
        expect_marks(must(marker.dispatch({}), "marking").outputs);
      }
      const Pipeline pipeline = compile(soak.device, sized(reader(body), sizes.lanes));
      const DispatchResult result = must(pipeline.dispatch({}), body);
      const Words words = to_vector<uint32_t>(result.outputs[0]);
      hold(std::ranges::all_of(words, [](uint32_t word) { return word == 0; }),
           std::string("not zeros: ") + body);
      ++programs;
    }
    mark_buffers(other, sizes.most);
    check_fresh(soak.device, sizes.most, "after another handle");
  }
  if (!soak.smoke)
    for (uint32_t round = 0; round < 2; ++round) {
      const auto [code, text] = run_child(soak.device.info().id, "marks");
      hold(code == 8, "the process that leaves marks: " + text);
      check_fresh(soak.device, sizes.most, "after another process");
      for (const char* const body : kReaders) {
        const Pipeline pipeline = compile(soak.device, sized(reader(body), sizes.lanes));
        expect_no_mark(to_vector<uint32_t>(must(pipeline.dispatch({}), body).outputs[0]), body);
        ++programs;
      }
    }
  soak.note = fmt::format("{} programs", programs);
}

}  // namespace vyre::soak
