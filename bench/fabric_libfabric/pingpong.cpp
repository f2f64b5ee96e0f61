// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "contestants.hpp"

namespace weft::bench {
namespace {

// The last column but one of the line that begins with the size is microseconds per transfer.
double microseconds_in(const std::string& output) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; words >> word;) columns.push_back(word);
    if (columns.size() >= 8 && columns[0] == "8") return std::atof(columns.end()[-2].c_str());
  }
  return -1;
}

}  // namespace

double packaged_pingpong(const std::string& provider, std::size_t count, bool pinned) {
  const auto start = [&](int cpu, const std::string& side) {
    const std::string command =
        fmt::format("{} timeout 5 fi_pingpong -p '{}' -e rdm -m msg -S 8 -I {} {} 2>/dev/null",
                    pinned ? fmt::format("taskset -c {}", cpu) : "",
                    provider == "tcp" ? "tcp;ofi_rxm" : provider, count, side);
    return ::popen(command.c_str(), "r");
  };
  const int port = 40000 + ::getpid() % 20000;
  std::FILE* const serving = start(1, fmt::format("-B {}", port));
  double result = -1;
  // The server needs a moment until it listens; the client gives up at once when it does not.
  for (int attempt = 0; attempt < 20 && result < 0; ++attempt) {
    ::usleep(100'000);
    std::FILE* const asking = start(0, fmt::format("-P {} 127.0.0.1", port));
    std::array<char, 4096> buffer;
    const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), asking);
    const int status = ::pclose(asking);
    if (status == 0) result = microseconds_in({buffer.data(), n});
    if (status == 0 || WEXITSTATUS(status) == 124) break;  // 124: with some providers it hangs
  }
  ::pclose(serving);
  return result;
}

}  // namespace weft::bench
