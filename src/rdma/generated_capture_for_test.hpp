// SPDX-License-Identifier: Apache-2.0
// Captures drawn from a seed, with what is to be found in them: several connections whose packets
// mingle, each healthy or with one of the pitfalls, by profiles and timings of its own. Written
// from the description of the pitfalls, not by the model.
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

/// One connection, whose packets are added to a capture.
class GeneratedConnection {
 public:
  GeneratedConnection(GeneratedCapture& capture, Rng rng, std::uint32_t number)
      : capture_(capture), rng_(rng) {
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
    now_ = static_cast<std::int64_t>(rng_.below(3'000'000));
    round_trip_ = 2'000 + static_cast<std::int64_t>(rng_.below(20'000));
    constexpr std::int64_t timeouts[] = {30'000'000, 120'000'000, 500'000'000, 2'000'000'000};
    timeout_ = timeouts[rng_.below(4)];
    factor_ = rng_.below(2) == 0 ? 3.5 : 1.0;
  }

  std::uint32_t queue_pair() const { return to_server_; }
  void at_least(std::int64_t time) { now_ = std::max(now_, time); }
  std::int64_t now() const { return now_; }

  void healthy() {
    for (std::uint64_t n = rng_.below(12); n > 0; --n) {
      const std::uint32_t psn = next();
      const bool is_read = rng_.below(2) == 0;
      request(psn, is_read);
      now_ += round_trip_;
      answer(psn, is_read);
      pause();
    }
  }
  /// A page fault on the server's side that costs a wait and nothing else.
  void server_fault() {
    const std::uint32_t psn = next();
    request(psn, true);
    rnr(psn, code());
    request(psn, true);
    finish(psn);
  }
  void client_fault() {
    const std::uint32_t psn = next();
    request(psn, true);
    for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
      now_ += round_trip_;
      answer(psn, true);
      now_ += 500'000;
      request(psn, true);
    }
    finish(psn);
  }
  void damming(bool on_client, bool rescued) {
    const std::uint32_t first = next();
    request(first, true);
    const std::uint64_t lost = 1 + rng_.below(3);
    const std::uint32_t second = psn_;
    const auto lose = [&](std::int64_t wait) {
      for (std::uint64_t i = 0; i < lost; ++i) {
        now_ += wait / static_cast<std::int64_t>(lost + 1);
        request(next(), rng_.below(2) == 0);
      }
      now_ += wait / static_cast<std::int64_t>(lost + 1);
    };
    if (on_client) {
      now_ += round_trip_;
      answer(first, true);
      lose(500'000);
    } else {
      now_ += round_trip_;
      const std::uint8_t timer = code();
      nak(first, wire::rnr_nak_syndrome(timer));
      lose(static_cast<std::int64_t>(static_cast<double>(wire::rnr_timer_ns[timer]) * factor_));
    }
    request(first, true);
    finish(first);
    recover(second, rescued);
    label(rescued ? FindingClass::damming_rescued : FindingClass::damming);
  }
  void loss(bool in_the_middle) {
    const std::uint32_t lost = next();
    request(lost, true);
    recover(lost, in_the_middle);
    label(FindingClass::loss);
  }
  void longest_rnr() {
    const std::uint32_t psn = next();
    request(psn, true);
    rnr(psn, 0);
    request(psn, true);
    finish(psn);
    label(FindingClass::rnr_misconfigured);
  }
  void flood() {
    const std::uint32_t psn = next();
    const std::uint64_t behind = rng_.below(4);
    for (std::uint64_t i = 0; i < behind; ++i) next();
    const std::int64_t spacing = 500'000 + static_cast<std::int64_t>(rng_.below(5'000'000));
    const auto all = [&] {
      for (std::uint64_t i = 0; i <= behind; ++i)
        request(psn + static_cast<std::uint32_t>(i), true);
      now_ += round_trip_;
      for (std::uint64_t i = 0; i <= behind; ++i) answer(psn + static_cast<std::uint32_t>(i), true);
    };
    for (std::uint64_t n = 10 + rng_.below(80); n > 0; --n) {
      all();
      now_ += spacing;
    }
    all();
    pause();
    label(FindingClass::flood);
  }

 private:
  std::uint32_t next() { return psn_++; }
  void pause() { now_ += static_cast<std::int64_t>(rng_.exponential(200'000)); }
  std::uint8_t code() { return static_cast<std::uint8_t>(1 + rng_.below(22)); }
  void label(FindingClass kind) { capture_.labels.emplace(kind, to_server_); }

  /// What was sent from `psn` on and not answered is sent again, after a timeout or a NAK.
  void recover(std::uint32_t psn, bool by_nak) {
    if (by_nak) {
      now_ += 10'000 + static_cast<std::int64_t>(rng_.below(2'000'000));
      request(next(), true);
      now_ += round_trip_;
      nak(psn, wire::sequence_nak_syndrome);
      now_ += 2'000;
    } else {
      now_ += timeout_ + static_cast<std::int64_t>(rng_.below(1'000'000));
    }
    const std::uint32_t end = psn_;
    for (std::uint32_t p = psn; p != end; ++p) {
      request(p, true);
      now_ += 1'000;
    }
    now_ += round_trip_;
    for (std::uint32_t p = psn; p != end; ++p) answer(p, true);
    pause();
  }
  void finish(std::uint32_t psn) {
    now_ += round_trip_;
    answer(psn, true);
    pause();
  }
  void rnr(std::uint32_t psn, std::uint8_t timer) {
    now_ += round_trip_;
    nak(psn, wire::rnr_nak_syndrome(timer));
    now_ += static_cast<std::int64_t>(static_cast<double>(wire::rnr_timer_ns[timer]) * factor_);
  }
  void request(std::uint32_t psn, bool is_read) {
    wire::RdmaFrame frame;
    const bool known = reads_.count(psn & wire::psn_mask) != 0;
    if (!known) reads_[psn & wire::psn_mask] = is_read;
    is_read = reads_[psn & wire::psn_mask];
    frame.source = client_;
    frame.destination = server_;
    frame.source_port = ports_[0];
    frame.packet.bth.opcode = is_read ? wire::Opcode::read_request : wire::Opcode::send_only;
    frame.packet.bth.queue_pair = to_server_;
    frame.packet.bth.psn = psn & wire::psn_mask;
    if (is_read) frame.packet.reth = wire::Reth{0, 1, 64};
    frame.packet.payload = is_read ? 0 : 64;
    capture_.frames.emplace_back(now_, frame);
  }
  void respond(std::uint32_t psn, wire::Opcode opcode, std::uint8_t syndrome) {
    wire::RdmaFrame frame;
    frame.source = server_;
    frame.destination = client_;
    frame.source_port = ports_[1];
    frame.packet.bth.opcode = opcode;
    frame.packet.bth.queue_pair = to_client_;
    frame.packet.bth.psn = psn & wire::psn_mask;
    frame.packet.aeth = wire::Aeth{syndrome, 1};
    frame.packet.payload = opcode == wire::Opcode::acknowledge ? 0 : 64;
    capture_.frames.emplace_back(now_, frame);
  }
  void answer(std::uint32_t psn, bool is_read) {
    const auto known = reads_.find(psn & wire::psn_mask);
    if (known != reads_.end()) is_read = known->second;
    respond(psn, is_read ? wire::Opcode::read_response_only : wire::Opcode::acknowledge,
            wire::ack_syndrome);
  }
  void nak(std::uint32_t psn, std::uint8_t syndrome) {
    respond(psn, wire::Opcode::acknowledge, syndrome);
  }

  GeneratedCapture& capture_;
  Rng rng_;
  wire::NodeAddress client_, server_;
  std::uint32_t to_server_ = 0, to_client_ = 0;
  std::uint16_t ports_[2] = {};
  std::uint32_t psn_ = 0;
  std::int64_t now_ = 0;
  std::int64_t round_trip_ = 0;
  std::int64_t timeout_ = 0;
  double factor_ = 1;
  std::map<std::uint32_t, bool> reads_;
};

inline void add_story(GeneratedConnection& connection, std::uint64_t kind) {
  switch (kind) {
    case 0:
      return;
    case 1:
      return connection.server_fault();
    case 2:
      return connection.client_fault();
    case 3:
    case 4:
      return connection.damming(kind == 4, false);
    case 5:
    case 6:
      return connection.damming(kind == 6, true);
    case 7:
    case 8:
      return connection.loss(kind == 8);
    case 9:
      return connection.longest_rnr();
    default:
      return;
  }
}

inline GeneratedCapture generate_capture(std::uint64_t seed) {
  GeneratedCapture capture;
  const Rng root(seed);
  Rng rng = root.split(0);
  const std::uint64_t connections = 1 + rng.below(8);
  const bool has_flood = rng.below(6) == 0;
  for (std::uint32_t i = 0; i < connections + (has_flood ? 3 : 0); ++i) {
    GeneratedConnection connection(capture, root.split(i + 1), i);
    connection.healthy();
    if (i >= connections) {
      connection.flood();
    } else {
      for (std::uint64_t n = rng.below(3); n > 0; --n) {
        add_story(connection, rng.below(10));
        connection.healthy();
      }
    }
    connection.healthy();
  }
  std::stable_sort(capture.frames.begin(), capture.frames.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return capture;
}

}  // namespace weft::rdma
