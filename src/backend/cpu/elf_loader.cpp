// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/elf_loader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace vyre::backend::cpu {

namespace {

constexpr uint64_t kMaxBytes = uint64_t{256}
                               << 20;  // loaded; far above any kernel, far below 2 GiB
constexpr uint64_t kMaxAlign = 4096;   // of a section: that of the mapping
constexpr uint64_t kStubBytes = 16;
constexpr uint32_t kNone = ~uint32_t{0};

Error failed(std::string what) {
  return {.code = ErrorCode::CompileFailed,
          .message = fmt::format("the object code cannot be loaded: {}. Fix: clear the cache and "
                                 "compile again; if that does not help, report this as a bug",
                                 what),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

// The parts of the mapping, in order; each begins on a page.
enum class Part : uint8_t { Text, Constants, Data };
constexpr size_t kParts = 3;

struct Relocation {
  uint32_t type;
  uint8_t bytes;
  bool relative;  // to the place that is changed
  bool slot;      // to the word that holds the symbol's address, not to the symbol
  bool is_signed;
  const char* name;
};

constexpr std::array<Relocation, 9> kRelocations = {{
    {R_X86_64_64, 8, false, false, false, "R_X86_64_64"},
    {R_X86_64_PC64, 8, true, false, true, "R_X86_64_PC64"},
    {R_X86_64_PC32, 4, true, false, true, "R_X86_64_PC32"},
    {R_X86_64_PLT32, 4, true, false, true, "R_X86_64_PLT32"},
    {R_X86_64_32, 4, false, false, false, "R_X86_64_32"},
    {R_X86_64_32S, 4, false, false, true, "R_X86_64_32S"},
    {R_X86_64_GOTPCREL, 4, true, true, true, "R_X86_64_GOTPCREL"},
    {R_X86_64_GOTPCRELX, 4, true, true, true, "R_X86_64_GOTPCRELX"},
    {R_X86_64_REX_GOTPCRELX, 4, true, true, true, "R_X86_64_REX_GOTPCRELX"},
}};

const Relocation* relocation(uint32_t type) {
  const auto* const row = std::ranges::find(kRelocations, type, &Relocation::type);
  return row == kRelocations.end() ? nullptr : row;
}

uint64_t rounded(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

class ObjectLoader {
 public:
  explicit ObjectLoader(std::span<const std::byte> file) : file_(file) {}

  Result<LoadedObject> run() {
    for (const auto step :
         {&ObjectLoader::read_sections, &ObjectLoader::read_symbols,
          &ObjectLoader::read_relocations, &ObjectLoader::map, &ObjectLoader::place_symbols,
          &ObjectLoader::relocate, &ObjectLoader::protect})
      VYRE_TRY((this->*step)());
    return std::move(object_);
  }

 private:
  struct Section {
    Elf64_Shdr header;
    Part part = Part::Text;
    bool loaded = false;
    uint64_t place = 0;  // from the start of the mapping
  };
  struct Symbol {
    Elf64_Sym raw;
    std::string_view name;
    uint64_t address = 0;
    uint32_t stub = kNone;  // of a function of the library, which is too far away to be jumped to
    uint32_t slot = kNone;
    bool outside = false;
  };
  struct Patch {
    uint32_t section;
    Elf64_Rela raw;
    const Relocation* kind;
  };

  template <class... Args>
  static std::unexpected<Error> fail(fmt::format_string<Args...> text, Args&&... args) {
    return std::unexpected(failed(fmt::format(text, std::forward<Args>(args)...)));
  }

  // The caller has checked that the bytes are there.
  template <class T>
  [[nodiscard]] T read(uint64_t offset) const {
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }
  [[nodiscard]] bool inside(uint64_t offset, uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }

  Result<void> read_sections() {
    if (file_.size() < sizeof(Elf64_Ehdr)) return fail("it has {} bytes", file_.size());
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return fail("it is no ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
      return fail("it is made for another machine than x86-64 (ELF machine {})", header.e_machine);
    if (header.e_type != ET_REL) return fail("it is no relocatable file (type {})", header.e_type);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
        !inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
      return fail("its {} section headers at {} are not in its {} bytes", header.e_shnum,
                  header.e_shoff, file_.size());
    for (uint32_t i = 0; i < header.e_shnum; ++i) {
      Section section{.header = read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr))};
      const Elf64_Shdr& h = section.header;
      if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL && !inside(h.sh_offset, h.sh_size))
        return fail("section {} ({} bytes at {}) is not in its {} bytes", i, h.sh_size, h.sh_offset,
                    file_.size());
      section.loaded = (h.sh_flags & SHF_ALLOC) != 0 && h.sh_type != SHT_NULL;
      if (section.loaded) {
        if ((h.sh_flags & SHF_TLS) != 0) return fail("section {} is for each thread", i);
        const bool writable = (h.sh_flags & SHF_WRITE) != 0;
        const bool executable = (h.sh_flags & SHF_EXECINSTR) != 0;
        if (writable && executable) return fail("section {} is writable and executable", i);
        if (h.sh_addralign > kMaxAlign || (h.sh_addralign & (h.sh_addralign - 1)) != 0)
          return fail("section {} is to be aligned to {}", i, h.sh_addralign);
        if (h.sh_size > kMaxBytes) return fail("section {} has {} bytes", i, h.sh_size);
        section.part = executable ? Part::Text : writable ? Part::Data : Part::Constants;
      }
      sections_.push_back(section);
    }
    return {};
  }

  // One table of symbols, as compilers write it; none is fine for an object without symbols.
  Result<void> read_symbols() {
    for (uint32_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& h = sections_[i].header;
      if (h.sh_type != SHT_SYMTAB) continue;
      if (symbol_section_ != kNone) return fail("it has two tables of symbols");
      symbol_section_ = i;
      if (h.sh_entsize != sizeof(Elf64_Sym) || h.sh_size % sizeof(Elf64_Sym) != 0 ||
          h.sh_link >= sections_.size() || sections_[h.sh_link].header.sh_type != SHT_STRTAB)
        return fail("its table of symbols has no entries or no names");
      const Elf64_Shdr& names = sections_[h.sh_link].header;
      for (uint64_t at = 0; at < h.sh_size; at += sizeof(Elf64_Sym)) {
        Symbol symbol{.raw = read<Elf64_Sym>(h.sh_offset + at), .name = {}};
        if (symbol.raw.st_name >= names.sh_size && symbol.raw.st_name != 0)
          return fail("symbol {} has its name outside the table", at / sizeof(Elf64_Sym));
        if (symbol.raw.st_name != 0) {
          const auto* const first =
              reinterpret_cast<const char*>(file_.data()) + names.sh_offset + symbol.raw.st_name;
          const size_t most = names.sh_size - symbol.raw.st_name;
          symbol.name = {first, ::strnlen(first, most)};
        }
        symbols_.push_back(symbol);
      }
    }
    return {};
  }

  Result<void> read_relocations() {
    for (uint32_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& h = sections_[i].header;
      if (h.sh_type != SHT_RELA && h.sh_type != SHT_REL) continue;
      if (h.sh_info >= sections_.size()) return fail("section {} changes no section", i);
      const Section& target = sections_[h.sh_info];
      if (!target.loaded) continue;  // of debuggers
      if (h.sh_type == SHT_REL) return fail("section {} has relocations without addends", i);
      if (h.sh_entsize != sizeof(Elf64_Rela) || h.sh_size % sizeof(Elf64_Rela) != 0 ||
          h.sh_link != symbol_section_ || target.header.sh_type == SHT_NOBITS)
        return fail("section {} is no table of relocations", i);
      for (uint64_t at = 0; at < h.sh_size; at += sizeof(Elf64_Rela))
        VYRE_TRY(read_relocation(h.sh_info, read<Elf64_Rela>(h.sh_offset + at)));
    }
    return {};
  }

  Result<void> read_relocation(uint32_t section, const Elf64_Rela& raw) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info));
    const auto index = static_cast<uint32_t>(ELF64_R_SYM(raw.r_info));
    if (type == R_X86_64_NONE) return {};
    if (index >= symbols_.size()) return fail("a relocation of symbol {}, which is none", index);
    Symbol& symbol = symbols_[index];
    const Relocation* const kind = relocation(type);
    if (kind == nullptr)
      return fail("relocation type {} of `{}` is not known here", type, symbol.name);
    const uint64_t bytes = sections_[section].header.sh_size;
    if (kind->bytes > bytes || raw.r_offset > bytes - kind->bytes)
      return fail("a relocation of `{}` at {} is outside its section of {} bytes", symbol.name,
                  raw.r_offset, bytes);
    if (symbol.raw.st_shndx == SHN_UNDEF && !symbol.outside) {
      symbol.address = library_function(symbol.name);
      symbol.outside = true;
      if (symbol.address == 0) return fail("`{}` is not defined", symbol.name);
    }
    if (kind->slot && symbol.slot == kNone) symbol.slot = slots_++;
    if (symbol.outside && !kind->slot && kind->bytes == 4 && symbol.stub == kNone)
      symbol.stub = stubs_++;
    if (!kind->relative && kind->bytes == 4) low_ = true;
    patches_.push_back({section, raw, kind});
    return {};
  }

  Result<void> map() {
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    uint64_t at = 0;
    for (size_t part = 0; part < kParts; ++part) {
      at = rounded(at, page);
      part_begin_[part] = at;
      for (Section& section : sections_) {
        if (!section.loaded || section.part != static_cast<Part>(part)) continue;
        at = rounded(at, std::max<uint64_t>(section.header.sh_addralign, 1));
        section.place = at;
        at += section.header.sh_size;
        if (at > kMaxBytes) return fail("it has more than {} bytes", kMaxBytes);
      }
      if (static_cast<Part>(part) == Part::Text) {
        stubs_at_ = rounded(at, kStubBytes);
        at = stubs_at_ + stubs_ * kStubBytes;
      } else if (static_cast<Part>(part) == Part::Constants) {
        slots_at_ = rounded(at, 8);
        at = slots_at_ + slots_ * uint64_t{8};
      }
      part_end_[part] = rounded(at, page);
    }
    const uint64_t bytes = std::max(rounded(at, page), page);
    if (bytes > kMaxBytes) return fail("it has more than {} bytes", kMaxBytes);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT
    if (low_) flags |= MAP_32BIT;  // addresses of 32 bits can only name the lower 2 GiB
#endif
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
      return fail("the system gives no {} bytes for it ({})", bytes, std::strerror(errno));
    object_.mapping_ = {static_cast<std::byte*>(memory), bytes};
    for (const Section& section : sections_)
      if (section.loaded && section.header.sh_type != SHT_NOBITS && section.header.sh_size != 0)
        std::memcpy(object_.mapping_.data() + section.place,
                    file_.data() + section.header.sh_offset, section.header.sh_size);
    return {};
  }

  [[nodiscard]] uint64_t base() const {
    return reinterpret_cast<uint64_t>(object_.mapping_.data());
  }

  Result<void> place_symbols() {
    for (Symbol& symbol : symbols_) {
      const Elf64_Sym& raw = symbol.raw;
      if (symbol.outside || raw.st_shndx == SHN_UNDEF) continue;
      if (raw.st_shndx == SHN_ABS) {
        symbol.address = raw.st_value;
        continue;
      }
      if (raw.st_shndx >= sections_.size())
        return fail("`{}` lies in section {}, which is none", symbol.name, raw.st_shndx);
      const Section& section = sections_[raw.st_shndx];
      if (!section.loaded) continue;
      const unsigned type = ELF64_ST_TYPE(raw.st_info);
      if (type == STT_TLS || type == STT_GNU_IFUNC)
        return fail("`{}` is a symbol of type {}", symbol.name, type);
      if (raw.st_value > section.header.sh_size)
        return fail("`{}` lies outside its section", symbol.name);
      symbol.address = base() + section.place + raw.st_value;
      if (ELF64_ST_BIND(raw.st_info) != STB_GLOBAL || symbol.name.empty()) continue;
      object_.symbols_.insert_or_assign(
          std::string(symbol.name),
          LoadedSymbol{.address = object_.mapping_.data() + section.place + raw.st_value,
                       .bytes = section.header.sh_size - raw.st_value,
                       .executable = section.part == Part::Text});
    }
    for (const Symbol& symbol : symbols_) {
      if (symbol.slot != kNone) put(slots_at_ + symbol.slot * uint64_t{8}, symbol.address, 8);
      if (symbol.stub == kNone) continue;
      // jmp *0(%rip), and there the address.
      constexpr std::array<uint8_t, 6> kJump = {0xFF, 0x25, 0, 0, 0, 0};
      const uint64_t at = stubs_at_ + symbol.stub * kStubBytes;
      std::memcpy(object_.mapping_.data() + at, kJump.data(), kJump.size());
      put(at + kJump.size(), symbol.address, 8);
    }
    return {};
  }

  void put(uint64_t at, uint64_t value, size_t bytes) {
    std::memcpy(object_.mapping_.data() + at, &value, bytes);
  }

  // The arithmetic wraps, as that of the processor does; what has to fit is checked at the end.
  Result<void> relocate() {
    for (const Patch& patch : patches_) {
      const Symbol& symbol = symbols_[ELF64_R_SYM(patch.raw.r_info)];
      const uint64_t at = sections_[patch.section].place + patch.raw.r_offset;
      uint64_t value = symbol.address;
      if (patch.kind->slot)
        value = base() + slots_at_ + symbol.slot * uint64_t{8};
      else if (symbol.outside && patch.kind->bytes == 4)
        value = base() + stubs_at_ + symbol.stub * kStubBytes;
      value += static_cast<uint64_t>(patch.raw.r_addend);
      if (patch.kind->relative) value -= base() + at;
      if (patch.kind->bytes == 4) {
        const bool fits = patch.kind->is_signed
                              ? static_cast<int64_t>(value) == static_cast<int32_t>(value)
                              : value <= std::numeric_limits<uint32_t>::max();
        if (!fits)
          return fail("{} of `{}` does not fit into 32 bits", patch.kind->name, symbol.name);
      }
      put(at, value, patch.kind->bytes);
    }
    return {};
  }

  Result<void> protect() {
    const auto set = [&](Part part, int protection) {
      const auto p = static_cast<size_t>(part);
      const uint64_t bytes = part_end_[p] - part_begin_[p];
      return bytes == 0 ||
             ::mprotect(object_.mapping_.data() + part_begin_[p], bytes, protection) == 0;
    };
    if (!set(Part::Text, PROT_READ | PROT_EXEC) || !set(Part::Constants, PROT_READ))
      return fail("the system does not let it be executed ({})", std::strerror(errno));
    return {};
  }

  const std::span<const std::byte> file_;
  std::vector<Section> sections_;
  uint32_t symbol_section_ = kNone;
  std::vector<Symbol> symbols_;
  std::vector<Patch> patches_;
  uint32_t stubs_ = 0;
  uint32_t slots_ = 0;
  bool low_ = false;
  uint64_t stubs_at_ = 0;
  uint64_t slots_at_ = 0;
  std::array<uint64_t, kParts> part_begin_ = {};
  std::array<uint64_t, kParts> part_end_ = {};
  LoadedObject object_;
};

Result<LoadedObject> LoadedObject::load(std::span<const std::byte> object) {
  return ObjectLoader(object).run();
}

LoadedObject::~LoadedObject() {
  if (!mapping_.empty()) ::munmap(mapping_.data(), mapping_.size());
}

std::optional<LoadedSymbol> LoadedObject::symbol(std::string_view name) const {
  const auto row = symbols_.find(name);
  if (row == symbols_.end()) return std::nullopt;
  return row->second;
}

}  // namespace vyre::backend::cpu
