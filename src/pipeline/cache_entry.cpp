// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_entry.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include "base/check.hpp"

namespace vyre::pipeline {
namespace {

constexpr std::string_view kMagic = "VYRECACH";
constexpr std::string_view kEntrySuffix = ".entry";
constexpr std::string_view kLockSuffix = ".lock";
constexpr std::string_view kTempPrefix = "tmp-";
constexpr size_t kPartDigits = 16;
constexpr size_t kStemLength = 3 * (kPartDigits + 1) + 2 * kPartDigits;

std::string stem_of(const CacheKey& key) {
  // Digested once more, so that every bit of a part counts.
  const auto part = [](const Digest& digest) {
    return digest_of(std::as_bytes(std::span(digest.bytes))).hex();
  };
  return fmt::format("{:.16}-{:.16}-{:.16}-{:.32}", part(key.program), part(key.policy),
                     part(key.runtime), key.combined().hex());
}

bool is_stem(std::string_view text) {
  if (text.size() != kStemLength) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i < 3 * (kPartDigits + 1) && i % (kPartDigits + 1) == kPartDigits;
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !digit) return false;
  }
  return true;
}

template <class Unsigned>
void put(std::vector<std::byte>& bytes, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i)
    bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
}

void put(std::vector<std::byte>& bytes, const Digest& digest) {
  const auto view = std::as_bytes(std::span(digest.bytes));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

void put(std::vector<std::byte>& bytes, std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

uint64_t number_at(std::span<const std::byte> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

Digest digest_at(std::span<const std::byte> bytes, size_t at) {
  Digest digest;
  std::memcpy(digest.bytes.data(), bytes.data() + at, digest.bytes.size());
  return digest;
}

std::array<uint8_t, kChecksumBytes> checksum_of(std::span<const std::byte> header,
                                                std::span<const std::byte> payload,
                                                const Secret& secret) {
  std::array<uint8_t, kChecksumBytes> checksum{};
  crypto_generichash_state state;
  const auto update = [&](std::span<const std::byte> bytes) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  };
  static_assert(sizeof(Secret) == crypto_generichash_KEYBYTES);
  VYRE_CHECK(crypto_generichash_init(&state, secret.data(), secret.size(), checksum.size()) == 0);
  update(header);
  update(payload);
  crypto_generichash_final(&state, checksum.data(), checksum.size());
  return checksum;
}

std::unexpected<Refusal> unreadable(int error) {
  return std::unexpected(Refusal{Refusal::Kind::Unreadable, std::strerror(error)});
}

std::unexpected<Refusal> bad(std::string reason, const struct stat& file) {
  return std::unexpected(Refusal{Refusal::Kind::Bad, std::move(reason), file});
}

// What is wrong with a file before a byte of it is read; empty if nothing is.
std::string distrust(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_uid != ::geteuid())
    return fmt::format("it belongs to user {}, not to {}", status.st_uid, ::geteuid());
  if ((status.st_mode & 077) != 0)
    return fmt::format("others may use it (mode {:04o})", status.st_mode & 07777);
  if (status.st_size < static_cast<off_t>(kMinHeaderBytes))
    return fmt::format("it is cut off ({} bytes)", status.st_size);
  return {};
}

// Fills in what the fixed part says; what is wrong with that, or empty.
std::string parse_fixed(OpenEntry& entry) {
  const std::span<const std::byte> bytes = entry.header;
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return "it has another magic";
  const uint64_t version = number_at(bytes, 8, 4);
  if (version != kFormatVersion) return fmt::format("it has format version {}", version);
  const uint64_t header_bytes = number_at(bytes, 12, 4);
  entry.payload_bytes = number_at(bytes, 16, 8);
  entry.key = {digest_at(bytes, 24), digest_at(bytes, 56), digest_at(bytes, 88)};
  entry.created = std::bit_cast<int64_t>(number_at(bytes, 120, 8));
  const uint64_t about_bytes = number_at(bytes, 128, 4);
  const auto file_bytes = static_cast<uint64_t>(entry.status.st_size);
  if (about_bytes > kMaxAboutBytes || header_bytes != kMinHeaderBytes + about_bytes ||
      header_bytes > file_bytes || entry.payload_bytes != file_bytes - header_bytes)
    return fmt::format("its sizes disagree (header {}, payload {}, file {} bytes)", header_bytes,
                       entry.payload_bytes, file_bytes);
  entry.about.resize(about_bytes);
  return {};
}

}  // namespace

Digest CacheKey::combined() const {
  std::vector<std::byte> bytes;
  put(bytes, std::string_view("vyre cache key 1"));
  put(bytes, program);
  put(bytes, policy);
  put(bytes, runtime);
  return digest_of(bytes);
}

FileKind kind_of(std::string_view name) {
  if (name == kSecretName) return FileKind::Secret;
  if (name == kSecretLockName) return FileKind::Lock;
  if (name.starts_with(kTempPrefix)) return FileKind::Temp;
  if (name.ends_with(kEntrySuffix) && is_stem(name.substr(0, name.size() - kEntrySuffix.size())))
    return FileKind::Entry;
  if (name.ends_with(kLockSuffix) && is_stem(name.substr(0, name.size() - kLockSuffix.size())))
    return FileKind::Lock;
  return FileKind::Other;
}

std::string entry_name(const CacheKey& key) {
  return stem_of(key) + std::string(kEntrySuffix);
}

std::string lock_name(const CacheKey& key) {
  return stem_of(key) + std::string(kLockSuffix);
}

std::string temp_name() {
  std::array<uint64_t, 2> random{};
  randombytes_buf(random.data(), sizeof random);
  return fmt::format("{}{}-{:016x}{:016x}", kTempPrefix, ::getpid(), random[0], random[1]);
}

PartsEqual parts_equal(std::string_view name, const CacheKey& key) {
  const std::string wanted = stem_of(key);
  const auto equal = [&](size_t part) {
    const size_t at = part * (kPartDigits + 1);
    return name.substr(at, kPartDigits) == std::string_view(wanted).substr(at, kPartDigits);
  };
  return {equal(0), equal(1), equal(2)};
}

void ClosestEntry::add(const PartsEqual& equal) {
  any_ = true;
  program_ |= !equal.program && equal.policy && equal.runtime;
  policy_ |= equal.program && !equal.policy && equal.runtime;
  runtime_ |= equal.program && equal.policy && !equal.runtime;
}

MissReason ClosestEntry::reason() const {
  if (!any_) return MissReason::Empty;
  if (runtime_) return MissReason::Runtime;
  if (policy_) return MissReason::Policy;
  return program_ ? MissReason::Program : MissReason::Absent;
}

std::vector<std::byte> header_of(const CacheKey& key, std::span<const std::byte> payload,
                                 std::string_view about, int64_t created, const Secret& secret) {
  about = about.substr(0, kMaxAboutBytes);
  std::vector<std::byte> bytes;
  bytes.reserve(kMinHeaderBytes + about.size());
  put(bytes, kMagic);
  put(bytes, kFormatVersion);
  put(bytes, static_cast<uint32_t>(kMinHeaderBytes + about.size()));
  put(bytes, static_cast<uint64_t>(payload.size()));
  put(bytes, key.program);
  put(bytes, key.policy);
  put(bytes, key.runtime);
  put(bytes, std::bit_cast<uint64_t>(created));
  put(bytes, static_cast<uint32_t>(about.size()));
  VYRE_CHECK(bytes.size() == kFixedHeaderBytes);
  put(bytes, about);
  const auto checksum = checksum_of(bytes, payload, secret);
  const auto view = std::as_bytes(std::span(checksum));
  bytes.insert(bytes.end(), view.begin(), view.end());
  return bytes;
}

std::expected<OpenEntry, Refusal> open_entry(int directory, const std::string& name,
                                             uint64_t max_payload_bytes) {
  // Not to wait for the other end, should it be a pipe.
  files::Io<files::Descriptor> file = files::open_at(directory, name, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error() == ENOENT) return std::unexpected(Refusal{});
    if (file.error() == ELOOP)
      return std::unexpected(Refusal{Refusal::Kind::Bad, "it is a symbolic link"});
    if (file.error() == ENXIO)
      return std::unexpected(Refusal{Refusal::Kind::Bad, "it is not a regular file"});
    return unreadable(file.error());
  }
  const files::Io<struct stat> status = files::status_of(file->value());
  if (!status) return unreadable(status.error());
  if (std::string reason = distrust(*status); !reason.empty())
    return bad(std::move(reason), *status);

  OpenEntry entry;
  entry.file = std::move(*file);
  entry.status = *status;
  entry.header.resize(kFixedHeaderBytes);
  const auto read_on = [&](std::span<std::byte> bytes) -> std::optional<Refusal> {
    const files::Io<size_t> got = files::read_all(entry.file.value(), bytes);
    if (!got) return unreadable(got.error()).error();
    if (*got != bytes.size()) return bad("it was cut off", entry.status).error();
    return std::nullopt;
  };
  if (auto refusal = read_on(entry.header)) return std::unexpected(std::move(*refusal));
  if (std::string reason = parse_fixed(entry); !reason.empty())
    return bad(std::move(reason), *status);
  if (entry.payload_bytes > max_payload_bytes)
    return bad(fmt::format("it is too large ({} bytes)", entry.payload_bytes), *status);
  entry.header.resize(kMinHeaderBytes + entry.about.size());
  if (auto refusal = read_on(std::span(entry.header).subspan(kFixedHeaderBytes)))
    return std::unexpected(std::move(*refusal));
  std::memcpy(entry.about.data(), entry.header.data() + kFixedHeaderBytes, entry.about.size());
  return entry;
}

std::expected<std::vector<std::byte>, Refusal> read_payload(const OpenEntry& entry,
                                                            const Secret& secret) {
  std::vector<std::byte> payload;
  try {
    payload.resize(entry.payload_bytes);
  } catch (const std::bad_alloc&) {
    return unreadable(ENOMEM);
  }
  const files::Io<size_t> got = files::read_all(entry.file.value(), payload);
  if (!got) return unreadable(got.error());
  if (*got != payload.size()) return bad("it was cut off", entry.status);
  const std::span<const std::byte> header = entry.header;
  const auto checksum = checksum_of(header.first(header.size() - kChecksumBytes), payload, secret);
  if (sodium_memcmp(checksum.data(), header.last(kChecksumBytes).data(), checksum.size()) != 0)
    return bad("its checksum is wrong", entry.status);
  return payload;
}

}  // namespace vyre::pipeline
