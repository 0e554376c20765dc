// SPDX-License-Identifier: Apache-2.0
// The language server without a process: messages go in, messages come out. It never fails: what
// is wrong with a message is answered by an error of JSON-RPC, or dropped where the protocol has no
// answer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lsp/document.hpp"

namespace vyre::lsp {

// Error codes of JSON-RPC and the protocol.
enum class Fault : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  NotInitialized = -32002,
  RequestFailed = -32803,
  RequestCancelled = -32800,
};

class Server {
 public:
  explicit Server(std::string version);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes a message. It waits until work(), so that what cancels it can still come.
  void receive(std::string message);
  // A stream that could not be read.
  void receive_broken(const std::string& error);
  // Does all that waits, then says what is wrong with the texts that changed.
  void work();
  // What the client is to get, bodies without headers.
  std::vector<std::string> take_output();

  // 0 after `shutdown` and `exit`, 1 after `exit` alone or a stream that ends.
  [[nodiscard]] std::optional<int> exit_code() const { return exit_code_; }
  [[nodiscard]] int code_of_end() const { return shut_down_ ? 0 : 1; }
  // The client's process, to end with; 0: not known.
  [[nodiscard]] int64_t client_process() const { return client_; }

 private:
  struct Open;
  struct Message;
  struct Methods;  // server_methods.cpp: what is done for each method

  void handle(Message& message);
  void respond(const nlohmann::json& id, const nlohmann::json& result);
  void refuse(const nlohmann::json& id, Fault fault, const std::string& why);
  void notify(const char* method, const nlohmann::json& params);
  void send(const nlohmann::json& message);
  void publish();

  std::string version_;
  std::deque<Message> waiting_;
  std::vector<std::string> output_;
  std::map<std::string, std::unique_ptr<Open>> open_;
  Encoding encoding_ = Encoding::Utf16;
  bool initialized_ = false;
  bool shut_down_ = false;
  bool related_ = false;  // the client shows related places of a diagnostic
  int64_t client_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace vyre::lsp
