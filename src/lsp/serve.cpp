// SPDX-License-Identifier: Apache-2.0
#include "lsp/serve.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "lsp/framing.hpp"
#include "lsp/server.hpp"

namespace vyre::lsp {

namespace {

constexpr int kWatchMs = 3000;  // how often it is seen whether the client still lives

bool write_all(int output, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(output, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool send_output(Server& server, int output) {
  for (const std::string& body : server.take_output())
    if (!write_all(output, framed(body))) return false;
  return true;
}

// More to read within the time. False: nothing, or a signal came.
bool is_readable(int input, int timeout_ms) {
  pollfd entry{input, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

bool is_gone(int64_t process) {
  return process > 0 && process <= INT32_MAX && ::kill(static_cast<pid_t>(process), 0) != 0 &&
         errno == ESRCH;
}

}  // namespace

int serve(int input, int output, const std::string& version) {
  Server server(version);
  Framer framer;
  std::vector<char> chunk(size_t{64} << 10);
  while (true) {
    if (!is_readable(input, kWatchMs)) {
      if (is_gone(server.client_process())) return server.code_of_end();
      continue;
    }
    const ssize_t got = ::read(input, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) framer.feed({chunk.data(), static_cast<size_t>(got)});
    while (const auto frame = framer.next()) {
      if (frame->error.empty())
        server.receive(frame->body);
      else
        server.receive_broken(frame->error);
    }
    // What came together is taken together: of many keystrokes only the last is looked at, and a
    // request that is cancelled is not done.
    if (got > 0 && is_readable(input, 0)) continue;
    server.work();
    if (!send_output(server, output)) return 1;
    if (server.exit_code()) return *server.exit_code();
    if (got <= 0) return server.code_of_end();
  }
}

}  // namespace vyre::lsp
