// SPDX-License-Identifier: Apache-2.0
// What came on earlier connections, of this or another life of the peer. A later life need not send
// it again, and nothing that its receiver waits for is held up behind it.
#include <algorithm>

#include "core/message/pair_in.hpp"
#include "core/message/pair_out.hpp"

namespace weft::message {

void PairIn::tell_what_came() {
  flows_.for_each_active([&](Flow& flow) { tell_what_came(flow); });
  flows_.for_each_resting([&](const FlowKey& key, const FlowPlace& place) {
    if (place.next == 0) return;
    pending_had_.emplace_back(key, place.next, static_cast<ToldDigest>(place.digest));
  });
}

/// Messages behind a gap are named one by one.
void PairIn::tell_what_came(Flow& flow) {
  const Serial first = flow.next - flow.posted.size();
  Serial until = first;
  const auto came = [&](Serial serial) {
    if (serial != until) return pending_acks_.push_back({&flow, serial});
    ++until;
  };
  for (std::size_t i = 0; i < flow.posted.size(); ++i) {
    if (flow.posted[i].operation == Operation{}) came(first + i);
  }
  for (std::size_t i = 0; i < flow.early.size(); ++i) {
    if (!flow.early[i].is_announced) came(flow.early[i].serial);
  }
  if (until == 0) return;
  const ToldDigest before = flow.before_of == until ? flow.before : 0;
  pending_had_.emplace_back(flow.key, until, flow.digest_of == until ? flow.digest : before);
}

void PairOut::on_have(const Frame& frame) {
  if (!hears_had_) return;
  Flow& of = flow(frame.flow);
  const Had have{.serial = frame.serial, .digest = frame.digest};
  if (frame.kind == FrameKind::had) return on_had(of, have);
  if (have.serial >= of.next()) {
    if (of.had_behind.size() >= most_asked) return;
    of.had_behind.push_back(have);
    of.had_some = std::max(of.had_some, have.serial + 1);
    return;
  }
  const Kept* const kept = of.find(have.serial);
  if (kept == nullptr) return;
  compare({of.key, have.serial}, kept->digest, have.digest);
  if (is_large(kept->bytes)) return arrived({&of, have.serial});
  note_had(of, have.serial);
}

void PairOut::on_had(Flow& of, const Had& had) {
  of.had = had;
  of.had_some = std::max(of.had_some, had.serial);
  if (options_.retain && had.serial > 0 && had.serial <= of.next()) {
    const Serial last = had.serial - 1;
    const Kept* const kept = of.find(last);
    const std::uint64_t known = kept != nullptr ? kept->digest : 0;
    compare({of.key, last}, had.serial == of.next() ? of.digest : known, had.digest);
  }
  const Serial end = std::min(had.serial, of.next());
  for (Serial serial = of.first; serial < end; ++serial) note_had(of, serial);
}

/// One that is on its way is heard of as others are: the fabric may still need its bytes.
void PairOut::note_had(Flow& flow, Serial serial) {
  const Kept* const kept = flow.find(serial);
  if (kept == nullptr || kept->sent_in == connection_ || kept->answered_in == connection_) return;
  arrived({&flow, serial});
}

/// Another life of the peer may have less.
void PairOut::forget_had() {
  flows_.for_each_active([](Flow& flow) {
    flow.had = {};
    flow.had_behind.clear();
    flow.had_some = 0;
  });
}

void PairOut::compare(const Name& message, std::uint64_t digest, ToldDigest had) {
  if (had == 0 || digest == 0 || told(digest) == had || diverged_) return;
  diverged_ = message;
  up_ = false;
}

}  // namespace weft::message
