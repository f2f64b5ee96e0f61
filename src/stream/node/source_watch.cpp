// SPDX-License-Identifier: Apache-2.0
#include "stream/node/source_watch.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/check.hpp"

namespace weft::stream {

SourceWatch::SourceWatch() : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  WEFT_CHECK(poll_ >= 0, "no descriptor left");
}

SourceWatch::~SourceWatch() {
  ::close(poll_);
}

void SourceWatch::wait_for(int descriptor) {
  // One that the source has closed meanwhile is gone by itself.
  if (known_ >= 0 && known_ != descriptor) epoll_ctl(poll_, EPOLL_CTL_DEL, known_, nullptr);
  known_ = descriptor;
  waits_ = descriptor >= 0;
  if (!waits_) return;
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = descriptor}};
  if (epoll_ctl(poll_, EPOLL_CTL_MOD, descriptor, &event) != 0) {
    epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event);
  }
}

bool SourceWatch::has_news() {
  epoll_event event{};
  if (!waits_ || epoll_wait(poll_, &event, 1, 0) <= 0) return false;
  waits_ = false;
  return true;
}

}  // namespace weft::stream
