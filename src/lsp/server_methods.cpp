// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: JSON to places and back. What is asked is answered by queries.hpp.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "lsp/queries.hpp"
#include "lsp/server_state.hpp"
#include "vyre/base/result.hpp"
#include "vyre/text/text.hpp"

namespace vyre::lsp {

namespace {

constexpr size_t kMaxOpen = 1000;

// Numbers of the protocol.
constexpr int kIncremental = 2;
constexpr int kSeverityError = 1;
constexpr int kSeverityWarning = 2;
constexpr int kTagUnnecessary = 1;

std::optional<uint64_t> number(const Json& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  return std::nullopt;
}

std::optional<Place> place(const Json& json) {
  const auto line = number(member(json, "line"));
  const auto character = number(member(json, "character"));
  if (!line || !character) return std::nullopt;
  return Place{*line, *character};
}

bool lists(const Json& json, std::string_view word) {
  return json.is_array() && std::ranges::any_of(json, [&](const Json& entry) {
           return entry.is_string() && entry.get<std::string>() == word;
         });
}

Json json_of(Place place) {
  return {{"line", place.line}, {"character", place.character}};
}

int kind_number(Completion::Kind kind) {
  switch (kind) {
    case Completion::Kind::Local: return 6;      // Variable
    case Completion::Kind::Constant: return 21;  // Constant
    case Completion::Kind::Buffer: return 5;     // Field
    case Completion::Kind::Function: return 3;   // Function
    case Completion::Kind::Type: return 25;      // TypeParameter
    case Completion::Kind::Keyword: return 14;   // Keyword
    case Completion::Kind::Builtin: return 12;   // Value
    case Completion::Kind::Field: return 10;     // Property
  }
  return 1;
}

int kind_number(Declaration::Kind kind) {
  switch (kind) {
    case Declaration::Kind::Program:
    case Declaration::Kind::Module: return 2;  // Module
    case Declaration::Kind::Const:
    case Declaration::Kind::Static: return 14;  // Constant
    case Declaration::Kind::Buffer: return 8;   // Field
    case Declaration::Kind::Fn: return 12;      // Function
    case Declaration::Kind::Struct: return 23;  // Struct
    case Declaration::Kind::Region: return 3;   // Namespace
    case Declaration::Kind::Let:
    case Declaration::Kind::Var:
    case Declaration::Kind::For:
    case Declaration::Kind::Param: return 13;  // Variable
  }
  return 13;
}

}  // namespace

// ---- parts of messages

std::expected<Server::Open*, Refusal> Server::Methods::document(const Json& params) {
  const Json& uri = member(member(params, "textDocument"), "uri");
  if (!uri.is_string())
    return std::unexpected(Refusal{Fault::InvalidParams, "`textDocument.uri` is missing"});
  const auto it = s.open_.find(uri.get<std::string>());
  if (it == s.open_.end())
    return std::unexpected(
        Refusal{Fault::InvalidParams, fmt::format("'{}' is not open", uri.get<std::string>())});
  return it->second.get();
}

std::expected<Server::Methods::At, Refusal> Server::Methods::at(const Json& params) {
  VYRE_TRY_ASSIGN(Open* const open, document(params));
  const auto found = place(member(params, "position"));
  if (!found) return std::unexpected(Refusal{Fault::InvalidParams, "`position` is missing"});
  return At{open, open->analysed().lines.offset_of(*found, s.encoding_)};
}

std::expected<Span, Refusal> Server::Methods::range(const Open& open, const Json& json) {
  const auto first = place(member(json, "start"));
  const auto last = place(member(json, "end"));
  if (!first || !last)
    return std::unexpected(Refusal{Fault::InvalidParams, "`range` is missing or no range"});
  const Lines own = open.analysis ? Lines() : Lines(open.text);
  const Lines& lines = open.analysis ? open.analysis->lines : own;
  const Span span{lines.offset_of(*first, s.encoding_), lines.offset_of(*last, s.encoding_)};
  return Span{std::min(span.first, span.last), std::max(span.first, span.last)};
}

Json Server::Methods::range_of(const Analysis& a, Span span) const {
  return {{"start", json_of(a.lines.place_of(span.first, s.encoding_))},
          {"end", json_of(a.lines.place_of(span.last, s.encoding_))}};
}

Json Server::Methods::edit_of(const Analysis& a, const Edit& edit) const {
  return {{"range", range_of(a, edit.span)}, {"newText", edit.text}};
}

Json Server::Methods::location_of(const Open& open, const Analysis& a, Span span) const {
  return {{"uri", open.uri}, {"range", range_of(a, span)}};
}

Json Server::Methods::diagnostic_of(const Open& open, const Analysis& a,
                                    const Diagnostic& d) const {
  // Of a file that the text uses: the editor may not have it open, so it is said in words.
  const bool elsewhere = !d.at.file.empty() && d.at.file != a.file;
  std::string message =
      elsewhere ? fmt::format("{}:{}:{}: {}", d.at.file, d.at.line, d.at.column, d.message)
                : d.message;
  // There it stands at the use in this text.
  const Position* shown = elsewhere ? nullptr : &d.at;
  for (const Position& use : d.at.used_at)
    if (elsewhere && use.file == a.file) shown = &use;
  const Span span = shown == nullptr ? Span{} : a.lines.span_of(*shown);
  if (!d.fix.empty()) message += "\nFix: " + d.fix;
  Json json{{"range", range_of(a, span)},
            {"severity", d.severity == Severity::Error ? kSeverityError : kSeverityWarning},
            {"code", text_of(d.code)},
            {"source", "vyre"}};
  if (d.code == Code::Unused || d.code == Code::Unreachable)
    json["tags"] = Json::array({kTagUnnecessary});
  if (s.related_ && !d.notes.empty()) {
    json["relatedInformation"] = Json::array();
    for (const Note& note : d.notes)
      if (note.at.file == a.file)
        json["relatedInformation"].push_back(
            {{"location", location_of(open, a, a.lines.span_of(note.at))},
             {"message", note.message}});
  } else {
    for (const Note& note : d.notes)
      message += note.at.known() ? fmt::format("\nline {}: {}", note.at.line, note.message)
                                 : "\n" + note.message;
  }
  json["message"] = std::move(message);
  return json;
}

// ---- the life of the server

Answer Server::Methods::initialize(const Json& params) {
  s.initialized_ = true;
  const Json& client = member(params, "capabilities");
  if (lists(member(member(client, "general"), "positionEncodings"), "utf-8"))
    s.encoding_ = Encoding::Utf8;
  const Json& text = member(client, "textDocument");
  s.related_ = member(member(text, "publishDiagnostics"), "relatedInformation") == true;
  const Json& process = member(params, "processId");
  if (process.is_number_integer()) s.client_ = process.get<int64_t>();
  const Json capabilities{{"positionEncoding", s.encoding_ == Encoding::Utf8 ? "utf-8" : "utf-16"},
                          {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}}},
                          {"hoverProvider", true},
                          {"definitionProvider", true},
                          {"referencesProvider", true},
                          {"documentHighlightProvider", true},
                          {"documentSymbolProvider", true},
                          {"renameProvider", {{"prepareProvider", true}}},
                          {"completionProvider", {{"triggerCharacters", {"@", "."}}}},
                          {"documentFormattingProvider", true},
                          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
                          {"inlayHintProvider", true}};
  return Json{{"capabilities", capabilities},
              {"serverInfo", {{"name", "vyre"}, {"version", s.version_}}}};
}

Answer Server::Methods::shutdown(const Json&) {
  s.shut_down_ = true;
  s.open_.clear();
  return Json();
}

// ---- documents

void Server::Methods::did_open(const Json& params) {
  const Json& document = member(params, "textDocument");
  const Json& uri = member(document, "uri");
  const Json& text = member(document, "text");
  if (!uri.is_string() || !text.is_string() || s.open_.size() >= kMaxOpen) return;
  auto open = std::make_unique<Open>();
  open->uri = uri.get<std::string>();
  open->text = text.get<std::string>();
  if (const Json& version = member(document, "version"); version.is_number_integer())
    open->version = version.get<int64_t>();
  s.open_[open->uri] = std::move(open);
}

void Server::Methods::did_change(const Json& params) {
  const auto found = document(params);
  const Json& changes = member(params, "contentChanges");
  if (!found || !changes.is_array()) return;
  Open& open = **found;
  for (const Json& change : changes) {
    const Json& text = member(change, "text");
    if (!text.is_string()) continue;
    if (const Json& where = member(change, "range"); where.is_object()) {
      const auto span = range(open, where);
      if (!span) continue;
      open.analysis.reset();
      open.text.replace(span->first, span->last - span->first, text.get_ref<const std::string&>());
    } else {
      open.text = text.get<std::string>();
    }
    open.analysis.reset();
    open.published = false;
  }
  if (const Json& version = member(member(params, "textDocument"), "version");
      version.is_number_integer())
    open.version = version.get<int64_t>();
}

void Server::Methods::did_close(const Json& params) {
  const auto found = document(params);
  if (!found) return;
  const std::string uri = (*found)->uri;
  s.open_.erase(uri);
  // Nobody looks at them any more.
  s.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
}

// ---- questions

Answer Server::Methods::hover(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  const auto found = lsp::hover(a, where.offset);
  if (!found) return Json();
  return Json{{"contents", {{"kind", "markdown"}, {"value", found->markdown}}},
              {"range", range_of(a, found->span)}};
}

Answer Server::Methods::definition(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  const auto span = lsp::definition(a, where.offset);
  return span ? location_of(*where.open, a, *span) : Json();
}

Answer Server::Methods::references(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  const bool with = member(member(params, "context"), "includeDeclaration") == true;
  Json list = Json::array();
  for (const Span span : lsp::references(a, where.offset, with))
    list.push_back(location_of(*where.open, a, span));
  return list;
}

Answer Server::Methods::highlights(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  Json list = Json::array();
  for (const Span span : lsp::references(a, where.offset, true))
    list.push_back({{"range", range_of(a, span)}});
  return list;
}

Answer Server::Methods::prepare_rename(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  const auto span = renamable(a, where.offset);
  if (!span) return Json();
  return Json{{"range", range_of(a, *span)},
              {"placeholder", a.text.substr(span->first, span->last - span->first)}};
}

Answer Server::Methods::rename(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  const Analysis& a = where.open->analysed();
  const Json& name = member(params, "newName");
  if (!name.is_string())
    return std::unexpected(Refusal{Fault::InvalidParams, "`newName` is missing"});
  const auto edits = lsp::rename(a, where.offset, name.get<std::string>());
  if (!edits) return std::unexpected(Refusal{Fault::RequestFailed, edits.error()});
  Json list = Json::array();
  for (const Edit& edit : *edits) list.push_back(edit_of(a, edit));
  return Json{{"changes", {{where.open->uri, std::move(list)}}}};
}

Answer Server::Methods::completion(const Json& params) {
  VYRE_TRY_ASSIGN(const At where, at(params));
  Json list = Json::array();
  for (const Completion& entry : complete(where.open->analysed(), where.offset)) {
    Json item{{"label", entry.label}, {"kind", kind_number(entry.kind)}};
    if (!entry.detail.empty()) item["detail"] = entry.detail;
    if (!entry.markdown.empty())
      item["documentation"] = {{"kind", "markdown"}, {"value", entry.markdown}};
    list.push_back(std::move(item));
  }
  return Json{{"isIncomplete", false}, {"items", std::move(list)}};
}

Answer Server::Methods::formatting(const Json& params) {
  VYRE_TRY_ASSIGN(Open* const open, document(params));
  const Analysis& a = open->analysed();
  const text::Formatted formatted = text::format(a.text, a.file);
  if (!formatted.text)
    return std::unexpected(
        Refusal{Fault::RequestFailed, "a text with syntax errors has no layout"});
  Json list = Json::array();
  // Only what differs, so that the cursor and the places of an editor stay.
  const std::string& old_text = a.text;
  const std::string& new_text = *formatted.text;
  if (new_text == old_text) return list;
  const size_t most = std::min(old_text.size(), new_text.size());
  size_t same = 0;
  while (same < most && old_text[same] == new_text[same]) ++same;
  while (same > 0 && old_text[same - 1] != '\n') --same;  // no character is cut in two
  size_t tail = 0;
  while (tail < most - same &&
         old_text[old_text.size() - 1 - tail] == new_text[new_text.size() - 1 - tail])
    ++tail;
  while (tail > 0 && old_text[old_text.size() - tail - 1] != '\n') --tail;
  const Edit edit{{same, old_text.size() - tail},
                  new_text.substr(same, new_text.size() - tail - same)};
  list.push_back(edit_of(a, edit));
  return list;
}

Answer Server::Methods::code_actions(const Json& params) {
  VYRE_TRY_ASSIGN(Open* const open, document(params));
  const Analysis& a = open->analysed();
  VYRE_TRY_ASSIGN(const Span span, range(*open, member(params, "range")));
  Json list = Json::array();
  const Json& only = member(member(params, "context"), "only");
  if (only.is_array() && !lists(only, "quickfix")) return list;
  for (const Action& action : actions(a, span)) {
    Json edits = Json::array();
    for (const Edit& edit : action.edits) edits.push_back(edit_of(a, edit));
    list.push_back({{"title", action.title},
                    {"kind", "quickfix"},
                    {"diagnostics", Json::array({diagnostic_of(
                                        *open, a, a.diagnostics.list()[action.diagnostic])})},
                    {"edit", {{"changes", {{open->uri, std::move(edits)}}}}}});
  }
  return list;
}

Answer Server::Methods::inlay_hints(const Json& params) {
  VYRE_TRY_ASSIGN(Open* const open, document(params));
  const Analysis& a = open->analysed();
  VYRE_TRY_ASSIGN(const Span span, range(*open, member(params, "range")));
  Json list = Json::array();
  for (const Hint& hint : hints(a, span))
    list.push_back({{"position", json_of(a.lines.place_of(hint.offset, s.encoding_))},
                    {"label", hint.label},
                    {"tooltip", hint.tooltip},
                    {"paddingLeft", true}});
  return list;
}

Answer Server::Methods::symbols(const Json& params) {
  VYRE_TRY_ASSIGN(Open* const open, document(params));
  const Analysis& a = open->analysed();
  Json list = Json::array();
  for (const Symbol& symbol : lsp::symbols(a)) {
    const Json span = range_of(a, symbol.name_span);
    list.push_back({{"name", symbol.name},
                    {"detail", symbol.detail},
                    {"kind", kind_number(symbol.kind)},
                    {"range", span},
                    {"selectionRange", span}});
  }
  return list;
}

// ---- the tables of methods

std::optional<Answer> Server::Methods::request(const std::string& method, const Json& params) {
  using Do = Answer (Methods::*)(const Json&);
  static const std::map<std::string, Do, std::less<>> kRequests = {
      {"initialize", &Methods::initialize},
      {"shutdown", &Methods::shutdown},
      {"textDocument/hover", &Methods::hover},
      {"textDocument/definition", &Methods::definition},
      {"textDocument/references", &Methods::references},
      {"textDocument/documentHighlight", &Methods::highlights},
      {"textDocument/documentSymbol", &Methods::symbols},
      {"textDocument/prepareRename", &Methods::prepare_rename},
      {"textDocument/rename", &Methods::rename},
      {"textDocument/completion", &Methods::completion},
      {"textDocument/formatting", &Methods::formatting},
      {"textDocument/codeAction", &Methods::code_actions},
      {"textDocument/inlayHint", &Methods::inlay_hints},
  };
  const auto it = kRequests.find(method);
  if (it == kRequests.end()) return std::nullopt;
  return (this->*it->second)(params);
}

void Server::Methods::notification(const std::string& method, const Json& params) {
  if (method == "textDocument/didOpen") did_open(params);
  if (method == "textDocument/didChange") did_change(params);
  if (method == "textDocument/didClose") did_close(params);
}

}  // namespace vyre::lsp
