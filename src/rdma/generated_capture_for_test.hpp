// SPDX-License-Identifier: Apache-2.0
// Captures drawn from a seed, with the expected findings: several connections whose packets
// mingle, each healthy or with one of the pitfalls, by profiles and timings of its own; taken at
// either end, with packets twice, without their beginning, cut, with requests in both directions.
// Written from the description of the pitfalls, not by the model.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "rdma/diagnosis.hpp"

namespace weft::rdma {

struct GeneratedCapture {
  std::vector<std::pair<std::int64_t, wire::RdmaFrame>> frames;  ///< by time
  std::set<std::pair<FindingClass, std::uint32_t>> labels;       ///< class, queue pair
};

/// The properties that all connections of a capture share.
struct CaptureStyle {
  bool at_responder = false;    ///< requests that were lost are not seen
  bool equal_psns = false;      ///< all connections begin with the same PSN
  bool wraps_around = false;    ///< PSNs pass 2^24
  bool has_long_reads = false;  ///< READs, WRITEs and SENDs of several packets
};

/// One connection, whose packets are added to a capture.
class GeneratedConnection {
 public:
  GeneratedConnection(GeneratedCapture& capture, Rng rng, std::uint32_t number,
                      const CaptureStyle& style = {})
      : capture_(capture), rng_(rng), style_(style) {
    const auto unique = [&] {
      return static_cast<std::uint32_t>(rng_.below(4'000) * 4'000 + number);
    };
    client_ = wire::NodeAddress::ipv4(static_cast<std::uint32_t>(0x0A00'0001 + rng_.below(2)));
    server_ = wire::NodeAddress::ipv4(static_cast<std::uint32_t>(0x0A00'0011 + rng_.below(2)));
    to_server_ = unique();
    to_client_ = unique();
    ports_[0] = static_cast<std::uint16_t>(49'152 + rng_.below(16'000));
    ports_[1] =
        rng_.below(2) == 0 ? ports_[0] : static_cast<std::uint16_t>(49'152 + rng_.below(16'000));
    psn_ = static_cast<std::uint32_t>(rng_.below(wire::psn_mask));
    if (style.equal_psns) psn_ = 0;
    if (style.wraps_around) psn_ = wire::psn_mask - static_cast<std::uint32_t>(rng_.below(20));
    start_psn_ = psn_;
    if (style.has_long_reads) mtu_ = 256U << rng_.below(5);
    now_ = static_cast<std::int64_t>(rng_.below(3'000'000));
    round_trip_ = 2'000 + static_cast<std::int64_t>(rng_.below(20'000));
    constexpr std::int64_t timeouts[] = {30'000'000, 120'000'000, 500'000'000, 2'000'000'000};
    timeout_ = timeouts[rng_.below(4)];
    factor_ = rng_.below(2) == 0 ? 3.5 : 1.0;
  }

  std::uint32_t queue_pair() const { return to_server_; }
  /// The requests of the other end.
  void turn_round() {
    std::swap(client_, server_);
    std::swap(to_server_, to_client_);
    std::swap(ports_[0], ports_[1]);
    start_psn_ = psn_ = static_cast<std::uint32_t>(rng_.below(wire::psn_mask));
    requests_.clear();
  }
  void at_least(std::int64_t time) { now_ = std::max(now_, time); }
  std::int64_t now() const { return now_; }

  void healthy() {
    for (std::uint64_t n = rng_.below(12); n > 0; --n) {
      const std::uint32_t psn = next();
      request(psn);
      now_ += round_trip_;
      answer(psn);
      pause();
    }
  }
  /// Page faults on the server's side that cost waits and nothing else. Requests behind go out
  /// again as well.
  void server_fault() {
    const auto all = some(1 + rng_.below(4));
    for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      for (const std::uint32_t psn : all) request(psn);
      rnr(all.front(), code());
    }
    for (const std::uint32_t psn : all) request(psn);
    finish(all);
  }
  void client_fault() {
    const auto all = some(1 + rng_.below(3), true);
    for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      for (const std::uint32_t psn : all) request(psn);
      now_ += round_trip_;
      for (const std::uint32_t psn : all) answer(psn);
      now_ += 500'000;
    }
    for (const std::uint32_t psn : all) request(psn);
    finish(all);
  }
  void damming(bool on_client, bool rescued) {
    const std::uint32_t first = next(on_client || rng_.below(2) == 0);
    // The capture may begin between a request and its RNR NAK.
    const bool is_head_missing = !on_client && requests_.size() == 1 && rng_.below(2) == 0;
    request(first, is_head_missing);
    const std::uint64_t lost = 1 + rng_.below(3);
    const std::uint32_t second = psn_;
    const auto lose = [&](std::int64_t wait) {
      for (std::uint64_t i = 0; i < lost; ++i) {
        now_ += wait / static_cast<std::int64_t>(lost + 1);
        request(next(), style_.at_responder);
      }
      now_ += wait / static_cast<std::int64_t>(lost + 1);
    };
    now_ += round_trip_;
    if (on_client) {
      answer(first);
      lose(500'000);
    } else {
      const std::uint8_t timer = code();
      nak(first, wire::rnr_nak_syndrome(timer));
      lose(static_cast<std::int64_t>(static_cast<double>(wire::rnr_timer_ns[timer]) * factor_));
    }
    request(first);
    finish({first});
    recover(second, rescued);
    label(rescued ? FindingClass::damming_rescued : FindingClass::damming);
  }
  /// Requests were under way together. After the wait all go out again, and from the second or the
  /// first on they are lost.
  void damming_behind(bool of_first) {
    const auto all = some(2 + rng_.below(3));
    for (const std::uint32_t psn : all) request(psn);
    rnr(all.front(), code());
    for (std::size_t i = 0; i < all.size(); ++i) {
      request(all[i], style_.at_responder && (of_first || i > 0));
    }
    if (!of_first) {
      now_ += round_trip_;
      answer(all.front());
    }
    recover(of_first ? all[0] : all[1], false);
    label(FindingClass::damming);
  }
  void loss(bool in_the_middle) {
    const std::uint32_t lost = next();
    request(lost, style_.at_responder);
    recover(lost, in_the_middle);
    label(FindingClass::loss);
  }
  /// The answer got lost behind the tap.
  void loss_of_answer() {
    const std::uint32_t lost = next();
    for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      request(lost);
      now_ += round_trip_;
      answer(lost);
      now_ += timeout_;
    }
    request(lost);
    finish({lost});
    label(FindingClass::loss);
  }
  /// A packet of the answer to one of several READs got lost in front of the tap, and others came.
  /// The requester asks again, from that packet or from its READ on, at once or by a timeout.
  void loss_in_an_answer() {
    const auto all = some(2 + rng_.below(3), true);
    for (const std::uint32_t psn : all) request(psn);
    now_ += round_trip_;
    const std::uint64_t lost = rng_.below(all.size() - 1);
    const auto part = static_cast<std::uint32_t>(rng_.below(requests_[all[lost]].packets));
    for (std::size_t i = 0; i < all.size(); ++i) answer(all[i], i == lost ? part : no_part);
    now_ += 3'000 + static_cast<std::int64_t>(rng_.below(200'000));
    if (rng_.below(4) == 0) now_ += timeout_;
    read_from(all[lost], rng_.below(2) == 0 ? part : 0);
    for (std::size_t i = lost + 1; i < all.size(); ++i) request(all[i]);
    finish({all.begin() + static_cast<std::ptrdiff_t>(lost), all.end()});
    label(FindingClass::loss);
  }
  /// The queue pairs are taken down and set up again, with the PSN that they began with or a bit
  /// less, for other memory.
  void reconnect() {
    const auto some_round_trips = [&] {
      for (std::uint64_t n = 2 + rng_.below(6); n > 0; --n) {
        const std::uint32_t psn = next();
        request(psn);
        finish({psn});
      }
    };
    some_round_trips();
    now_ += 1'000'000 + static_cast<std::int64_t>(rng_.exponential(1e9));
    psn_ = start_psn_ - static_cast<std::uint32_t>(rng_.below(2) * rng_.below(200));
    psn_ &= wire::psn_mask;
    memory_ += 1 << 20;
    requests_.clear();
    some_round_trips();
  }
  /// A wait, and the network loses the first request behind it.
  void loss_behind_a_wait(bool by_nak) {
    const std::uint32_t first = next();
    request(first);
    rnr(first, code());
    request(first);
    now_ += 1'000;
    const std::uint32_t lost = next();
    request(lost);
    finish({first});
    recover(lost, by_nak);
    label(FindingClass::loss);
  }
  void longest_rnr() {
    const std::uint32_t psn = next();
    request(psn);
    rnr(psn, 0);
    request(psn);
    finish({psn});
    label(FindingClass::rnr_misconfigured);
  }
  void flood() {
    const auto all = some(1 + rng_.below(4), true);
    const std::int64_t spacing =
        300'000 + static_cast<std::int64_t>(rng_.exponential(rng_.below(2) == 0 ? 5e6 : 2e7));
    const auto once = [&] {
      for (const std::uint32_t psn : all) request(psn);
      now_ += round_trip_;
      for (const std::uint32_t psn : all) answer(psn);
    };
    for (std::uint64_t n = 10 + rng_.below(80); n > 0; --n) {
      once();
      now_ += std::min<std::int64_t>(spacing, 60'000'000);
    }
    once();
    pause();
    label(FindingClass::flood);
  }

 private:
  static constexpr std::uint32_t no_part = UINT32_MAX;
  struct Posted {
    bool is_read = false;
    std::uint32_t bytes = 64;
    std::uint32_t packets = 1;
  };

  std::uint32_t next() { return next(rng_.below(2) == 0); }
  std::uint32_t next(bool is_read) {
    const std::uint32_t psn = psn_ & wire::psn_mask;
    Posted posted{is_read, 64, 1};
    if (mtu_ > 0 && rng_.below(2) == 0) {
      posted.packets = 1 + static_cast<std::uint32_t>(rng_.below(5));
      posted.bytes = (posted.packets - 1) * mtu_ + 1 + static_cast<std::uint32_t>(rng_.below(mtu_));
    }
    requests_[psn] = posted;
    psn_ = (psn_ + posted.packets) & wire::psn_mask;
    return psn;
  }
  std::vector<std::uint32_t> some(std::uint64_t count, bool reads = false) {
    std::vector<std::uint32_t> all;
    for (; count > 0; --count) all.push_back(reads ? next(true) : next());
    return all;
  }
  void pause() { now_ += static_cast<std::int64_t>(rng_.exponential(200'000)); }
  std::uint8_t code() { return static_cast<std::uint8_t>(1 + rng_.below(31)); }
  void label(FindingClass kind) { capture_.labels.emplace(kind, to_server_); }

  /// Sends the unanswered requests from `psn` on again, after a timeout or a NAK.
  void recover(std::uint32_t psn, bool by_nak) {
    const auto again = [&](bool unseen) {
      for (auto p = psn; p != psn_; p = (p + requests_[p].packets) & wire::psn_mask) {
        request(p, unseen);
        now_ += 1'000;
      }
    };
    if (by_nak) {
      now_ += 10'000 + static_cast<std::int64_t>(rng_.below(2'000'000));
      request(next());
      now_ += round_trip_;
      nak(psn, wire::sequence_nak_syndrome);
      now_ += 2'000;
    } else {
      now_ += timeout_ + static_cast<std::int64_t>(rng_.below(1'000'000));
      // Lost again, now and then.
      for (std::uint64_t n = rng_.below(4) == 0 ? 1 + rng_.below(3) : 0; n > 0; --n) {
        again(style_.at_responder);
        now_ += timeout_;
      }
    }
    const std::uint32_t end = psn_;
    again(false);
    now_ += round_trip_;
    for (auto p = psn; p != end; p = (p + requests_[p].packets) & wire::psn_mask) answer(p);
    pause();
  }
  void finish(const std::vector<std::uint32_t>& all) {
    now_ += round_trip_;
    for (const std::uint32_t psn : all) answer(psn);
    pause();
  }
  void rnr(std::uint32_t psn, std::uint8_t timer) {
    now_ += round_trip_;
    nak(psn, wire::rnr_nak_syndrome(timer));
    now_ += static_cast<std::int64_t>(static_cast<double>(wire::rnr_timer_ns[timer]) * factor_);
  }
  static wire::Opcode request_opcode(const Posted& posted, std::uint32_t i) {
    if (posted.is_read) return wire::Opcode::read_request;
    if (posted.packets == 1) return wire::Opcode::send_only;
    if (i == 0) return wire::Opcode::write_first;
    return i + 1 == posted.packets ? wire::Opcode::write_last : wire::Opcode::write_middle;
  }
  void request(std::uint32_t psn, bool unseen = false) {
    if (unseen) return;
    const Posted& posted = requests_[psn];
    for (std::uint32_t i = 0; i < (posted.is_read ? 1 : posted.packets); ++i) {
      wire::RdmaFrame frame;
      frame.source = client_;
      frame.destination = server_;
      frame.source_port = ports_[0];
      frame.packet.bth.opcode = request_opcode(posted, i);
      frame.packet.bth.queue_pair = to_server_;
      frame.packet.bth.psn = (psn + i) & wire::psn_mask;
      if (wire::has_reth(frame.packet.bth.opcode)) {
        frame.packet.reth = wire::Reth{memory_, 1, posted.bytes};
      }
      if (!posted.is_read) frame.packet.payload = payload_of(posted, i);
      capture_.frames.emplace_back(now_, frame);
    }
  }
  /// A READ from one of its packets on.
  void read_from(std::uint32_t psn, std::uint32_t part) {
    request(psn);
    wire::TransportPacket& packet = capture_.frames.back().second.packet;
    packet.bth.psn = (psn + part) & wire::psn_mask;
    packet.reth->address += std::uint64_t{part} * mtu_;
    packet.reth->length -= part * mtu_;
  }
  std::uint32_t payload_of(const Posted& posted, std::uint32_t i) const {
    return i + 1 == posted.packets ? posted.bytes - i * mtu_ : mtu_;
  }
  void respond(std::uint32_t psn, wire::Opcode opcode, std::uint8_t syndrome,
               std::uint32_t payload = 0) {
    wire::RdmaFrame frame;
    frame.source = server_;
    frame.destination = client_;
    frame.source_port = ports_[1];
    frame.packet.bth.opcode = opcode;
    frame.packet.bth.queue_pair = to_client_;
    frame.packet.bth.psn = psn & wire::psn_mask;
    if (wire::has_aeth(opcode)) frame.packet.aeth = wire::Aeth{syndrome, 1};
    frame.packet.payload = payload;
    capture_.frames.emplace_back(now_, frame);
  }
  /// Without one packet, if `lost_part` is one of them.
  void answer(std::uint32_t psn, std::uint32_t lost_part = no_part) {
    const Posted& posted = requests_[psn];
    if (!posted.is_read) {
      return respond(psn + posted.packets - 1, wire::Opcode::acknowledge, wire::ack_syndrome);
    }
    for (std::uint32_t i = 0; i < posted.packets; ++i) {
      if (i == lost_part) continue;
      const wire::Opcode opcode = posted.packets == 1       ? wire::Opcode::read_response_only
                                  : i == 0                  ? wire::Opcode::read_response_first
                                  : i + 1 == posted.packets ? wire::Opcode::read_response_last
                                                            : wire::Opcode::read_response_middle;
      respond(psn + i, opcode, wire::ack_syndrome, payload_of(posted, i));
    }
  }
  void nak(std::uint32_t psn, std::uint8_t syndrome) {
    respond(psn, wire::Opcode::acknowledge, syndrome);
  }

  GeneratedCapture& capture_;
  Rng rng_;
  CaptureStyle style_;
  wire::NodeAddress client_, server_;
  std::uint32_t to_server_ = 0, to_client_ = 0;
  std::uint16_t ports_[2] = {};
  std::uint32_t psn_ = 0, start_psn_ = 0;
  std::uint64_t memory_ = 0;
  std::int64_t now_ = 0;
  std::int64_t round_trip_ = 0;
  std::int64_t timeout_ = 0;
  double factor_ = 1;
  std::uint32_t mtu_ = 0;  // 0: all messages are of one packet
  std::map<std::uint32_t, Posted> requests_;
};

/// Stories that a capture at the responder's end could tell as well.
inline void add_story(GeneratedConnection& connection, std::uint64_t kind) {
  switch (kind) {
    case 0:
      return connection.loss_of_answer();
    case 1:
      return connection.server_fault();
    case 2:
      return connection.client_fault();
    case 3:
    case 4:
      return connection.damming(kind == 4, true);
    case 5:
      return connection.longest_rnr();
    case 6:
      return connection.loss(true);
    case 7:
    case 8:
      return connection.damming(kind == 8, false);
    case 9:
    case 10:
      return connection.damming_behind(kind == 9);
    case 11:
      return connection.loss_in_an_answer();
    case 12:
      return connection.reconnect();
    case 13:
    case 14:
      return connection.loss_behind_a_wait(kind == 13);
    default:
      return connection.loss(false);
  }
}

/// As some captures are: each packet twice, or a part of the headers alone.
inline void spoil(GeneratedCapture& capture, Rng rng) {
  if (rng.below(8) == 0) {
    auto twice = capture.frames;
    for (auto& [time, frame] : twice) time += static_cast<std::int64_t>(rng.below(1'500));
    capture.frames.insert(capture.frames.end(), twice.begin(), twice.end());
  }
  if (rng.below(8) == 0) {
    for (auto& [time, frame] : capture.frames) frame.packet.reth.reset();
  }
}

inline GeneratedCapture generate_capture(std::uint64_t seed) {
  GeneratedCapture capture;
  const Rng root(seed);
  Rng rng = root.split(0);
  const CaptureStyle style{.at_responder = rng.below(5) == 0,
                           .equal_psns = rng.below(5) == 0,
                           .wraps_around = rng.below(5) == 0,
                           .has_long_reads = rng.below(2) == 0};
  const std::uint64_t kinds = style.at_responder ? 7 : 16;
  const std::uint64_t connections = 1 + rng.below(8);
  const bool has_flood = rng.below(6) == 0;
  const std::int64_t begin = rng.below(4) == 0 ? 2'000'000 : 0;
  for (std::uint32_t i = 0; i < connections + (has_flood ? 3 : 0); ++i) {
    GeneratedConnection connection(capture, root.split(i + 1), i, style);
    if (rng.below(4) == 0) {
      // Both ends have requests.
      const std::int64_t start = connection.now();
      GeneratedConnection other = connection;
      other.turn_round();
      other.healthy();
      other.at_least(begin);
      add_story(other, rng.below(kinds));
      other.healthy();
      connection.at_least(start);
    }
    connection.healthy();
    connection.at_least(begin);
    if (i >= connections) {
      connection.flood();
    } else {
      for (std::uint64_t n = rng.below(3); n > 0; --n) {
        add_story(connection, rng.below(kinds));
        connection.healthy();
      }
    }
    connection.healthy();
  }
  // Frames before the beginning of the capture are not seen; nothing went wrong then.
  std::erase_if(capture.frames, [&](const auto& frame) { return frame.first < begin; });
  spoil(capture, root.split(1'000));
  std::stable_sort(capture.frames.begin(), capture.frames.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return capture;
}

}  // namespace weft::rdma
