// SPDX-License-Identifier: Apache-2.0
#include "lsp/server.hpp"

#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "lsp/server_state.hpp"

namespace vyre::lsp {

namespace {

bool is_id(const Json& id) {
  return id.is_string() || id.is_number_integer() || id.is_null();
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The path of "file:///a%20b"; "<name>" for a text that is no file of this machine.
std::string file_of(const std::string& uri) {
  constexpr std::string_view kScheme = "file:///";
  if (!uri.starts_with(kScheme)) return fmt::format("<{}>", uri.substr(uri.find_last_of('/') + 1));
  std::string path;
  for (size_t i = kScheme.size() - 1; i < uri.size(); ++i) {
    const bool coded = uri[i] == '%' && i + 2 < uri.size() && digit_of(uri[i + 1]) >= 0 &&
                       digit_of(uri[i + 2]) >= 0;
    path += coded ? static_cast<char>(digit_of(uri[i + 1]) * 16 + digit_of(uri[i + 2])) : uri[i];
    if (coded) i += 2;
  }
  return path;
}

}  // namespace

const Json& member(const Json& json, const char* name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto it = json.find(name);
  return it == json.end() ? kNull : *it;
}

const Analysis& Server::Open::analysed() {
  if (!analysis) analysis = analyse(text, file_of(uri));
  return *analysis;
}

Server::Server(std::string version) : version_(std::move(version)) {}
Server::~Server() = default;

std::vector<std::string> Server::take_output() {
  return std::exchange(output_, {});
}

void Server::send(const Json& message) {
  output_.push_back(message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Server::respond(const Json& id, const Json& result) {
  send({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

void Server::refuse(const Json& id, Fault fault, const std::string& why) {
  send({{"jsonrpc", "2.0"},
        {"id", id},
        {"error", {{"code", static_cast<int>(fault)}, {"message", why}}}});
}

void Server::notify(const char* method, const Json& params) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

void Server::receive_broken(const std::string& error) {
  refuse(nullptr, Fault::ParseError, error);
}

void Server::receive(std::string message) {
  Json json = Json::parse(message, nullptr, false);
  if (json.is_discarded()) return refuse(nullptr, Fault::ParseError, "this is not JSON");
  if (!json.is_object())
    return refuse(nullptr, Fault::InvalidRequest, "a message is an object; there are no batches");
  const bool has_id = json.contains("id");
  const Json& method = member(json, "method");
  const Json id = has_id ? member(json, "id") : Json();
  if (has_id && !is_id(id))
    return refuse(nullptr, Fault::InvalidRequest, "an id is a string or a whole number");
  if (!method.is_string()) {
    // An answer: nothing is asked of the client, so there is nothing to do with it.
    const bool answer = has_id && (json.contains("result") || json.contains("error"));
    if (!answer) refuse(id, Fault::InvalidRequest, "a message has a method");
    return;
  }
  Message taken{has_id ? id : Json(Json::value_t::discarded), method.get<std::string>(),
                std::move(json["params"])};
  if (taken.method == "$/cancelRequest" && !taken.is_request()) {
    const Json& cancelled = member(taken.params, "id");
    for (Message& waiting : waiting_)
      if (waiting.is_request() && waiting.id == cancelled) waiting.cancelled = true;
    return;
  }
  waiting_.push_back(std::move(taken));
}

void Server::work() {
  while (!waiting_.empty() && !exit_code_) {
    Message message = std::move(waiting_.front());
    waiting_.pop_front();
    const auto failed = [&](const char* why) {
      if (message.is_request()) refuse(message.id, Fault::InternalError, why);
    };
    try {
      handle(message);
    } catch (const std::bad_alloc&) {
      failed("out of memory");
    } catch (const std::exception& error) {
      failed(error.what());
    }
  }
  if (!exit_code_) publish();
}

void Server::handle(Message& message) {
  Methods methods{*this};
  if (!message.is_request()) {
    if (message.method == "exit") {
      exit_code_ = code_of_end();
    } else if (initialized_ && !shut_down_) {
      methods.notification(message.method, message.params);
    }
    return;
  }
  if (message.cancelled)
    return refuse(message.id, Fault::RequestCancelled, "the request was cancelled");
  if (shut_down_) return refuse(message.id, Fault::InvalidRequest, "the server is shut down");
  const bool starts = message.method == "initialize";
  if (!initialized_ && !starts)
    return refuse(message.id, Fault::NotInitialized, "the first request is `initialize`");
  if (initialized_ && starts)
    return refuse(message.id, Fault::InvalidRequest, "`initialize` comes once");
  const std::optional<Answer> answer = methods.request(message.method, message.params);
  if (!answer)
    return refuse(message.id, Fault::MethodNotFound,
                  fmt::format("there is no method '{}'", message.method));
  if (*answer)
    respond(message.id, **answer);
  else
    refuse(message.id, answer->error().fault, answer->error().why);
}

void Server::publish() {
  const Methods methods{*this};
  for (auto& [uri, open] : open_) {
    if (std::exchange(open->published, true)) continue;
    const Analysis& a = open->analysed();
    Json list = Json::array();
    for (const Diagnostic& d : a.diagnostics.list())
      list.push_back(methods.diagnostic_of(*open, a, d));
    Json params{{"uri", uri}, {"diagnostics", std::move(list)}};
    if (open->version) params["version"] = *open->version;
    notify("textDocument/publishDiagnostics", params);
    if (a.stopped)
      notify("window/logMessage",
             {{"type", 2}, {"message", "checking " + uri + " took too long and was given up"}});
  }
}

}  // namespace vyre::lsp
