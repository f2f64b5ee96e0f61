// SPDX-License-Identifier: Apache-2.0
// FlowTable: one direction of all flows between two processes. A flow that has nothing under way is
// put to rest: a few words remain of it, since a serial must never begin again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/message/name.hpp"

namespace weft::message {

/// The state that remains of a flow at rest.
struct FlowPlace {
  Serial next = 0;           ///< of the message to come
  std::uint64_t digest = 0;  ///< of those before it (core/message/digest.hpp); 0: unknown
  Serial forgotten = 0;      ///< received: the peer need not keep messages before it
};

/// `Flow` is made of a key and a place; has `key`, `in_use`, `is_idle()`, `place()`, and
/// `shrink()`, which gives back memory that an idle moment does not need.
template <class Flow>
class FlowTable {
 public:
  /// Found, woken or new. The reference lasts until the flow is put to rest.
  Flow& at(const FlowKey& key) {
    if (Flow* const same = latest(key)) return *same;
    auto found = active_.find(key);
    if (found == active_.end()) {
      FlowPlace place;
      if (const auto resting = resting_.find(key); resting != resting_.end()) {
        place = resting->second;
        resting_.erase(resting);
      }
      found = active_.try_emplace(key, key, place).first;
    }
    latest_ = &found->second;
    return *latest_;
  }
  Flow* find_active(const FlowKey& key) {
    const auto found = active_.find(key);
    return found == active_.end() ? nullptr : &found->second;
  }
  FlowPlace* find_resting(const FlowKey& key) {
    const auto found = resting_.find(key);
    return found == resting_.end() ? nullptr : &found->second;
  }
  /// The one that was looked up last, if it is that; else null.
  Flow* latest(const FlowKey& key) {
    return latest_ != nullptr && latest_->key == key ? latest_ : nullptr;
  }

  /// Returns whether enough flows have been woken or made since `rest` to look for some that may
  /// rest.
  bool is_crowded() const { return active_.size() >= crowded_at_; }
  /// Puts flows to rest that are idle and not marked `in_use`; the marks go. `looked_at`: how much
  /// the caller had to look at to set them, which shall not be done for each new flow.
  void rest(std::size_t looked_at) {
    for (auto entry = active_.begin(); entry != active_.end();) {
      Flow& flow = entry->second;
      const bool in_use = std::exchange(flow.in_use, false);
      flow.shrink();
      if (in_use || !flow.is_idle()) {
        ++entry;
        continue;
      }
      resting_.emplace(flow.key, flow.place());
      if (latest_ == &flow) latest_ = nullptr;
      entry = active_.erase(entry);
    }
    crowded_at_ = active_.size() + std::max({least_woken, active_.size(), looked_at});
  }

  std::size_t active() const { return active_.size(); }
  std::size_t resting() const { return resting_.size(); }
  /// Calls `visit(flow)` for each flow that is not at rest.
  template <class Visit>
  void for_each_active(Visit&& visit) {
    for (auto& [key, flow] : active_) visit(flow);
  }
  template <class Visit>
  void for_each_active(Visit&& visit) const {
    for (const auto& [key, flow] : active_) visit(flow);
  }
  template <class Visit>
  void for_each_resting(Visit&& visit) const {
    for (const auto& [key, place] : resting_) visit(key, place);
  }
  /// Calls `visit(const FlowKey&, FlowPlace&)` for each flow at rest.
  template <class Visit>
  void for_each_resting(Visit&& visit) {
    for (auto& [key, place] : resting_) visit(key, place);
  }

 private:
  static constexpr std::size_t least_woken = 64;

  std::unordered_map<FlowKey, Flow, FlowKeyHash> active_;
  std::unordered_map<FlowKey, FlowPlace, FlowKeyHash> resting_;
  Flow* latest_ = nullptr;  // most look-ups are for the same one
  std::size_t crowded_at_ = least_woken;
};

}  // namespace weft::message
