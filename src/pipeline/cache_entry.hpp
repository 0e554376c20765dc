// SPDX-License-Identifier: Apache-2.0
// One file of the cache: what its name says, and its bytes, written and checked. Integers are
// little-endian.
//
//     0  magic "VYRECACH"
//     8  u32 format version
//    12  u32 header size: where the payload begins
//    16  u64 payload size
//    24  digests of program, policy and runtime, 32 bytes each
//   120  i64 seconds since 1970, when it was made
//   128  u32 size of `about`, then `about`
//   ...  checksum, 32 bytes: keyed BLAKE2b over all of the header before it, then the payload
//   ...  payload, up to the end of the file
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/files.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::pipeline {

using Secret = std::array<uint8_t, 32>;

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kFixedHeaderBytes = 132;
inline constexpr size_t kChecksumBytes = 32;
inline constexpr size_t kMaxAboutBytes = 512;
inline constexpr size_t kMinHeaderBytes = kFixedHeaderBytes + kChecksumBytes;

inline constexpr std::string_view kSecretName = "key";
inline constexpr std::string_view kSecretLockName = "key.lock";

enum class FileKind : uint8_t { Entry, Lock, Temp, Secret, Other };
FileKind kind_of(std::string_view name);

// "<program>-<policy>-<runtime>-<all>.entry", 16, 16, 16 and 32 hex digits: the parts stand in the
// name so that a miss can be explained from a listing.
std::string entry_name(const CacheKey& key);
std::string lock_name(const CacheKey& key);
// A name that no other process uses.
std::string temp_name();

// Which parts of a key the name of an entry agrees with.
struct PartsEqual {
  bool program = false;
  bool policy = false;
  bool runtime = false;
};
PartsEqual parts_equal(std::string_view name, const CacheKey& key);

// The reason of a miss, from all the entries there are.
class ClosestEntry {
 public:
  void add(const PartsEqual& equal);
  [[nodiscard]] MissReason reason() const;

 private:
  bool any_ = false;
  // Of an entry that differs in just this part.
  bool program_ = false;
  bool policy_ = false;
  bool runtime_ = false;
};

// Everything of a file before its payload.
std::vector<std::byte> header_of(const CacheKey& key, std::span<const std::byte> payload,
                                 std::string_view about, int64_t created, const Secret& secret);

// Why an entry gives no bytes.
struct Refusal {
  enum class Kind : uint8_t {
    Absent,      // there is no such file
    Unreadable,  // the system could not say; it may be fine
    Bad,         // it is not what we wrote, and never will be
  };
  Kind kind = Kind::Absent;
  std::string reason;
  std::optional<struct stat> file{};  // which one it was, if it could be opened
};

struct OpenEntry {
  files::Descriptor file;
  struct stat status{};
  CacheKey key;
  std::string about;
  int64_t created = 0;
  uint64_t payload_bytes = 0;
  std::vector<std::byte> header;
};

// Opens an entry and reads its header; sizes are consistent, nothing else is sure yet.
std::expected<OpenEntry, Refusal> open_entry(int directory, const std::string& name,
                                             uint64_t max_payload_bytes);
// The payload, once the checksum over everything is right.
std::expected<std::vector<std::byte>, Refusal> read_payload(const OpenEntry& entry,
                                                            const Secret& secret);

}  // namespace vyre::pipeline
