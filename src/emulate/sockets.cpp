// SPDX-License-Identifier: Apache-2.0
#include "emulate/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/mpi_launcher.hpp"
#include "emulate/own_process.hpp"

namespace weft::emulate {
namespace {

using testbed::LinkedHosts;
using Seconds = std::chrono::duration<double>;

constexpr int kServerHost = 0;
constexpr int kClientHost = 1;
constexpr auto kListensWithin = std::chrono::seconds(10);
// memcached looks once a second whether it was asked to end.
constexpr auto kEndsWithin = std::chrono::milliseconds(500);
constexpr int kCannotRun = 127;

Error no_result(std::string text) {
  return {ErrorCode::unavailable, fmt::format("{}; no result", text)};
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

/// {server} is the server's address, {client} the client's.
std::string with_addresses(std::string text) {
  for (const auto& [name, host] : {std::pair{"{server}", kServerHost}, {"{client}", kClientHost}}) {
    const std::string address = LinkedHosts::address(static_cast<std::uint32_t>(host));
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, std::strlen(name), address);
    }
  }
  return text;
}

/// Whether a line of /proc/net/tcp tells of a socket that listens: its fourth word is the state.
bool anyone_listens() {
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string slot, local, remote, state;
      if (words >> slot >> local >> remote >> state && state == "0A") return true;
    }
  }
  return false;
}

struct Start {
  std::uint32_t host = 0;
  std::vector<std::string> words;
  int output = STDOUT_FILENO;
  bool own_group = false;
  bool reads_input = true;
};

/// In the child.
[[noreturn]] void become(const LinkedHosts& hosts, const Start& start, char* const* words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (start.own_group) ::setpgid(0, 0);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  if (!start.reads_input) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  }
  if (start.output != STDOUT_FILENO) ::dup2(start.output, STDOUT_FILENO);
  ::setenv("WEFT_SERVER", LinkedHosts::address(kServerHost).c_str(), 1);
  if (const auto entered = hosts.enter_host(start.host); !entered) {
    ::dprintf(2, "weft: %s\n", entered.error().message.c_str());
    ::_exit(kCannotRun);
  }
  ::execvp(words[0], words);
  ::dprintf(2, "weft: cannot run '%s': %s\n", words[0], std::strerror(errno));
  ::_exit(kCannotRun);
}

pid_t start_in(const LinkedHosts& hosts, Start start) {
  std::vector<char*> words;
  for (std::string& word : start.words) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) become(hosts, start, words.data());
  if (pid > 0 && start.own_group) ::setpgid(pid, pid);
  return pid;
}

/// A server: from its start to its end.
class Server {
 public:
  Server(const LinkedHosts& hosts, const std::string& command)
      : command_(command),
        pid_(start_in(hosts, {.host = kServerHost,
                              .words = {"/bin/sh", "-c", with_addresses(command)},
                              .output = STDERR_FILENO,
                              .own_group = true,
                              .reads_input = false})) {}
  ~Server() { end(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// That it still runs, or has gone into the background.
  Result<void> check(const char* when) {
    if (pid_ < 0) return Error{ErrorCode::io, "--server: no process could be started"};
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return no_result(fmt::format("--server '{}': {} {}", command_, how_it_ended(status), when));
      }
    }
    return {};
  }

  /// The calling process must be in the server's network.
  Result<void> await_listening() {
    const auto until = std::chrono::steady_clock::now() + kListensWithin;
    while (!anyone_listens()) {
      if (auto runs = check("before it listened"); !runs) return runs;
      if (std::chrono::steady_clock::now() > until) {
        return no_result(
            fmt::format("--server '{}': listens on no TCP port of {} after 10 s; let it bind to "
                        "{{server}} or to all addresses",
                        command_, LinkedHosts::address(kServerHost)));
      }
      ::usleep(1'000);
    }
    return {};
  }

 private:
  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + kEndsWithin;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) ::kill(-pid_, SIGKILL);
      ::usleep(1'000);
    }
  }

  const std::string& command_;
  pid_t pid_;
};

/// The report of the process that holds the hosts.
struct Ran {
  int client_status = 0;
  double client_s = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

Result<Ran> run_both(const EmulationRequest& request, const testbed::LinkOptions& link,
                     int client_output) {
  auto hosts = LinkedHosts::up(link);
  if (!hosts) return hosts.error();
  if (auto contained = hosts->contain_children(); !contained) return contained.error();
  Server server(*hosts, request.server);
  if (auto entered = hosts->enter_host(kServerHost); !entered) return entered.error();
  if (auto listens = server.await_listening(); !listens) return listens.error();
  Start client{.host = kClientHost, .words = {}, .output = client_output};
  for (const std::string& word : request.command) client.words.push_back(with_addresses(word));
  const auto began = std::chrono::steady_clock::now();
  const pid_t pid = start_in(*hosts, client);
  if (pid < 0) return Error{ErrorCode::io, "no process could be started for the client"};
  Ran ran;
  while (::waitpid(pid, &ran.client_status, 0) < 0 && errno == EINTR) {
  }
  ran.client_s = Seconds(std::chrono::steady_clock::now() - began).count();
  if (auto runs = server.check("while the client ran"); !runs) return runs.error();
  for (int from : {kServerHost, kClientHost}) {
    ran.packets += hosts->counters().packets[from].load();
    ran.bytes += hosts->counters().bytes[from].load();
  }
  return ran;
}

/// A file in memory, for the client's standard output.
class Capture {
 public:
  explicit Capture(bool wanted)
      : file_(wanted ? ::memfd_create("weft-client-output", MFD_CLOEXEC) : -1) {}
  ~Capture() {
    if (file_ >= 0) ::close(file_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  int output() const { return file_ >= 0 ? file_ : STDOUT_FILENO; }
  std::string text() const {
    std::string text;
    std::array<char, 4096> part;
    for (off_t at = 0; file_ >= 0;) {
      const ssize_t n = ::pread(file_, part.data(), part.size(), at);
      if (n <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(n));
      at += n;
    }
    return text;
  }

 private:
  int file_;
};

}  // namespace

Result<EmulatedRun> run_with_server(const EmulationRequest& request,
                                    const testbed::LinkOptions& link) {
  if (request.command.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "no client; write it behind --, as -- ./client {server}"};
  }
  if (find_program(request.command.front()).empty()) {
    return Error{ErrorCode::not_found,
                 fmt::format("{}: is no program that can be started", request.command.front())};
  }
  const Capture capture(request.capture_stdout);
  const auto began = std::chrono::steady_clock::now();
  const auto ran = in_own_process<Ran>([&] { return run_both(request, link, capture.output()); });
  if (!ran) return ran.error();
  if (ran->client_status != 0) {
    return no_result(
        fmt::format("{} {}", request.command.front(), how_it_ended(ran->client_status)));
  }
  if (ran->bytes == 0) {
    return no_result(
        fmt::format("{}: the client sent the server nothing; let it connect to {{server}}, which "
                    "becomes {}",
                    request.command.front(), LinkedHosts::address(kServerHost)));
  }
  EmulatedRun run;
  run.interposer = kSocketsLayer;
  run.ranks = 2;
  run.ranks_interposed = 2;
  run.operations = ran->packets;
  run.bytes = ran->bytes;
  run.coarse = kSocketsError;
  run.program_time = Duration::from_seconds(ran->client_s);
  run.wall_time = Duration::from_seconds(Seconds(std::chrono::steady_clock::now() - began).count());
  run.stdout_text = capture.text();
  return run;
}

}  // namespace weft::emulate
