// SPDX-License-Identifier: Apache-2.0
// The messages that were sent, as a process stores them and its later life goes on with them, and
// the end of their being kept.
#include <algorithm>

#include "core/message/pair_out.hpp"

namespace weft::message {

void PairOut::stop_keeping(bool may_ask, bool is_to_newest) {
  settle(0);
  hears_had_ = is_to_newest;
  if (!is_to_newest) forget_had();
  flows_.for_each_active([&](Flow& flow) {
    if (may_ask) {
      flow.needed_until = flow.next();
      return;
    }
    flow.forgotten = flow.next();
    flow.archive.forget(flow.forgotten);
    for (std::size_t i = 0; i < flow.kept.size(); ++i) release(flow, flow.first + i, flow.kept[i]);
    drop_front(flow);
  });
  // Nothing makes room any more.
  if (may_ask && !copy_waiting(true)) lose_uncopied();
  // As from the beginning of a connection that needs no copies.
  if (!may_ask && is_lossless_ && connection_ <= 1) keeps_ = false;
}

/// There is no memory for copies, and there will be none. A message is the caller's own again once
/// it has arrived, and later lives of the peer cannot have it: its sender would wait for ever.
void PairOut::lose_uncopied() {
  loses_uncopied_ = true;
  for (; !uncopied_.empty(); uncopied_.pop_front()) {
    const auto [flow, serial] = uncopied_.front();
    Kept* const kept = flow->find(serial);
    if (kept == nullptr) continue;
    release(*flow, serial, *kept);
    drop_front(*flow);
  }
}

void PairOut::store(StoredPair& into) {
  settle(0);
  flows_.for_each_active([&](Flow& flow) {
    StoredSends& sends = into.sends.emplace_back();
    sends.flow = flow.key;
    sends.first = flow.first;
    sends.digest_before = flow.archived_digest;
    sends.digest = flow.digest;
    if (!flow.archive.empty()) {
      sends.first = std::max(flow.archive.first(), std::min(flow.forgotten, flow.first));
      const bool is_whole = sends.first == flow.archive.first();
      const auto before = is_whole ? std::nullopt : flow.archive.find(sends.first - 1);
      sends.digest_before = is_whole ? flow.archive.digest_before() : before ? before->digest : 0;
    }
    for (Serial s = sends.first; s < flow.first; ++s) {
      const auto message =
          flow.archive.find(s);  // none: it was sent when nothing was kept any more
      const bool is_gone = !message || message->is_gone;
      sends.kept.push_back({is_gone, is_gone ? std::span<const std::byte>() : message->bytes});
    }
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      const Kept& kept = flow.kept[i];
      const bool is_gone = kept.is_lost || (kept.arrived && !is_needed(flow, flow.first + i));
      sends.kept.push_back({is_gone, is_gone ? std::span<const std::byte>() : kept.bytes});
    }
  });
  flows_.for_each_resting([&](const FlowKey& key, const FlowPlace& place) {
    StoredSends& sends = into.sends.emplace_back();
    sends.flow = key;
    sends.first = place.next;
    sends.digest_before = sends.digest = place.digest;
  });
}

Result<void> PairOut::resume(const StoredPair& from) {
  for (const StoredSends& sends : from.sends) {
    if (auto good = resume(sends); !good) return good;
  }
  return {};
}

/// Ignores the limit: the earlier life kept the message, and its receiver may need it. The next
/// message that is sent waits for room.
bool PairOut::keep_stored(Flow& flow, std::span<const std::byte> bytes, std::uint64_t before,
                          std::uint64_t after) {
  Body body;
  if (bytes.size() > Archive::most_shared && !bodies_.keep_beyond_limit(bytes, body)) return false;
  return flow.archive.add(bodies_, flow.first, bytes, body, before, after);
}

Result<void> PairOut::resume(const StoredSends& from) {
  Flow& to = flow(from.flow);
  if (to.next() != 0) {
    return Error{ErrorCode::invalid_argument,
                 "messages were sent before the process went on from where it was stored"};
  }
  to.first = from.first;
  to.archived_digest = from.digest_before;
  for (const StoredMessage& message : from.kept) {
    const std::uint64_t before = to.archived_digest;
    std::uint64_t& after = to.archived_digest;
    if (before != 0) after = digest_after(before, to.first, message.bytes);
    if (message.is_gone) {
      after = 0;
      to.archive.add_gone(to.first);
    } else if (!keep_stored(to, message.bytes, before, after)) {
      return Error{ErrorCode::exhausted,
                   "there is no memory for the messages that were stored; use --spill"};
    }
    ++to.first;
  }
  to.digest = to.archived_digest = from.digest;
  answer_what_was_asked(to);
  return {};
}

}  // namespace weft::message
