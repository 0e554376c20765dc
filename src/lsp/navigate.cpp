// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "lsp/queries.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::lsp {

namespace {

// The declaration of the name at the place.
std::optional<uint32_t> declaration_at(const Analysis& a, size_t offset) {
  const auto token = a.token_at(offset);
  if (!token || a.tokens[*token].kind != text::TokenKind::Name) return std::nullopt;
  return a.names.declared_by(*token);
}

// What a name may not be where it is new.
std::optional<std::string> unusable(const std::string& name) {
  if (!ir::is_identifier(name))
    return fmt::format("'{}' is no name: letters, digits and _, not starting with a digit", name);
  if (ir::is_reserved(name)) return fmt::format("'{}' is a word of the language", name);
  if (name.size() > ir::kMaxNameBytes)
    return fmt::format("a name has at most {} bytes", ir::kMaxNameBytes);
  return std::nullopt;
}

// Whether both texts use their names alike: every name stands for the same declaration.
bool same_names(const Analysis& a, const Analysis& b) {
  return a.tokens.size() == b.tokens.size() &&
         std::ranges::equal(a.names.uses, b.names.uses, [&](const Use& x, const Use& y) {
           return x.token == y.token && a.names.declarations[x.declaration].token ==
                                            b.names.declarations[y.declaration].token;
         });
}

}  // namespace

std::optional<Span> definition(const Analysis& a, size_t offset) {
  const auto declaration = declaration_at(a, offset);
  if (!declaration) return std::nullopt;
  return a.span_of(a.names.declarations[*declaration].token);
}

std::vector<Span> references(const Analysis& a, size_t offset, bool with_declaration) {
  std::vector<Span> spans;
  const auto declaration = declaration_at(a, offset);
  if (!declaration) return spans;
  const uint32_t own = a.names.declarations[*declaration].token;
  for (const Use& use : a.names.uses)
    if (use.declaration == *declaration && (with_declaration || use.token != own))
      spans.push_back(a.span_of(use.token));
  return spans;
}

std::optional<Span> renamable(const Analysis& a, size_t offset) {
  const auto declaration = declaration_at(a, offset);
  // What a module is called is decided elsewhere.
  if (!declaration || a.names.declarations[*declaration].kind == Declaration::Kind::Module)
    return std::nullopt;
  return a.span_of(*a.token_at(offset));
}

std::expected<std::vector<Edit>, std::string> rename(const Analysis& a, size_t offset,
                                                     const std::string& name) {
  if (!renamable(a, offset)) return std::unexpected("there is no name here that can be changed");
  if (const auto why = unusable(name)) return std::unexpected(*why);
  std::vector<Edit> edits;
  for (const Span span : references(a, offset, true)) edits.push_back({span, name});
  const auto after = analyse(edited(a.text, edits), a.file);
  if (!same_names(a, *after))
    return std::unexpected(fmt::format("'{}' stands for something else there", name));
  if (after->diagnostics.errors() > a.diagnostics.errors())
    return std::unexpected(
        fmt::format("'{}' does not fit: {}", name, after->diagnostics.list().front().message));
  return edits;
}

std::vector<Symbol> symbols(const Analysis& a) {
  std::vector<Symbol> list;
  for (uint32_t i = 0; i < a.names.declarations.size(); ++i) {
    const Declaration& d = a.names.declarations[i];
    const bool is_local = d.kind == Declaration::Kind::Let || d.kind == Declaration::Kind::Var ||
                          d.kind == Declaration::Kind::For || d.kind == Declaration::Kind::Param;
    if (is_local) continue;
    list.push_back({d.kind, std::string(d.name), signature_of(a, i), a.span_of(d.token)});
  }
  std::ranges::sort(list, {}, [](const Symbol& s) { return s.name_span.first; });
  return list;
}

}  // namespace vyre::lsp
