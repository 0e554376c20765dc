// SPDX-License-Identifier: Apache-2.0
// Messages in a stream of bytes: headers, an empty line, then as many bytes as Content-Length says.
// A stream that is not like that gives an error where it breaks, and reading goes on behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vyre::lsp {

inline constexpr uint64_t kMaxMessageBytes = uint64_t{128} << 20;
inline constexpr size_t kMaxHeaderBytes = 4096;

struct Frame {
  std::string body;
  std::string error;  // what is wrong with the stream here; the body is empty then
};

class Framer {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The next message, or error, that is whole.
  std::optional<Frame> next();

 private:
  std::optional<Frame> read_headers();
  Frame broken(std::string error);

  std::string buffer_;
  std::optional<uint64_t> length_;  // of the body that is being read
  uint64_t discard_ = 0;            // bytes of a body that is too long
  bool lost_ = false;               // the next header is searched for
};

std::string framed(std::string_view body);

}  // namespace vyre::lsp
