// SPDX-License-Identifier: Apache-2.0
#include "core/stream/limit_machine.hpp"

#include <algorithm>

namespace weft::stream {
namespace {

// The first byte of a message.
constexpr char hello = 'h';    // receiver → sender, with its region
constexpr char ready = 'r';    // sender → sender 0
constexpr char go = 'g';       // sender 0 → senders
constexpr char done = 'd';     // sender → receiver: that was all; receiver → sender: it arrived
constexpr char padding = 'p';  // fills SYNC messages to their size

constexpr std::size_t sync_bytes = 64;
constexpr std::size_t descriptor_bytes = 20;
constexpr std::uint64_t descriptor_context = 1ULL << 32;

/// Enough to keep a pair busy, little enough that many pairs fit the fabric's limits. A single pair
/// gets the resources that otherwise all pairs share, within reason.
std::uint32_t window_for(const LimitConfig& config) {
  const std::size_t size = std::max<std::size_t>(config.message_bytes, 1);
  if (config.pattern == LimitPattern::everybody) {
    return static_cast<std::uint32_t>(
        std::clamp<std::size_t>((std::size_t{256} << 10) / size, 4, 64));
  }
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>((std::size_t{4} << 20) / size, 4, 1024));
}

bool are_partners(const LimitConfig& config, std::uint32_t sender, std::uint32_t receiver) {
  if (config.pattern == LimitPattern::everybody) return true;
  const std::uint32_t sets = std::min(config.roster.inputs, config.roster.computes);
  return sender % sets == receiver % sets;
}

}  // namespace

LimitSender::LimitSender(const LimitConfig& config, std::span<const std::byte> message)
    : config_(config),
      message_(message),
      window_(window_for(config)),
      receivers_(config.roster.computes),
      next_(config.self % config.roster.computes) {
  WEFT_CHECK(message.size() == config.message_bytes);
  for (std::uint32_t r = 0; r < receivers_.size(); ++r) {
    receivers_[r].partner = are_partners(config, config.self, r);
  }
}

void LimitSender::on_completion(Instant now, const Completion& completion) {
  switch (completion.kind) {
    case CompletionKind::received:
      on_message(now, completion.peer, completion.data);
      break;
    case CompletionKind::peer_up:
      if (completion.peer == NodeId(0)) sees_first_ = true;
      break;
    case CompletionKind::written:
    case CompletionKind::failed:
      if (config_.roster.is_compute(completion.peer) && completion.context < descriptor_context) {
        auto& receiver = receivers_[config_.roster.compute_index(completion.peer)];
        if (receiver.in_flight > 0) --receiver.in_flight;
      }
      break;
    default:
      break;
  }
}

void LimitSender::on_message(Instant now, NodeId peer, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const char what = static_cast<char>(bytes[0]);
  if (config_.roster.is_input(peer)) {
    if (what == ready) ++ready_senders_;
    if (what == go && !running_) {
      running_ = true;
      started_ = now;
    }
    return;
  }
  Receiver& receiver = receivers_[config_.roster.compute_index(peer)];
  wire::Reader in(bytes.subspan(1));
  if (what == hello) {
    receiver.region.key = in.get<std::uint64_t>();
    receiver.region.base = in.get<std::uint64_t>();
    receiver.region.length = in.get<std::uint64_t>();
    receiver.ready = in.done();
  } else if (what == done) {
    receiver.done = true;
    finished_ =
        std::all_of(receivers_.begin(), receivers_.end(), [](const Receiver& r) { return r.done; });
    if (finished_) ended_ = now;
  }
}

void LimitSender::send_byte(NodeId peer, char what, Outbox& out) {
  out.send(peer, ServiceLevel{}, 1, [&](wire::Writer& w) { w.put(what); });
}

void LimitSender::start_when_ready(Instant now, Outbox& out) {
  if (!said_ready_) {
    if (config_.self != 0 && !sees_first_) return;
    if (!std::all_of(receivers_.begin(), receivers_.end(),
                     [](const Receiver& r) { return r.ready; })) {
      return;
    }
    said_ready_ = true;
    if (config_.self == 0) {
      ++ready_senders_;
    } else {
      send_byte(NodeId(0), ready, out);
    }
  }
  if (config_.self != 0 || ready_senders_ < config_.roster.inputs) return;
  for (std::uint32_t i = 1; i < config_.roster.inputs; ++i) send_byte(NodeId(i), go, out);
  running_ = true;
  started_ = now;
}

bool LimitSender::write_to(std::uint32_t index, Outbox& out) {
  Receiver& receiver = receivers_[index];
  if (!receiver.partner || receiver.in_flight >= window_ || !out.has_room(4, 2 * sync_bytes)) {
    return false;
  }
  const NodeId peer = config_.roster.compute_node(index);
  const std::uint64_t place = config_.self * (config_.message_bytes + sync_bytes);
  TxOp op;
  op.kind = OpKind::write;
  op.peer = peer;
  op.context = index;
  op.segments[0] = message_;
  op.region = receiver.region;
  op.region_offset = place;
  out.tx.push_back(op);
  if (config_.mix) write_small_ones(op, out);
  ++receiver.in_flight;
  ++messages_;
  return true;
}

/// Writes the small messages that accompany the write `op`.
void LimitSender::write_small_ones(TxOp op, Outbox& out) {
  op.context |= descriptor_context;
  op.segments[0] = message_.first(std::min(descriptor_bytes, message_.size()));
  op.region_offset += config_.message_bytes;
  out.tx.push_back(op);
  for (int i = 0; i < 2; ++i) {
    out.send(op.peer, ServiceLevel{}, sync_bytes, [](wire::Writer& w) {
      const std::array<char, sync_bytes> bytes{padding};
      w.put(bytes);
    });
  }
}

void LimitSender::turn(Instant now, Outbox& out) {
  if (finished_) return;
  if (!running_) {
    if (out.has_room(config_.roster.inputs, config_.roster.inputs)) start_when_ready(now, out);
    return;
  }
  if (now - started_ < config_.duration) {
    for (std::uint32_t failed = 0; failed < receivers_.size();) {
      failed = write_to(next_, out) ? 0 : failed + 1;
      next_ = (next_ + 1) % config_.roster.computes;
    }
    return;
  }
  for (std::uint32_t c = 0; c < receivers_.size(); ++c) {
    if (receivers_[c].told_done || !out.has_room(1, 1)) continue;
    receivers_[c].told_done = true;
    send_byte(config_.roster.compute_node(c), done, out);
  }
}

Instant LimitSender::next_deadline() const {
  return running_ && !finished_ ? started_ + config_.duration : Instant::never();
}

LimitReceiver::LimitReceiver(const LimitConfig& config, const RemoteRegion& region)
    : config_(config), region_(region) {}

void LimitReceiver::on_completion(const Completion& completion) {
  if (!config_.roster.is_input(completion.peer)) return;
  if (completion.kind == CompletionKind::peer_up) owed_.push_back({completion.peer, hello});
  if (completion.kind != CompletionKind::received || completion.data.empty()) return;
  if (static_cast<char>(completion.data[0]) == done) {
    ++done_;
    owed_.push_back({completion.peer, done});
  }
}

void LimitReceiver::turn(Outbox& out) {
  while (!owed_.empty() && out.has_room(1, sync_bytes)) {
    const Owed owed = owed_.back();
    owed_.pop_back();
    out.send(owed.peer, ServiceLevel{}, sync_bytes, [&](wire::Writer& w) {
      w.put(owed.what);
      if (owed.what != hello) return;
      w.put(region_.key);
      w.put(region_.base);
      w.put(region_.length);
    });
  }
}

}  // namespace weft::stream
