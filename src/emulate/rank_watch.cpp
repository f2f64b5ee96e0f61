// SPDX-License-Identifier: Apache-2.0
#include "emulate/rank_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace weft::emulate {

RankWatch::~RankWatch() {
  for (const Watched& one : watched_) ::close(one.descriptor);
}

void RankWatch::add_to(std::vector<pollfd>& all) {
  const unsigned count = std::min(block_.processes.load(), kMostProcesses);
  seen_.resize(std::max<std::size_t>(seen_.size(), count));
  for (unsigned i = 0; i < count; ++i) {
    const std::int32_t pid = block_.process[i].pid.load();
    if (pid == 0 || pid == seen_[i]) continue;  // 0: it is about to tell
    seen_[i] = pid;
    knows_any_ = true;
    // A script that becomes the program by exec has a record as either.
    if (std::ranges::find(watched_, pid, &Watched::pid) != watched_.end()) continue;
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) {
      watched_.push_back({pid, descriptor});
    } else {
      lost_order_ = true;
    }
  }
  for (const Watched& one : watched_) all.push_back({one.descriptor, POLLIN, 0});
}

std::vector<std::int32_t> RankWatch::running() const {
  std::vector<std::int32_t> pids;
  for (const Watched& one : watched_) {
    pollfd polled{one.descriptor, POLLIN, 0};
    if (::poll(&polled, 1, 0) == 0) pids.push_back(one.pid);
  }
  return pids;
}

void RankWatch::take(std::span<const pollfd> polled) {
  std::vector<std::int32_t> now;
  for (const pollfd& one : polled) {
    if (one.revents == 0) continue;
    const auto found = std::ranges::find(watched_, one.fd, &Watched::descriptor);
    if (found == watched_.end()) continue;
    now.push_back(found->pid);
    ::close(found->descriptor);
    watched_.erase(found);
  }
  lost_order_ = lost_order_ || now.size() > 1;
  if (!lost_order_ && !now.empty()) ended_.push_back(now.front());
}

}  // namespace weft::emulate
