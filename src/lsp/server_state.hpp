// SPDX-License-Identifier: Apache-2.0
// The parts of the server that its two sources share.
#pragma once

#include <expected>

#include <nlohmann/json.hpp>

#include "lsp/server.hpp"

namespace vyre::lsp {

using Json = nlohmann::json;

struct Server::Open {
  std::string uri;
  std::string text;
  std::optional<int64_t> version;
  std::unique_ptr<Analysis> analysis;  // of the text; none: it changed
  bool published = false;              // what is wrong with it, as it is now

  const Analysis& analysed();
};

struct Server::Message {
  Json id;  // discarded: a notification
  std::string method;
  Json params;
  bool cancelled = false;
  [[nodiscard]] bool is_request() const { return !id.is_discarded(); }
};

struct Refusal {
  Fault fault = Fault::InvalidParams;
  std::string why;
};
using Answer = std::expected<Json, Refusal>;

// What is done for each method. Requests give their result; notifications give nothing.
struct Server::Methods {
  Server& s;
  // None: there is no such method.
  std::optional<Answer> request(const std::string& method, const Json& params);
  void notification(const std::string& method, const Json& params);

  Answer initialize(const Json& params);
  Answer shutdown(const Json& params);
  Answer hover(const Json& params);
  Answer definition(const Json& params);
  Answer references(const Json& params);
  Answer highlights(const Json& params);
  Answer prepare_rename(const Json& params);
  Answer rename(const Json& params);
  Answer completion(const Json& params);
  Answer formatting(const Json& params);
  Answer code_actions(const Json& params);
  Answer inlay_hints(const Json& params);
  Answer symbols(const Json& params);

  void did_open(const Json& params);
  void did_change(const Json& params);
  void did_close(const Json& params);

  // ---- parts of messages
  struct At {
    Open* open = nullptr;
    size_t offset = 0;
  };
  std::expected<Open*, Refusal> document(const Json& params);
  std::expected<At, Refusal> at(const Json& params);
  std::expected<Span, Refusal> range(const Open& open, const Json& json);
  [[nodiscard]] Json range_of(const Analysis& a, Span span) const;
  [[nodiscard]] Json edit_of(const Analysis& a, const Edit& edit) const;
  [[nodiscard]] Json location_of(const Open& open, const Analysis& a, Span span) const;
  [[nodiscard]] Json diagnostic_of(const Open& open, const Analysis& a, const Diagnostic& d) const;
};

// The member of an object, or null for anything else.
const Json& member(const Json& json, const char* name);

}  // namespace vyre::lsp
