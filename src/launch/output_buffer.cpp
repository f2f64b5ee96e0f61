// SPDX-License-Identifier: Apache-2.0
#include "launch/output_buffer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft {
namespace {

// A pipe that can be written to takes so much at once.
constexpr std::size_t at_once = 4096;

}  // namespace

void OutputBuffer::append(std::string_view bytes) {
  if (first_ > bytes_.size() / 2) {
    bytes_.erase(0, first_);
    first_ = 0;
  }
  bytes_ += bytes;
}

bool OutputBuffer::write_some() {
  const auto n = ::write(file_, bytes_.data() + first_, std::min(size(), at_once));
  if (n > 0) {
    first_ += static_cast<std::size_t>(n);
    return true;
  }
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  first_ = bytes_.size();
  return false;
}

void OutputBuffer::flush() {
  while (size() > 0) {
    pollfd file{.fd = file_, .events = POLLOUT, .revents = 0};
    if (::poll(&file, 1, 0) <= 0 || !write_some()) return;
  }
}

void OutputBuffer::flush_all() {
  while (size() > 0) {
    pollfd file{.fd = file_, .events = POLLOUT, .revents = 0};
    if (::poll(&file, 1, -1) > 0 && !write_some()) return;
  }
}

}  // namespace weft
