// SPDX-License-Identifier: Apache-2.0
// ReliableConnections: reliable connections of InfiniBand between hosts of the simulated network,
// over pinned or paged memory. Each host has one adapter (net/rc); each packet of theirs is one
// message of the network.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "net/rc/adapter.hpp"
#include "sim/engine/agent.hpp"
#include "sim/network/network.hpp"
#include "sim/network/pool.hpp"

namespace weft::sim {

struct RcOptions {
  net::rc::DeviceProfile profile;
  net::rc::AdapterOptions adapter;
  /// A READ of one byte goes behind requests that have had no answer for so long: it draws a
  /// sequence NAK for a request that was lost. Zero: none.
  Duration dummy_after;
  /// With paged memory: hosts send from a ring of `send_ring_bytes` that is paged as well, one
  /// message behind the other, and not from pinned memory.
  bool sends_paged = false;
  std::uint64_t seed = 1;
};

/// The memory that a host sends from. No real addresses are used: they differ from run to run.
constexpr std::uint64_t send_ring_bytes = std::uint64_t{1} << 20;

/// A packet at a host's port: those that leave it, and those that arrive.
struct RcTapped {
  Instant at;
  std::uint32_t host = 0;  ///< where the tap is
  std::uint32_t peer = 0;
  bool leaves = true;
  bool is_request = true;  ///< goes to the responder's end
  std::uint32_t requester_queue_pair = 0;
  std::uint32_t responder_queue_pair = 0;
  net::rc::Packet packet;
};

/// Told the outcome of operations, during events of the network. May open, close and post.
class RcUser {
 public:
  virtual ~RcUser() = default;
  /// A SEND or WRITE with that tag is whole at the other end; once, in the order posted.
  virtual void on_received(std::uint64_t tag) = 0;
  /// The poster knows that it has been received; once, in the order posted, after `on_received`.
  virtual void on_completed(std::uint32_t connection, std::uint32_t end, std::uint64_t cookie) = 0;
  /// Retries are exceeded at that end; the connection does nothing any more.
  virtual void on_failed(std::uint32_t connection, std::uint32_t end) = 0;
};

/// The counters of all hosts' adapters together.
struct RcCounters {
  net::rc::AdapterCounters adapters;
  std::uint64_t packets = 0;
  std::uint64_t page_faults = 0;
  std::uint64_t dummies = 0;
  std::uint64_t lost = 0;  ///< packets on lossy links

  RcCounters& operator+=(const RcCounters& more) {
    adapters += more.adapters;
    packets += more.packets;
    page_faults += more.page_faults;
    dummies += more.dummies;
    lost += more.lost;
    return *this;
  }
};

class ReliableConnections final : public NetworkUser, public Agent {
 public:
  /// The network's mtu is at least `least_mtu`; packets have at most the largest power of two of
  /// payload that it holds. User, network and agents outlive it. The network is whole.
  ReliableConnections(const RcOptions& options, RcUser& user, Network& network, Agents& agents);
  static constexpr std::uint32_t least_mtu = 256;
  /// Bytes of headers of a packet at most.
  static constexpr std::uint32_t most_header = 64;
  static std::uint32_t mtu_of(std::uint32_t network_mtu);

  struct Post {
    net::rc::Verb verb = net::rc::Verb::send;  ///< send or write
    std::uint64_t remote = 0;                  ///< address of a write in the peer's memory
    std::uint32_t bytes = 1;                   ///< at least 1
    std::uint64_t tag = 0;                     ///< for the receiver
    std::uint64_t cookie = 0;                  ///< for the poster
  };

  /// A connection between two different hosts; its ends are 0 and 1. Packets go on that level.
  std::uint32_t open(std::uint32_t host_of_0, std::uint32_t host_of_1, std::uint8_t level,
                     std::uint32_t receives);
  /// Messages under way are gone: neither received nor completed. The number may be used again.
  void close(std::uint32_t connection);
  bool is_open(std::uint32_t connection) const { return connections_[connection].is_open; }
  void post(std::uint32_t connection, std::uint32_t end, const Post& post);
  /// One more SEND finds a receive buffer at that end.
  void add_receive(std::uint32_t connection, std::uint32_t end);
  /// Calls `f` with the tag of everything that was posted and not received.
  template <class F>
  void for_each_undelivered(std::uint32_t connection, F&& f) const {
    for (const End& end : connections_[connection].ends) {
      for (const std::uint64_t tag : end.to_deliver) f(tag);
    }
  }

  /// Addresses for that many bytes of a host's memory, from the beginning of a page. Page 0 is
  /// never handed out, and always there.
  std::uint64_t add_memory(std::uint32_t host, std::uint64_t bytes, bool prefetched);
  net::rc::Pages& pages(std::uint32_t host) { return host_at(host).adapter.pages(); }

  RcCounters counters() const;
  const RcOptions& options() const { return options_; }
  /// Told of every packet at that host's port, as ibdump is; it must do nothing to the simulation.
  void set_tap(std::uint32_t host, std::function<void(const RcTapped&)> tap);

  // For NetworkUser and Agent.
  void on_sent(const Message&, PicoInstant) override {}
  void on_arrived(const Message& message) override;
  void on_lost(const Message& message) override;
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

 private:
  enum Timer : std::uint16_t { deadline, watch };
  struct Host {
    Host(const RcOptions& options, Rng rng) : adapter(options.profile, options.adapter, 0, rng) {}
    net::rc::Adapter adapter;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> users;  // connection and end, by QP
    std::vector<std::uint32_t> first_psns;  // of requests to each queue pair in its next use
    std::vector<std::uint32_t> unused;      // queue pairs
    PicoInstant armed = PicoInstant::never();
    std::uint64_t next_address = 1U << 20;
    std::uint64_t sent_bytes = 0;  // where in the ring the next message lies
  };
  struct Completing {
    std::uint64_t cookie = 0;
    bool is_dummy = false;
  };
  struct End {
    std::uint32_t host = 0;
    std::uint32_t queue_pair = 0;
    std::deque<std::uint64_t> to_deliver;  // tags of messages posted here, not received there
    std::deque<Completing> to_complete;
    PicoInstant progress{};  // the last one that was made, or a dummy
    bool is_watched = false;
  };
  struct Connection {
    std::uint32_t generation = 0;
    bool is_open = false;
    std::uint8_t level = 0;
    std::uint32_t next = kNone;
    std::array<End, 2> ends;
  };
  struct InFlight {
    net::rc::Packet packet;
    std::uint32_t connection = 0;
    std::uint32_t generation = 0;
    std::uint32_t to_end = 0;
    std::uint32_t next = kNone;
  };

  PicoInstant now() const { return agents_.engine().now(); }
  Instant now_ns() const { return to_nano(now()); }
  Host& host_at(std::uint32_t host);
  bool is_current(std::uint32_t connection, std::uint32_t generation) const;
  void carry_out(std::uint32_t host, const net::rc::Outbox& out);
  void send(std::uint32_t host, const net::rc::Packet& packet);
  void received(std::uint32_t host, std::uint32_t queue_pair);
  void completed(std::uint32_t host, const net::rc::Completion& completion);
  void arm(std::uint32_t host);
  void watch_end(std::uint32_t connection, std::uint32_t end);
  void look_after(std::uint32_t connection, std::uint32_t end);
  std::uint64_t place_in_ring(Host& host, std::uint32_t bytes);
  void submit(std::uint32_t connection, std::uint32_t end, const net::rc::WorkRequest& work);
  void tap_packet(std::uint32_t connection, std::uint32_t from_end, bool leaves,
                  const net::rc::Packet& packet);

  RcOptions options_;
  RcUser& user_;
  Network& network_;
  Agents& agents_;
  std::uint32_t agent_;
  std::uint16_t network_user_;
  std::vector<std::unique_ptr<Host>> hosts_;  // by host; null: has no connection yet
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> unused_;
  Pool<InFlight> in_flight_;
  std::optional<std::uint32_t> tapped_host_;
  std::function<void(const RcTapped&)> tap_;
  std::uint64_t packets_ = 0;
  std::uint64_t dummies_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace weft::sim
