// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elf_loader.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <elf.h>
#include <gmock/gmock.h>

#include "backend/cpu/kernels_test.hpp"

namespace vyre::backend::cpu {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

using Bytes = std::vector<std::byte>;

template <class T>
T at(const Bytes& bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template <class T>
void put(Bytes& bytes, uint64_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

std::vector<Elf64_Shdr> sections_of(const Bytes& object) {
  const auto header = at<Elf64_Ehdr>(object, 0);
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < header.e_shnum; ++i)
    sections.push_back(at<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr)));
  return sections;
}

// Offsets of all relocations of loaded sections.
std::vector<uint64_t> relocations_of(const Bytes& object) {
  std::vector<uint64_t> offsets;
  const auto sections = sections_of(object);
  for (const Elf64_Shdr& s : sections)
    if (s.sh_type == SHT_RELA && (sections[s.sh_info].sh_flags & SHF_ALLOC) != 0)
      for (uint64_t k = 0; k < s.sh_size; k += sizeof(Elf64_Rela))
        offsets.push_back(s.sh_offset + k);
  return offsets;
}
std::set<uint32_t> relocation_types(const Bytes& object) {
  std::set<uint32_t> types;
  for (const uint64_t offset : relocations_of(object))
    types.insert(static_cast<uint32_t>(ELF64_R_TYPE(at<Elf64_Rela>(object, offset).r_info)));
  return types;
}

std::string failure(const Bytes& object) {
  const auto loaded = LoadedObject::load(object);
  if (loaded) return "it loads";
  EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(loaded.error().message, HasSubstr("Fix: "));
  return loaded.error().message;
}

class ElfLoader : public testing::Test {
 protected:
  void SetUp() override {
    if (*why_no_cpu() != 0) GTEST_SKIP() << why_no_cpu();
  }
};

TEST_F(ElfLoader, PlacesSymbolsAndProtectsThem) {
  const auto object = LoadedObject::load(kernels_object());
  ASSERT_TRUE(object) << object.error().message;
  const auto entry = object->symbol("vyre_entry_0");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->executable);
  const auto info = object->symbol("vyre_info");
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->executable);
  EXPECT_GE(info->bytes, kKernelCount * sizeof(device::KernelInfo));
  const auto calls = object->symbol("vyre_calls");
  ASSERT_TRUE(calls);
  *calls->address = std::byte{1};  // data may be written
  EXPECT_FALSE(object->symbol("vyre_entry_99"));
  EXPECT_FALSE(object->symbol("floorf"));

  // Nothing is writable and executable at once, and constants are neither.
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int parts = 0;
  while (std::getline(maps, line)) {
    unsigned long first = 0;
    unsigned long last = 0;
    char mode[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, mode) != 3) continue;
    const auto holds = [&](const void* p) {
      return reinterpret_cast<uintptr_t>(p) >= first && reinterpret_cast<uintptr_t>(p) < last;
    };
    if (holds(entry->address)) {
      EXPECT_STREQ(mode, "r-xp") << line;
    }
    if (holds(info->address)) {
      EXPECT_EQ(std::string(mode, 3), "r--") << line;
    }
    if (holds(calls->address)) {
      EXPECT_EQ(std::string(mode, 3), "rw-") << line;
    }
    parts += holds(entry->address) || holds(info->address) || holds(calls->address);
  }
  EXPECT_EQ(parts, 3);
}

// The objects have every kind of relocation there is; cpu_test.cpp runs their code.
TEST_F(ElfLoader, TheTestObjectsHaveEveryRelocation) {
  EXPECT_THAT(relocation_types(kernels_object()),
              IsSupersetOf({R_X86_64_64, R_X86_64_PC64, R_X86_64_PC32, R_X86_64_PLT32,
                            R_X86_64_GOTPCREL, R_X86_64_REX_GOTPCRELX}));
  EXPECT_THAT(relocation_types(absolute_object()), IsSupersetOf({R_X86_64_32}));
  // Both compilers of the project use the one or the other for an index into a table.
  EXPECT_TRUE(relocation_types(absolute_object()).contains(R_X86_64_32S) ||
              relocation_types(absolute_object()).contains(R_X86_64_PC32));
}

TEST_F(ElfLoader, DistancesAreRight) {
  const auto object = LoadedObject::load(kernels_object());
  ASSERT_TRUE(object);
  // vyre_distances is local; it is found by its section.
  const auto entry = object->symbol("vyre_entry_0")->address;
  const auto zeros = object->symbol("vyre_zeros")->address;
  bool found = false;
  const auto all = object->mapping();
  for (size_t i = 0; i + 12 <= all.size() && !found; i += 8) {
    uint64_t far = 0;
    std::memcpy(&far, all.data() + i, 8);
    if (reinterpret_cast<uint64_t>(all.data()) + i + far != reinterpret_cast<uint64_t>(entry))
      continue;
    int32_t near = 0;
    std::memcpy(&near, all.data() + i + 8, 4);
    const std::byte* const slot = all.data() + i + 8 + near - 4;
    ASSERT_GE(slot, all.data());
    ASSERT_LE(slot + 8, all.data() + all.size());
    uint64_t address = 0;
    std::memcpy(&address, slot, 8);
    EXPECT_EQ(address, reinterpret_cast<uint64_t>(zeros));
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST_F(ElfLoader, NamesWhatItDoesNotKnow) {
  Bytes object = kernels_object();
  auto rela = at<Elf64_Rela>(object, relocations_of(object)[0]);
  rela.r_info = ELF64_R_INFO(ELF64_R_SYM(rela.r_info), 99);
  put(object, relocations_of(object)[0], rela);
  EXPECT_THAT(failure(object), HasSubstr("relocation type 99"));

  object = kernels_object();
  const std::string_view name("memcpy", 7);  // with its end
  const auto place =
      std::ranges::search(object, std::as_bytes(std::span(name.data(), name.size())));
  ASSERT_FALSE(place.empty());
  object[static_cast<size_t>(place.begin() - object.begin())] = std::byte{'M'};
  EXPECT_THAT(failure(object), HasSubstr("`Memcpy` is not defined"));
}

TEST_F(ElfLoader, RefusesOtherFiles) {
  EXPECT_THAT(failure({}), HasSubstr("it has 0 bytes"));
  EXPECT_THAT(failure(Bytes(1000)), HasSubstr("no ELF file"));
  Bytes object = kernels_object();
  auto header = at<Elf64_Ehdr>(object, 0);
  header.e_machine = EM_AARCH64;
  put(object, 0, header);
  EXPECT_THAT(failure(object), HasSubstr("another machine than x86-64 (ELF machine 183)"));
  header.e_machine = EM_X86_64;
  header.e_type = ET_DYN;
  put(object, 0, header);
  EXPECT_THAT(failure(object), HasSubstr("no relocatable file (type 3)"));
  header.e_type = ET_REL;
  header.e_shoff = ~uint64_t{0} - 10;
  put(object, 0, header);
  EXPECT_THAT(failure(object), HasSubstr("section headers"));
}

TEST_F(ElfLoader, AddressesHaveToFit) {
  Bytes object = absolute_object();
  for (const uint64_t offset : relocations_of(object)) {
    auto rela = at<Elf64_Rela>(object, offset);
    if (ELF64_R_TYPE(rela.r_info) != R_X86_64_32) continue;
    rela.r_addend = int64_t{1} << 40;
    put(object, offset, rela);
  }
  EXPECT_THAT(failure(object), HasSubstr("R_X86_64_32 of `vyre_table` does not fit into 32 bits"));
}

TEST_F(ElfLoader, SurvivesEveryTruncation) {
  const Bytes& object = kernels_object();
  for (size_t bytes = 0; bytes < object.size(); ++bytes)
    EXPECT_NE(failure(Bytes(object.begin(), object.begin() + static_cast<ptrdiff_t>(bytes))),
              "it loads")
        << bytes;
}

// An error or something loaded, whose code nobody runs: never a crash.
TEST_F(ElfLoader, SurvivesDamage) {
  std::mt19937_64 random(1);
  for (const Bytes* const original : {&kernels_object(), &absolute_object()}) {
    Bytes object = *original;
    const auto header = at<Elf64_Ehdr>(object, 0);
    for (int i = 0; i < 20000; ++i) {
      object = *original;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int k = 0; k < flips; ++k) {
        // Half of them in the headers, where they hurt.
        const bool in_headers = random() % 2 == 0;
        const uint64_t where = in_headers
                                   ? header.e_shoff + random() % (object.size() - header.e_shoff)
                                   : random() % object.size();
        object[where] ^= static_cast<std::byte>(1U << random() % 8);
      }
      const auto loaded = LoadedObject::load(object);
      if (loaded) {
        (void)loaded->symbol("vyre_info");
      } else {
        EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
      }
    }
  }
}

}  // namespace
}  // namespace vyre::backend::cpu
