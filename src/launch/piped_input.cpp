// SPDX-License-Identifier: Apache-2.0
#include "launch/piped_input.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace weft {

PipedInput::State PipedInput::look_at(int descriptor) {
  struct stat about {};
  if (::fstat(descriptor, &about) != 0) return {};
  if (!S_ISFIFO(about.st_mode) && !S_ISSOCK(about.st_mode)) return {};
  int bytes = 0;
  pollfd poll_for{.fd = descriptor, .events = POLLIN, .revents = 0};
  const bool is_known = ::ioctl(descriptor, FIONREAD, &bytes) == 0 && ::poll(&poll_for, 1, 0) >= 0;
  return {.is_pipe = is_known,
          .has_data = bytes > 0,
          .is_closed = (poll_for.revents & (POLLHUP | POLLERR)) != 0};
}

PipedInput::PipedInput(int descriptor) : descriptor_(descriptor), begun_(look_at(descriptor)) {}

bool PipedInput::may_have_been_read() const {
  if (!begun_.is_pipe || (begun_.is_closed && !begun_.has_data)) return false;
  const State now = look_at(descriptor_);
  return begun_.has_data || now.has_data || now.is_closed;
}

}  // namespace weft
