// SPDX-License-Identifier: Apache-2.0
#include "process/real_waiter.hpp"

namespace weft {
namespace {

/// A launcher's word is heard so late at most, while there is something to do.
constexpr Duration hearing_every = Duration::milliseconds(2);

}  // namespace

RealWaiter::RealWaiter(Duration spin, Fabric& fabric, JobLink* link)
    : sleeper_(spin), fabric_(fabric), link_(link) {
  if (link_ != nullptr) sleeper_.watch(link_->descriptor());
}

void RealWaiter::idle(Instant now, Fabric& fabric, Instant deadline) {
  sleeper_.idle(now, fabric, deadline);
  next_news_ = std::min(next_news_, now + hearing_every / 8);
}

Result<void> RealWaiter::news(Instant now) {
  if (link_ == nullptr || now < next_news_) return {};
  next_news_ = now + hearing_every;
  return link_->take_news(fabric_);
}

}  // namespace weft
