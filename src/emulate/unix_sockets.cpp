// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulate/client_run.hpp"
#include "emulate/server_process.hpp"
#include "emulate/sockets.hpp"
#include "emulate/stream_relay.hpp"

namespace weft::emulate {
namespace {

constexpr const char* kPlaceholder = "{socket}";
constexpr const char* kVariable = "WEFT_SOCKET";
using Seconds = std::chrono::duration<double>;

/// A directory for two sockets, removed when destroyed.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-socket-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  std::string socket_of(const char* side) const { return fmt::format("{}/{}", path_, side); }

 private:
  std::string path_;
};

/// Returns whether a socket of that path accepts connections: the fourth word of its line are its
/// flags.
bool listens_at(const std::string& path) {
  std::ifstream file("/proc/net/unix");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state, inode, name;
    words >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
    if (name == path && flags == "00010000") return true;
  }
  return false;
}

Start start_with(const std::string& socket) {
  return {.environment = {{kVariable, socket}}, .enter = {}};
}

/// Carries the bytes of client and server until the client has ended.
Result<ClientRun> relay_until_ended(pid_t client, StreamRelay& relay) {
  const auto began = std::chrono::steady_clock::now();
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, client, 0));
  if (ended < 0) return Error{ErrorCode::io, "the client cannot be watched: pidfd_open failed"};
  ClientRun ran;
  while (::waitpid(client, &ran.status, WNOHANG) == 0) relay.turn(ended);
  ::close(ended);
  ran.seconds = Seconds(std::chrono::steady_clock::now() - began).count();
  ran.packets = relay.counters().chunks;
  ran.bytes = relay.counters().bytes;
  return ran;
}

Result<ClientRun> run_both(const EmulationRequest& request, const LinkShape& shape,
                           const Directory& directory, int client_output) {
  const std::string server_socket = directory.socket_of("server");
  const std::string client_socket = directory.socket_of("client");
  Start serve = start_with(server_socket);
  serve.words = {"/bin/sh", "-c", with_replaced(request.server, {{kPlaceholder, server_socket}})};
  serve.output = STDERR_FILENO;
  serve.own_group = true;
  serve.reads_input = false;
  Server server(request.server, std::move(serve));
  const auto listens =
      server.await([&] { return listens_at(server_socket); }, "listens at no {socket} after 10 s");
  if (!listens) return listens.error();
  auto relay = StreamRelay::make(client_socket, server_socket, shape);
  if (!relay) return relay.error();
  Start client = start_with(client_socket);
  for (const std::string& word : request.command) {
    client.words.push_back(with_replaced(word, {{kPlaceholder, client_socket}}));
  }
  client.output = client_output;
  const pid_t pid = start_process(std::move(client));
  if (pid < 0) return Error{ErrorCode::io, "no process could be started for the client"};
  auto ran = relay_until_ended(pid, *relay);
  if (!ran) return ran;
  if (auto runs = server.check("while the client ran"); !runs) return runs.error();
  return ran;
}

}  // namespace

bool is_for_unix_socket(const EmulationRequest& request) {
  return request.server.find(kPlaceholder) != std::string::npos;
}

Result<EmulatedRun> run_with_unix_server(const EmulationRequest& request, const LinkShape& shape) {
  const Directory directory;
  if (directory.path().empty()) {
    return Error{ErrorCode::io, "no directory for sockets can be made where TMPDIR says"};
  }
  return run_client(request,
                    fmt::format("let it connect to {{socket}}, a path that ${} has too", kVariable),
                    [&](int output) { return run_both(request, shape, directory, output); });
}

}  // namespace weft::emulate
