// SPDX-License-Identifier: Apache-2.0
#include "lsp/framing.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace vyre::lsp {

namespace {

constexpr std::string_view kLength = "content-length";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view name, std::string_view wanted) {
  return std::ranges::equal(name, wanted, [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Where "Content-Length" begins again, however it is written.
size_t find_header(std::string_view text) {
  const auto it = std::search(text.begin(), text.end(), kLength.begin(), kLength.end(),
                              [](char a, char b) { return lower(a) == b; });
  return it == text.end() ? std::string_view::npos : static_cast<size_t>(it - text.begin());
}

}  // namespace

Frame Framer::broken(std::string error) {
  lost_ = true;
  length_.reset();
  return {"", std::move(error)};
}

std::optional<Frame> Framer::next() {
  if (discard_ > 0) {
    const auto gone = static_cast<size_t>(std::min<uint64_t>(discard_, buffer_.size()));
    buffer_.erase(0, gone);
    discard_ -= gone;
    if (discard_ > 0) return std::nullopt;
  }
  if (lost_) {
    const size_t at = find_header(buffer_);
    if (at == std::string_view::npos) {
      // Its beginning may be there already.
      if (buffer_.size() > kLength.size()) buffer_.erase(0, buffer_.size() - kLength.size());
      return std::nullopt;
    }
    buffer_.erase(0, at);
    lost_ = false;
  }
  if (!length_)
    if (auto failed = read_headers()) return failed;
  if (!length_ || buffer_.size() < *length_) return std::nullopt;
  const auto bytes = static_cast<size_t>(*length_);
  Frame frame{buffer_.substr(0, bytes), ""};
  buffer_.erase(0, bytes);
  length_.reset();
  return frame;
}

std::optional<Frame> Framer::read_headers() {
  const size_t crlf = buffer_.find("\r\n\r\n");
  const size_t lf = buffer_.find("\n\n");
  const size_t end = std::min(crlf, lf);
  if (end == std::string::npos || end > kMaxHeaderBytes) {
    if (end == std::string::npos && buffer_.size() <= kMaxHeaderBytes) return std::nullopt;
    buffer_.erase(0, 1);  // else it would be found again
    return broken(fmt::format("a header of more than {} bytes", kMaxHeaderBytes));
  }
  std::string_view headers = std::string_view(buffer_).substr(0, end);
  std::optional<uint64_t> length;
  std::string wrong;
  while (!headers.empty() && wrong.empty()) {
    const size_t line_end = std::min(headers.find('\n'), headers.size());
    const std::string_view line = trimmed(headers.substr(0, line_end));
    headers.remove_prefix(std::min(line_end + 1, headers.size()));
    const size_t colon = line.find(':');
    if (line.empty()) continue;
    if (colon == std::string_view::npos) {
      wrong = "a header without a `:`";
    } else if (same_name(trimmed(line.substr(0, colon)), kLength)) {
      const std::string_view digits = trimmed(line.substr(colon + 1));
      uint64_t value = 0;
      const auto [at, error] = std::from_chars(digits.begin(), digits.end(), value);
      if (error != std::errc() || at != digits.end() || length)
        wrong = "a Content-Length that is no number of bytes";
      length = value;
    }
  }
  buffer_.erase(0, end + (crlf == end ? 4 : 2));
  if (wrong.empty() && !length) wrong = "headers without a Content-Length";
  if (!wrong.empty()) return broken(std::move(wrong));
  if (*length > kMaxMessageBytes) {
    discard_ = *length;
    return Frame{"", fmt::format("a message of {} bytes, more than {}", *length, kMaxMessageBytes)};
  }
  length_ = length;
  return std::nullopt;
}

std::string framed(std::string_view body) {
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

}  // namespace vyre::lsp
