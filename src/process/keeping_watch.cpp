// SPDX-License-Identifier: Apache-2.0
#include "process/keeping_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace weft {
namespace {

/// Of a copy to new memory, where none was timed: 10 GB/s.
constexpr double usual_ns_per_byte = 0.1;

}  // namespace

Duration KeepingWatch::cost(ByteCount kept) const {
  const auto timed = static_cast<double>(timed_.value());
  const double ns_per_byte =
      timed_.value() > 0 ? static_cast<double>(time_.ticks()) / timed : usual_ns_per_byte;
  const double others = std::max(static_cast<double>(kept.value()) - timed, 0.0);
  return time_ + Duration(static_cast<std::int64_t>(others * ns_per_byte));
}

bool KeepingWatch::takes_too_long(Instant now, ByteCount kept) const {
  if (!limits_.share_of_time) return false;
  const Duration paid = std::max(cost(kept) - free_of_charge, Duration{});
  return paid.to_seconds() > (now - begun_).to_seconds() * *limits_.share_of_time;
}

void KeepingWatch::tell_time(Instant now, ByteCount kept) {
  told_time_ = true;
  too_much_(Kind::time,
            fmt::format("has spent {:.2g} of its {:.2g} s on copies of {} of messages for restarts "
                        "of other ranks (--outbox SIZE keeps up to SIZE however long it takes)",
                        cost(kept).to_seconds(), (now - begun_).to_seconds(), to_text(kept)));
}

void KeepingWatch::tell_memory(ByteCount kept, bool is_full) {
  told_memory_ = true;
  if (is_full) {
    const bool has_limit = limits_.memory < unlimited;
    return too_much_(Kind::memory,
                     fmt::format("keeps {} of messages for restarts of other ranks, and the next "
                                 "one does not fit into its outbox{}",
                                 to_text(kept),
                                 has_limit ? " (a larger --outbox keeps more)"
                                           : ", for which the disk of --spill has no more room"));
  }
  too_much_(Kind::memory,
            fmt::format("keeps {} of messages for restarts of other ranks, and the limit is {} (a "
                        "larger --outbox, or --spill DIR, keeps more)",
                        to_text(kept), to_text(limits_.memory)));
}

}  // namespace weft
