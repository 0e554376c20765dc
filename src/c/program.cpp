// SPDX-License-Identifier: Apache-2.0
#include "c/program.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "c/boundary.hpp"
#include "c/config.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::c {

namespace {

// InvalidProgram with all diagnostics; message and position are those of the first error.
Error invalid(Diagnostics diagnostics) {
  diagnostics.sort();
  Error error;
  error.code = ErrorCode::InvalidProgram;
  const auto first = std::ranges::find(diagnostics.list(), Severity::Error, &Diagnostic::severity);
  if (first != diagnostics.list().end()) {
    error.message = first->message + ". Fix: " + first->fix;
    error.at = first->at;
  }
  error.diagnostics = diagnostics.list();
  return error;
}

Json or_null(const std::optional<uint32_t>& value) {
  return value ? Json(*value) : Json();
}

Json buffers_json(const check::CheckedProgram& checked) {
  Json list = Json::array();
  for (size_t i = 0; i < checked.buffers.size(); ++i) {
    const ir::Buffer& declared = checked.program.buffers[i];
    const check::BufferFacts& facts = checked.buffers[i];
    Json row;
    row["name"] = declared.name;
    row["kind"] = name_of(declared.kind);
    row["type"] = name_of(declared.element);
    row["element_bytes"] = bytes_of(declared.element);
    row["count"] = or_null(facts.constant_count);
    row["input"] = or_null(facts.input_slot);
    row["output"] = or_null(facts.output_slot);
    row["binding"] = or_null(facts.binding);
    row["align"] = facts.align;
    row["written"] = !ir::is_read_only(declared.kind);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

vyre_error* parse(const Text& text, const StopCondition& stop,
                  std::shared_ptr<const Source>& to) noexcept {
  const auto source = std::unique_ptr<Source>(new (std::nothrow) Source);
  if (source == nullptr) return out_of_memory();
  return guarded(source.get(), [&]() -> Result<void> {
    source->file = text.file == nullptr ? "<program>" : text.file;
    source->text = text.text;
    const StopScope scope(stop);
    text::Parsed parsed = text::parse(source->text, source->file);
    const bool broken = parsed.diagnostics.has_errors();
    check::Checked checked = check::check(std::move(parsed.program), broken);
    source->diagnostics = std::move(parsed.diagnostics);
    source->diagnostics.append(std::move(checked.diagnostics));
    if (broken || !checked.program) return std::unexpected(invalid(std::move(source->diagnostics)));
    source->diagnostics.sort();
    source->checked = std::make_shared<const check::CheckedProgram>(std::move(*checked.program));
    to = std::make_shared<const Source>(std::move(*source));
    return {};
  });
}

}  // namespace vyre::c

using vyre::Result;
using vyre::c::guarded;
using vyre::c::require;

vyre_error* vyre_program_parse(const char* text, size_t size, const char* file,
                               const vyre_options* options, vyre_program** program) {
  vyre::c::Config config;
  vyre_error* refused = guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(vyre::c::require_bytes(text, size, "text"));
    VYRE_TRY_ASSIGN(config, vyre::c::config_of(options, nullptr));
    return {};
  });
  if (refused != nullptr) return refused;
  std::shared_ptr<const vyre::c::Source> source;
  refused = vyre::c::parse({{text, size}, file}, vyre::c::stop_of(config), source);
  if (refused != nullptr) return refused;
  return guarded([&]() -> Result<void> {
    auto made = std::make_unique<vyre_program>();
    made->source = std::move(source);
    *program = made.release();
    return {};
  });
}

vyre_error* vyre_program_decode(const void* bytes, size_t size, vyre_program** program) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(vyre::c::require_bytes(bytes, size, "bytes"));
    VYRE_TRY_ASSIGN(auto decoded,
                    vyre::ir::decode(std::span(static_cast<const std::byte*>(bytes), size)));
    auto checked = vyre::check::check(std::move(decoded));
    if (!checked.program) return std::unexpected(vyre::c::invalid(std::move(checked.diagnostics)));
    auto source = std::make_shared<vyre::c::Source>();
    source->diagnostics = std::move(checked.diagnostics);
    source->checked =
        std::make_shared<const vyre::check::CheckedProgram>(std::move(*checked.program));
    auto made = std::make_unique<vyre_program>();
    made->source = std::move(source);
    *program = made.release();
    return {};
  });
}

vyre_error* vyre_program_text(vyre_program* program, vyre_data** text) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(text, "text"));
    vyre::c::give(text, vyre::text::print(program->source->checked->program));
    return {};
  });
}

vyre_error* vyre_program_bytes(vyre_program* program, vyre_data** bytes) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(bytes, "bytes"));
    const std::vector<std::byte> encoded = vyre::ir::encode(program->source->checked->program);
    vyre::c::give(bytes,
                  std::string(reinterpret_cast<const char*>(encoded.data()), encoded.size()));
    return {};
  });
}

vyre_error* vyre_program_digest(vyre_program* program, uint8_t digest[32]) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(digest, "digest"));
    const vyre::Digest made = vyre::ir::digest_of(program->source->checked->program);
    std::memcpy(digest, made.bytes.data(), made.bytes.size());
    return {};
  });
}

vyre_error* vyre_program_buffers(vyre_program* program, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(json, "json"));
    vyre::c::give(json, vyre::c::buffers_json(*program->source->checked));
    return {};
  });
}

vyre_error* vyre_program_diagnostics(vyre_program* program, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(json, "json"));
    vyre::c::give(json, vyre::render_json(program->source->diagnostics));
    return {};
  });
}

vyre_program* vyre_program_retain(vyre_program* program) {
  return vyre::c::retain(program);
}
void vyre_program_release(vyre_program* program) {
  vyre::c::release(program);
}
