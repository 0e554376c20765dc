// SPDX-License-Identifier: Apache-2.0
// The frame, declarations and headers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/stop.hpp"
#include "ir/binary_decoder.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::ir {

namespace binary {

Result<Program> Decoder::run() {
  start();
  in_section(Section::Declarations, [&] { declarations(); });
  in_section(Section::Header, [&] { header(); });
  in_section(Section::Functions, [&] { functions(); });
  in_section(Section::Body, [&] { body(); });
  if (in_.ok() && in_.remaining() != 0)
    in_.malformed(in_.offset(), "expected the end of the bytes, found more");
  if (in_.ok() && version_ != needed_)
    in_.malformed(kMagic.size(), fmt::format("the bytes are of format version {}, the program in "
                                             "them is written with version {}",
                                             version_, needed_));
  if (in_.ok()) return std::move(p_);
  const Diagnostic& found = in_.diagnostic();
  Error error;
  error.code = ErrorCode::InvalidProgram;
  error.message = fmt::format("the bytes are no program: {}. Fix: {}", found.message, found.fix);
  error.diagnostics.push_back(found);
  return std::unexpected(std::move(error));
}

void Decoder::start() {
  const size_t shared = std::min(bytes_.size(), kMagic.size());
  const bool same =
      std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(shared),
                 bytes_.begin(), [](uint8_t a, std::byte b) { return std::byte{a} == b; });
  if (!same || bytes_.size() < kMagic.size()) {
    in_.fail(Code::NotAProgramFile, 0, "expected the first bytes of an encoded program",
             "give a program text, or bytes that vyre wrote");
    return;
  }
  for (size_t i = 0; i < kMagic.size(); ++i) in_.u8("the first bytes");
  version_ = in_.u32("the version");
  if (in_.ok() && (version_ < kFirstVersion || version_ > kBinaryVersion)) {
    in_.fail(Code::NotAProgramFile, kMagic.size(),
             fmt::format("the program is of format version {}, this build reads versions {} to {}",
                         version_, kFirstVersion, kBinaryVersion),
             "encode the program with the same release of vyre that reads it");
    return;
  }
  const uint32_t length = in_.u32("the length");
  if (!in_.ok()) return;
  if (length != bytes_.size() || length > kMaxBytes)
    in_.malformed(kMagic.size() + 4,
                  fmt::format("the length says {} bytes, there are {}, and at most {} are "
                              "allowed",
                              length, bytes_.size(), kMaxBytes));
}

void Decoder::take_node() {
  poll_stop();
  if (++nodes_ > kMaxNodes)
    in_.malformed(in_.offset(), fmt::format("the program has more than {} nodes", kMaxNodes));
}

uint32_t Decoder::node_count(std::string_view what) {
  const size_t start = in_.offset();
  const uint32_t count = in_.count(what);
  if (count <= kMaxNodes) return count;
  in_.malformed(start, fmt::format("the program has more than {} nodes", kMaxNodes));
  return 0;
}

uint32_t at_least_one(Reader& in, std::string_view what) {
  const size_t start = in.offset();
  const uint32_t count = in.count(what);
  if (count == 0) in.malformed(start, fmt::format("expected {}, found 0", what));
  return count;
}

std::string name_in(Reader& in, std::string_view what) {
  const size_t start = in.offset();
  std::string text = in.string(kMaxNameBytes, Code::NameTooLong, what);
  if (!in.ok()) return text;
  if (!is_identifier(text))
    in.fail(Code::InvalidName, start, fmt::format("{} is no name", what),
            "use letters, digits and _, and no digit first");
  else if (is_reserved(text))
    in.fail(Code::ReservedName, start, fmt::format("`{}` is reserved and cannot be {}", text, what),
            "use another name");
  return text;
}

std::optional<Type> optional_type_in(Reader& in) {
  const uint8_t value = in.tag<uint8_t>(kTypeCount + 1, "a type or none");
  return value == 0 ? std::nullopt : std::optional(static_cast<Type>(value - 1));
}

void Decoder::declarations() {
  p_.name = name_in(in_, "the name of the program");
  const uint32_t consts = node_count("the number of constants");
  p_.consts.reserve(consts);
  for (uint32_t i = 0; i < consts && in_.ok(); ++i) {
    take_node();
    Const constant;
    constant.name = name_in(in_, "the name of a constant");
    constant.type = type_in(in_);
    constant.table = in_.flag("whether the constant is a table");
    p_.add(std::move(constant));
  }
  const uint32_t buffers = node_count("the number of buffers");
  p_.buffers.reserve(buffers);
  for (uint32_t i = 0; i < buffers && in_.ok(); ++i) {
    take_node();
    Buffer buffer;
    buffer.name = name_in(in_, "the name of a buffer");
    buffer.kind = buffer_kind();
    buffer.element = type_in(in_, "an element type");
    p_.add(std::move(buffer));
  }
  const uint32_t fns = node_count("the number of functions");
  p_.fns.reserve(fns);
  for (uint32_t i = 0; i < fns && in_.ok(); ++i) {
    take_node();
    Fn fn;
    fn.name = name_in(in_, "the name of a function");
    p_.add(std::move(fn));
  }
}

BufferKind Decoder::buffer_kind() {
  const size_t start = in_.offset();
  const uint8_t byte = in_.u8("a kind of buffer");
  const auto kind = static_cast<uint8_t>(byte & ~kHasMoreParts);
  if (kind >= kBufferKindCount) in_.unknown_tag(start, byte, "a kind of buffer");
  if ((byte & kHasMoreParts) != 0 || kind == static_cast<uint8_t>(BufferKind::Scratch)) needs(2);
  more_parts_.push_back((byte & kHasMoreParts) != 0);
  return kind < kBufferKindCount ? static_cast<BufferKind>(kind) : BufferKind::In;
}

Range Decoder::shape() {
  const size_t start = in_.offset();
  const uint8_t count = in_.u8("the number of axes");
  if (in_.ok() && (count < 2 || count > kMaxAxes))
    in_.malformed(start, fmt::format("expected 2 to {} axes, found {}", kMaxAxes, count));
  if (!in_.ok()) return {};
  return p_.add_values(exprs(count));
}

void Decoder::header() {
  p_.workgroup = axes(1, "the number of workgroup axes");
  p_.over = axes(0, "the number of axes of `over`");
  for (Const& constant : p_.consts) {
    if (!in_.ok()) return;
    const uint32_t count =
        constant.table ? at_least_one(in_, "the number of values of a table") : 1;
    constant.values = p_.add_values(exprs(count));
  }
  for (size_t i = 0; i < p_.buffers.size(); ++i) {
    if (!in_.ok()) return;
    buffer_parts(p_.buffers[i], more_parts_[i]);
  }
  const uint32_t requires_count = node_count("the number of requirements");
  p_.require_list.reserve(requires_count);
  uint32_t least = 0;
  for (uint32_t i = 0; i < requires_count && in_.ok(); ++i) {
    take_node();
    const size_t start = in_.offset();
    Require require;
    require.buffers_before = static_cast<uint32_t>(
        in_.varint(p_.buffers.size(), "the number of buffers before a requirement"));
    if (require.buffers_before < least) in_.malformed(start, "requirements are not in order");
    least = require.buffers_before;
    require.message = in_.string(SIZE_MAX, Code::MalformedBytes, "the message of a requirement");
    require.condition = expr();
    p_.add(std::move(require));
  }
}

std::array<ExprId, 3> Decoder::axes(uint8_t least, std::string_view what) {
  std::array<ExprId, 3> ids;
  const size_t start = in_.offset();
  const uint8_t count = in_.tag<uint8_t>(4, what);
  if (count < least) in_.unknown_tag(start, count, what);
  for (size_t i = 0; i < count; ++i) ids[i] = expr();
  return ids;
}

std::vector<ExprId> Decoder::exprs(uint32_t count) {
  std::vector<ExprId> ids;
  for (uint32_t i = 0; i < count && in_.ok(); ++i) ids.push_back(expr());
  return ids;
}

void Decoder::buffer_parts(Buffer& b, bool has_more) {
  const uint8_t parts = in_.u8("the parts of a buffer");
  const size_t start = in_.offset();
  const uint8_t more = has_more ? in_.u8("more parts of a buffer") : uint8_t{0};
  if (has_more && in_.ok() && (more == 0 || (more & ~kMoreParts) != 0))
    in_.unknown_tag(start, more, "more parts of a buffer");
  b.scalar = (more & kIsScalar) != 0;
  if (in_.ok() && (parts & kHasCount) != 0 && more != 0)
    in_.malformed(start, "a scalar or a buffer with axes has a count");
  if ((more & kHasAxes) != 0) b.axes = shape();
  if ((parts & kHasCount) != 0) b.count = expr();
  if ((parts & kHasBinding) != 0) b.binding = expr();
  if ((parts & kHasAlign) != 0) b.align = expr();
  if ((parts & kHasSize) != 0) b.size = expr();
  if ((parts & kHasRange) != 0) {
    b.range_first = expr();
    b.range_last = expr();
  }
  b.live_out = (parts & kIsLiveOut) != 0;
  if ((parts & kHasLocality) != 0) {
    const size_t start = in_.offset();
    b.locality = in_.tag<Locality>(4, "a locality");
    if (b.locality == Locality::None) in_.malformed(start, "expected a locality, found none");
  }
  if ((parts & kHasCoalesce) != 0) b.coalesce_axis = in_.tag<uint8_t>(3, "an axis");
}

void Decoder::functions() {
  for (Fn& fn : p_.fns) {
    if (!in_.ok()) return;
    locals_.clear();
    const uint32_t count = in_.count("the number of parameters");
    std::vector<LocalId> params;
    for (uint32_t i = 0; i < count && in_.ok(); ++i) params.push_back(param());
    fn.params = p_.add_params(params);
    fn.result = optional_type_in(in_);
    fn.body = block(1);
  }
}

LocalId Decoder::param() {
  const size_t start = in_.offset();
  const uint8_t code = in_.u8("a kind of parameter");
  const bool shaped = code == static_cast<uint8_t>(ParamCode::Shaped);
  if (code != static_cast<uint8_t>(ParamCode::Value) &&
      code != static_cast<uint8_t>(ParamCode::Buffer) && !shaped)
    in_.unknown_tag(start, code, "a kind of parameter");
  if (shaped) needs(2);
  Local local;
  local.kind = code == static_cast<uint8_t>(ParamCode::Value) ? Local::Kind::Param
                                                              : Local::Kind::BufferParam;
  local.name = name_in(in_, "the name of a parameter");
  local.type = type_in(in_);
  if (shaped) {
    const size_t at = in_.offset();
    local.rank = in_.u8("the number of axes");
    if (in_.ok() && (local.rank < 2 || local.rank > kMaxAxes))
      in_.malformed(at, fmt::format("expected 2 to {} axes, found {}", kMaxAxes, local.rank));
  }
  return declare(std::move(local));
}

void Decoder::body() {
  locals_.clear();
  const size_t start = in_.offset();
  p_.body = block(0);
  if (in_.ok() && !top_level_stands(p_, p_.items(p_.body)))
    in_.fail(Code::RegionRule, start,
             "a statement at the top level is no region, barrier, collective or fixpoint",
             "put the statements of the program into one region");
}

}  // namespace binary

bool is_encoded(std::span<const std::byte> bytes) {
  return bytes.size() >= binary::kMagic.size() &&
         std::equal(binary::kMagic.begin(), binary::kMagic.end(), bytes.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

Result<Program> decode(std::span<const std::byte> bytes) {
  return binary::Decoder(bytes).run();
}

}  // namespace vyre::ir
