// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <vector>

#include "base/split.hpp"
#include "contestants.hpp"

namespace weft::bench {
namespace {

// Starts fi_pingpong; standard output goes to `output`, errors nowhere.
pid_t start(std::vector<std::string> arguments, int output, const std::size_t* cpu) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(5);
  if (cpu != nullptr) pin(*cpu);
  ::dup2(output, STDOUT_FILENO);
  if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(127);
  const std::vector<char*> pointers = argument_pointers(arguments);
  ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

// The last column but one of the line that begins with the size is microseconds per transfer.
double microseconds_in(const std::string& output) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; words >> word;) columns.push_back(word);
    if (columns.size() < 8 || columns[0] != "8") continue;
    const std::string& text = columns[columns.size() - 2];
    double value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  return -1;
}

}  // namespace

double packaged_pingpong(const std::string& provider, std::size_t count, bool pinned) {
  constexpr std::size_t kServerCpu = 1, kClientCpu = 0;
  const std::string name = provider == "tcp" ? "tcp;ofi_rxm" : provider;
  const std::string port = fmt::format("{}", 40000 + ::getpid() % 20000);
  std::vector<std::string> server = {"fi_pingpong",
                                     "-p",
                                     name,
                                     "-e",
                                     "rdm",
                                     "-m",
                                     "msg",
                                     "-S",
                                     "8",
                                     "-I",
                                     fmt::format("{}", count),
                                     "-B",
                                     port};
  std::vector<std::string> client = server;
  client[client.size() - 2] = "-P";
  client.push_back("127.0.0.1");
  std::array<int, 2> discarded{}, wanted{};
  if (::pipe(discarded.data()) != 0 || ::pipe(wanted.data()) != 0) return -1;
  const pid_t serving = start(server, discarded[1], pinned ? &kServerCpu : nullptr);
  std::string output;
  double result = -1;
  // The server needs a moment until it listens; the client gives up at once when it does not.
  for (int attempt = 0; attempt < 20 && result < 0; ++attempt) {
    ::usleep(100'000);
    const pid_t asking = start(client, wanted[1], pinned ? &kClientCpu : nullptr);
    int status = 0;
    ::waitpid(asking, &status, 0);
    if (WIFSIGNALED(status)) break;  // with some providers it hangs
    if (status != 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t n = ::read(wanted[0], buffer.data(), buffer.size());
    result = n > 0 ? microseconds_in({buffer.data(), static_cast<std::size_t>(n)}) : -1;
    if (result < 0) break;
  }
  ::kill(serving, SIGKILL);
  ::waitpid(serving, nullptr, 0);
  for (const int end : {discarded[0], discarded[1], wanted[0], wanted[1]}) ::close(end);
  return result;
}

}  // namespace weft::bench
