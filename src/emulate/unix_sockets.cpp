// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/make_error.hpp"
#include "emulate/client_run.hpp"
#include "emulate/process_tree.hpp"
#include "emulate/server_process.hpp"
#include "emulate/sockets.hpp"
#include "emulate/stream_relay.hpp"

namespace weft::emulate {
namespace {

constexpr const char* kPlaceholder = "{socket}";
constexpr const char* kVariable = "WEFT_SOCKET";

/// A directory for two sockets, removed when destroyed.
class Directory {
 public:
  /// Error (invalid_argument): no sockets can be where TMPDIR says.
  static Result<Directory> make();
  Directory(Directory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Directory& operator=(Directory&&) = delete;
  ~Directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::string socket_of(const char* side) const { return fmt::format("{}/{}", path_, side); }

 private:
  explicit Directory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

Result<Directory> Directory::make() {
  constexpr std::size_t kMostOfBase =
      sizeof(sockaddr_un::sun_path) - sizeof "/weft-socket-XXXXXX/server";
  const char* variable = std::getenv("TMPDIR");
  const std::string base = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  const auto refuse = [&](const std::string& why) {
    return invalid("{{socket}}: TMPDIR is {}, {}; set TMPDIR to another directory, such as /tmp",
                   base, why);
  };
  if (base.size() > kMostOfBase) {
    return refuse(fmt::format("and a socket's path there would be longer than {} bytes",
                              sizeof(sockaddr_un::sun_path) - 1));
  }
  // The server's command is a shell's, in which {socket} is not quoted.
  const auto is_plain = [](unsigned char byte) {
    return byte > 127 || std::isalnum(byte) != 0 || std::strchr("/._-+,:@%=", byte) != nullptr;
  };
  if (!std::ranges::all_of(base, is_plain)) {
    return refuse("and has a character that means something else to the server's shell");
  }
  std::string name = base + "/weft-socket-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return refuse(fmt::format("where no directory can be made: {}", std::strerror(errno)));
  }
  return Directory(std::move(name));
}

/// Owns what server and client leave behind, such as a server that went into the background: their
/// orphans become children of this process, and end with this object.
class Orphans {
 public:
  Orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1UL); }
  ~Orphans() {
    ProcessTree(::getpid()).end(kEndWithin);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

 private:
  static constexpr auto kEndWithin = std::chrono::milliseconds(500);
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

Result<ClientRun> run_both(const EmulationRequest& request, const LinkShape& shape,
                           int client_output, const StopRequest& stop) {
  const auto directory = Directory::make();
  if (!directory) return directory.error();
  const std::string server_socket = directory->socket_of("server");
  const std::string client_socket = directory->socket_of("client");
  const Orphans orphans;
  Start serve = start_with(server_socket);
  serve.words = {"/bin/sh", "-c", with_replaced(request.server, {{kPlaceholder, server_socket}})};
  serve.output = STDERR_FILENO;
  serve.own_group = true;
  serve.reads_input = false;
  Server server(request.server, std::move(serve));
  const auto listens = server.await([&] { return listens_at(server_socket); },
                                    "listens at no {socket} after 10 s", stop);
  if (!listens) return listens.error();
  auto relay = StreamRelay::make(client_socket, server_socket, shape);
  if (!relay) return relay.error();
  Start client = start_with(client_socket);
  for (const std::string& word : request.command) {
    client.words.push_back(with_replaced(word, {{kPlaceholder, client_socket}}));
  }
  client.output = client_output;
  auto ran = run_until_ended(std::move(client), stop, [&](int also) { relay->turn(also); });
  if (!ran) return ran;
  ran->packets = relay->counters().chunks;
  ran->bytes = relay->counters().bytes;
  if (auto runs = server.check("while the client ran"); !runs) return runs.error();
  return ran;
}

}  // namespace

bool is_for_unix_socket(const EmulationRequest& request) {
  return request.server.find(kPlaceholder) != std::string::npos;
}

Result<EmulatedRun> run_with_unix_server(const EmulationRequest& request, const LinkShape& shape) {
  return run_client(
      request, fmt::format("let it connect to {{socket}}, a path that ${} has too", kVariable),
      [&](int output, const StopRequest& stop) { return run_both(request, shape, output, stop); });
}

}  // namespace weft::emulate
