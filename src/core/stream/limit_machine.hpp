// SPDX-License-Identifier: Apache-2.0
// Bare writes, as fast as the fabric takes them, without credits or order, in two patterns:
//
// Everybody to everybody is the many-to-many write benchmark of paper 1, section V.A (Figs. 3 to
// 5): every sender writes messages of one size into the memory of every receiver. With `mix`, each
// message is accompanied by the small ones of the paper's timeslice building: a descriptor of 20
// bytes, written, and two SYNC messages of 64 bytes. Messages get into each other's way on the way
// and at the receivers, so a schedule that keeps them apart can exceed this rate.
//
// With partners every sender has receivers of its own, or every receiver has senders of its own:
// nobody waits for anybody. No schedule can exceed this rate without the mix.
#pragma once

#include <cstdint>
#include <vector>

#include "core/stream/outbox.hpp"
#include "core/stream/roster.hpp"
#include "weft/fabric.hpp"
#include "weft/time.hpp"

namespace weft::stream {

enum class LimitPattern : std::uint8_t { everybody, partners };

struct LimitConfig {
  Roster roster;  ///< inputs send, computes receive
  std::uint32_t self = 0;
  std::size_t message_bytes = 64 << 10;
  bool mix = false;
  LimitPattern pattern = LimitPattern::everybody;
  Duration duration = Duration::seconds(1);
};

/// A sender. Starts with all others (sender 0 gives the sign when everybody is connected), ends
/// when every receiver has said that everything arrived.
class LimitSender {
 public:
  /// `message` is written again and again; it outlives the machine.
  LimitSender(const LimitConfig& config, std::span<const std::byte> message);

  void on_completion(Instant now, const Completion& completion);
  void turn(Instant now, Outbox& out);
  Instant next_deadline() const;
  bool finished() const { return finished_; }
  Instant started() const { return started_; }
  Instant ended() const { return ended_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return messages_ * config_.message_bytes; }

 private:
  struct Receiver {
    RemoteRegion region;
    bool ready = false;
    bool partner = true;  // of this sender
    std::uint32_t in_flight = 0;
    bool told_done = false;
    bool done = false;
  };
  void on_message(Instant now, NodeId peer, std::span<const std::byte> bytes);
  void start_when_ready(Instant now, Outbox& out);
  bool write_to(std::uint32_t receiver, Outbox& out);
  void write_small_ones(TxOp op, Outbox& out);
  void send_byte(NodeId peer, char what, Outbox& out);

  LimitConfig config_;
  std::span<const std::byte> message_;
  std::uint32_t window_;
  std::vector<Receiver> receivers_;
  std::uint32_t ready_senders_ = 0;  // sender 0 counts them
  std::uint32_t next_ = 0;
  bool sees_first_ = false;  // sender 0 is connected and can receive messages
  bool said_ready_ = false;
  bool running_ = false;
  bool finished_ = false;
  Instant started_ = Instant::never();
  Instant ended_{};
  std::uint64_t messages_ = 0;
};

/// A receiver: exposes memory with a place for every sender and says when all of it has arrived.
class LimitReceiver {
 public:
  LimitReceiver(const LimitConfig& config, const RemoteRegion& region);

  void on_completion(const Completion& completion);
  void turn(Outbox& out);
  bool finished() const { return done_ == config_.roster.inputs && owed_.empty(); }
  /// Bytes that the exposed memory must have.
  static std::size_t memory_bytes(const LimitConfig& config) {
    return config.roster.inputs * (config.message_bytes + 64);
  }

 private:
  struct Owed {
    NodeId peer{};
    char what = 0;
  };
  LimitConfig config_;
  RemoteRegion region_;
  std::uint32_t done_ = 0;
  std::vector<Owed> owed_;
};

}  // namespace weft::stream
