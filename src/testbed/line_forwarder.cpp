// SPDX-License-Identifier: Apache-2.0
#include "testbed/line_forwarder.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace weft::testbed {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr int kReadsPerTurn = 16;

// Text that cannot be written (a closed pipe, a full disk) is dropped: the processes go on.
void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void LineForwarder::forward() {
  std::array<char, 16 * 1024> chunk;
  for (int i = 0; i < kReadsPerTurn && open(); ++i) {
    const auto n = ::read(from_.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      write_lines(true);
      from_.reset();
      return;
    }
    pending_.append(chunk.data(), static_cast<std::size_t>(n));
    write_lines(pending_.size() > kLongestLine);
  }
}

void LineForwarder::finish() {
  forward();
  write_lines(true);
  from_.reset();
}

void LineForwarder::write_lines(bool all) {
  std::string out;
  std::string_view left = pending_;
  while (!left.empty()) {
    const auto end = left.find('\n');
    if (end == std::string_view::npos && !all) break;
    out += prefix_;
    out += left.substr(0, end);
    out += '\n';
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  pending_.erase(0, pending_.size() - left.size());
  write_all(to_, out);
}

}  // namespace weft::testbed
