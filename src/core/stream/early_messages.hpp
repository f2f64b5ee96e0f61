// SPDX-License-Identifier: Apache-2.0
// EarlyMessages: schedule messages from nodes that know a view which has not come here yet. They
// wait for it: a grant that is thrown away would never be given again. Memory is taken when there
// are any, which is rare: there may be many for each of thousands of peers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/schedule/schedule.hpp"

namespace weft::stream {

class EarlyMessages {
 public:
  explicit EarlyMessages(std::size_t capacity) : capacity_(capacity) {}

  /// False when there is no room: the message is lost.
  bool keep(std::uint32_t from, std::uint32_t view, std::span<const std::byte> payload) {
    if (messages_.size() == capacity_ || payload.size() > schedule::Message::capacity) return false;
    Early& early = messages_.emplace_back();
    early.view = view;
    early.message.to = from;
    early.message.size = static_cast<std::uint32_t>(payload.size());
    std::copy(payload.begin(), payload.end(), early.message.bytes.begin());
    return true;
  }
  /// Hands over the messages about `view`, in order of arrival; drops older ones.
  template <class Use>
  void take(std::uint32_t view, Use&& use) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Early& early = messages_[i];
      if (early.view > view) {
        if (kept != i) messages_[kept] = early;
        ++kept;
      } else if (early.view == view) {
        use(early.message.to, std::span(early.message.bytes).first(early.message.size));
      }
    }
    messages_.resize(kept);
    if (kept == 0) messages_.shrink_to_fit();
  }

 private:
  struct Early {
    std::uint32_t view = 0;
    schedule::Message message;  // `to` holds the sender
  };
  std::size_t capacity_;
  std::vector<Early> messages_;
};

}  // namespace weft::stream
