// SPDX-License-Identifier: Apache-2.0
// Adapter: one host's end of many reliable connections, packet by packet: requester and responder
// of each, the pages of its memory, and the engine that sends requests again. The pitfalls of
// on-demand paging are nowhere in it by name; they follow from the figures of DeviceProfile.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "net/rc/device_profile.hpp"
#include "net/rc/packet.hpp"
#include "net/rc/pages.hpp"

namespace weft::net::rc {

struct AdapterOptions {
  std::uint32_t mtu = mtu_bytes;  ///< payload of a packet at most; the same at both ends
  bool paged = false;             ///< its memory is registered for on-demand paging
  std::uint8_t ack_timeout = 1;   ///< code of the local ACK timeout, 0 to 31; 0: none
  std::uint8_t retry_count = 7;   ///< then the queue pair fails
  std::uint8_t rnr_retry = 7;     ///< of RNR NAKs in a row; 7 stands for endless
  std::uint8_t rnr_timer = 14;    ///< code of the wait that its RNR NAKs ask for; 14: 1.28 ms
};

/// Events at an adapter: those that its counters would tell, and those that only a model can.
struct AdapterCounters {
  std::uint64_t timeouts = 0;  ///< ACK timeouts that ran out
  std::uint64_t dammed = 0;    ///< of these: the request that was missed had been lost at the port
  std::uint64_t rnr_naks = 0;  ///< sent
  std::uint64_t sequence_naks = 0;    ///< sent
  std::uint64_t implied_naks = 0;     ///< responses that came ahead of a missing one
  std::uint64_t retransmissions = 0;  ///< packets sent again
  std::uint64_t discarded = 0;        ///< responses thrown away
  /// Requests whose response was thrown away late_retries times although its page was there.
  std::uint64_t flooded = 0;

  AdapterCounters& operator+=(const AdapterCounters& more);
};

/// A request that goes out again this often with its page there floods.
constexpr std::uint32_t late_retries = 10;

/// A machine: given the time, never asks for it. Queue pairs are numbered from 0.
class Adapter {
 public:
  /// `profile` outlives the adapter.
  Adapter(const DeviceProfile& profile, const AdapterOptions& options, std::uint32_t queue_pairs,
          Rng rng);

  /// A queue pair more; returns its number.
  std::uint32_t add_queue_pair();
  /// Makes a queue pair as new. Its requests are forgotten without a completion. Packets that are
  /// under way to it must not be handed over any more.
  void reset(std::uint32_t queue_pair);
  /// The PSN of the first request that it sends, and of the first one that it expects, which is the
  /// first that its peer sends. At first both are 0. Before anything is posted at either end.
  void begin_at(std::uint32_t queue_pair, std::uint32_t sends, std::uint32_t expects);
  /// The PSN of the request that comes next.
  std::uint32_t expected_psn(std::uint32_t queue_pair) const {
    return queue_pairs_[queue_pair].expected;
  }
  /// From now on `receives` SENDs find a receive buffer, and the next one draws an RNR NAK. At
  /// first there is no limit.
  void set_receives(std::uint32_t queue_pair, std::uint32_t receives) {
    queue_pairs_[queue_pair].receives = receives;
  }
  std::uint32_t receives(std::uint32_t queue_pair) const {
    return queue_pairs_[queue_pair].receives;
  }

  void post(Instant now, std::uint32_t queue_pair, const WorkRequest& request, Outbox& out);
  void on_packet(Instant now, const Packet& packet, Outbox& out);
  Instant next_deadline() const;
  void on_deadline(Instant now, Outbox& out);

  Pages& pages() { return pages_; }
  const Pages& pages() const { return pages_; }
  const AdapterCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t unlimited = 0xffff'ffff;

  struct Request {
    WorkRequest work;
    std::uint64_t serial = 0;
    std::uint32_t psn = 0;  // of its first packet
    std::uint32_t packets = 1;
    std::uint32_t done = 0;       // packets answered or acknowledged, in order
    std::uint64_t ticket = 0;     // names its wait for a page
    std::uint64_t waits_for = 0;  // that page
    std::uint32_t refused = 0;    // times in a row that it was not told, and the page was there
    bool lost = false;            // counts as sent, but never went out
    bool was_seen = false;        // at the port: when it is sent now, it is sent again
    std::optional<std::uint32_t> gap_at;  // of a READ: `done` when a response was found missing
  };
  enum class Wait : std::uint8_t { none, again, local_page };
  struct QueuePair {
    std::deque<Request> requests;  // the first `sent` of them were sent
    std::size_t sent = 0;
    std::uint32_t next_psn = 0;
    std::uint32_t reads = 0;      // sent and not completed
    std::uint32_t resending = 0;  // requests in the queue of the engine
    std::uint64_t round = 0;      // requests that were queued in earlier ones are stale
    Wait wait = Wait::none;
    Instant stopped_from = Instant::never();
    bool is_missed = false;  // a sequence NAK came in that wait
    std::uint64_t wait_number = 0;
    Instant timeout_at = Instant::never();
    Instant timer_at = Instant::never();  // when the queue of timers looks at timeout_at
    std::uint32_t retries = 0;
    std::uint32_t rnr_retries = 0;
    bool failed = false;
    // The responder's part.
    std::uint32_t expected = 0;
    std::uint32_t messages = 0;
    bool is_nak_sent = false;
    bool is_rnr = false;
    bool is_nak_coming = false;  // an RNR NAK was decided on
    std::uint64_t nak_number = 0;
    std::uint32_t receives = unlimited;
  };
  enum class TimerKind : std::uint8_t { resume, timeout, rnr_nak };
  struct Timer {
    Instant at;
    std::uint64_t order = 0;
    std::uint32_t queue_pair = 0;
    TimerKind kind{};
    std::uint64_t number = 0;
    bool operator>(const Timer& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Resend {
    std::uint32_t queue_pair = 0;
    std::uint64_t round = 0;
    std::uint64_t serial = 0;
  };

  // Requester.
  void pump(Instant now, std::uint32_t number, Outbox& out);
  bool may_send(const QueuePair& qp) const;
  void send_new(Instant now, std::uint32_t number, Request& request, bool lost, Outbox& out);
  void emit(Instant now, std::uint32_t number, Request& request, Outbox& out);
  bool wait_for_local_pages(Instant now, std::uint32_t number, Request& request);
  void on_response(Instant now, std::uint32_t number, const Packet& packet, Outbox& out);
  void on_read_response(Instant now, std::uint32_t number, const Packet& packet, Outbox& out);
  bool finds_pages(Instant now, std::uint32_t number, Request& request, const Packet& packet);
  void on_rnr_nak(Instant now, std::uint32_t number, const Packet& packet, Outbox& out);
  void acknowledge_before(Instant now, std::uint32_t number, std::uint32_t psn, Outbox& out);
  void complete(Instant now, std::uint32_t number, Outbox& out);
  void wait_again(Instant now, std::uint32_t number, Duration wait, Instant stops_at);
  void take_back_lost(QueuePair& qp);
  void go_back(Instant now, std::uint32_t number, bool with_lost);
  void on_timeout(Instant now, std::uint32_t number, Outbox& out);
  void fail(std::uint32_t number, Outbox& out);
  void start_timer(Instant now, std::uint32_t number);
  void resend_next(Instant now, Outbox& out);
  void on_told(Instant now, Outbox& out);

  // Responder.
  void on_request(Instant now, std::uint32_t number, const Packet& packet, Outbox& out);
  bool reaches_memory(Instant now, const Packet& packet);
  void answer(std::uint32_t number, const Packet& packet, Outbox& out);
  void send_nak(std::uint32_t number, std::uint8_t syndrome, Outbox& out);

  void set_timer(Instant at, std::uint32_t queue_pair, TimerKind kind, std::uint64_t number);
  void on_timer(Instant now, const Timer& timer, Outbox& out);

  const DeviceProfile& profile_;
  AdapterOptions options_;
  Pages pages_;
  std::vector<QueuePair> queue_pairs_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timer_order_ = 0;
  std::deque<Resend> resends_;
  Instant resend_at_ = Instant::never();
  std::uint64_t next_serial_ = 1;
  std::uint64_t next_ticket_ = 1;
  AdapterCounters counters_;
};

}  // namespace weft::net::rc
