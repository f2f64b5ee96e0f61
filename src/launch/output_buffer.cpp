// SPDX-License-Identifier: Apache-2.0
#include "launch/output_buffer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/make_error.hpp"

namespace weft {
namespace {

// A pipe that can be written to takes so much at once.
constexpr std::size_t at_once = 4096;

}  // namespace

void OutputBuffer::append(std::string_view bytes) {
  if (failure_ != 0) return;
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
  failure_ = n < 0 ? errno : EIO;
  first_ = bytes_.size();
  return false;
}

std::optional<Error> OutputBuffer::error() const {
  if (failure_ == 0) return std::nullopt;
  return make_error(ErrorCode::io, "standard output: cannot write: {}; send it elsewhere",
                    std::strerror(failure_));
}

void OutputBuffer::flush() {
  while (size() > 0) {
    pollfd file{.fd = file_, .events = POLLOUT, .revents = 0};
    if (::poll(&file, 1, 0) <= 0 || !write_some()) return;
  }
}

}  // namespace weft
