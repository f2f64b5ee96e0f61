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
  for (; seen_ < count; ++seen_) {
    const std::int32_t pid = block_.process[seen_].pid.load();
    if (pid == 0) break;  // it is about to tell
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) {
      watched_.push_back({pid, descriptor});
    } else {
      lost_order_ = true;
    }
  }
  for (const Watched& one : watched_) all.push_back({one.descriptor, POLLIN, 0});
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
