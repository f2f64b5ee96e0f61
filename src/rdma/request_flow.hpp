// SPDX-License-Identifier: Apache-2.0
// RequestFlow: the requests of one queue pair as a capture shows them, and why each of them went
// out again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "wire/capture/infiniband.hpp"

namespace weft::rdma {

/// A packet's place in the capture.
struct Seen {
  std::uint64_t number = 0;
  std::int64_t time_ns = 0;
};

/// What a packet shows.
struct FlowEvent {
  enum class Kind : std::uint8_t {
    nothing,
    damming,          ///< a request that was sent in a wait had no answer until a timeout
    damming_rescued,  ///< the same, but a sequence NAK asked for it
    flood,            ///< answered, and asked for again, once more often than is common
    loss,             ///< no answer, and no wait that explains it
    long_rnr_wait     ///< an RNR NAK with code 0
  };
  Kind kind = Kind::nothing;
  std::uint64_t first_packet = 0;
  std::uint64_t last_packet = 0;
  std::int64_t lost_ns = 0;
  /// Belongs to the flow's latest finding: the same request, and still no answer that counts.
  bool goes_on = false;
};

/// Keeps the latest few hundred requests. Copyable, no I/O.
class RequestFlow {
 public:
  FlowEvent on_request(const Seen& seen, const wire::TransportPacket& packet);
  FlowEvent on_response(const Seen& seen, const wire::TransportPacket& packet);

  /// Whether a response with this PSN answers one of the requests that has no answer yet; the time
  /// when that was sent.
  std::optional<std::int64_t> waits_for(std::uint32_t psn) const;
  /// Whether a NAK for this PSN may be for what was lost in front of the first request seen; the
  /// time when that was sent.
  std::optional<std::int64_t> lacks(std::uint32_t psn) const;

 private:
  struct Request {
    std::uint32_t psn = 0;
    std::uint32_t length = 0;    // that a READ asks for; 0: the capture cut it
    std::uint32_t last_psn = 0;  // a READ may be asked for again from its middle on
    std::int32_t answered = 0;   // packets of a READ's answer, up to the last one seen
    bool is_read = false;
    bool is_answered = false;
    std::uint32_t repeats = 0;     // went out again though it had been answered
    bool sent_in_wait = false;     // went out last while an earlier one waited
    bool sent_after_wait = false;  // went out last at the end of a wait: its own, or behind it
    // Why it went out again, while that has not helped.
    FlowEvent::Kind trouble = FlowEvent::Kind::nothing;
    Seen first, last;  // when it went out
    Seen answer;
  };
  /// While the requester waits to send a request again.
  struct Wait {
    std::uint32_t psn = 0;
    Seen begin;
    std::int64_t asked_ns = 0;  // how long the responder asked it to wait
    std::int64_t end_ns = 0;
    bool is_open = false;
    bool is_long = false;  // RNR code 0
  };

  Request* find(std::uint32_t psn);
  bool covers(const Request& request, std::uint32_t psn) const;
  void learn_mtu(const wire::TransportPacket& packet);
  FlowEvent add(const Seen& seen, const wire::TransportPacket& packet);
  FlowEvent seen_late(const Seen& seen, std::size_t place);
  bool is_captured_twice(const Seen& seen, const Request& request, std::uint32_t psn) const;
  bool goes_on_with_sweep(const Seen& seen, const Request& request, std::uint32_t psn) const;
  FlowEvent on_repeat(const Seen& seen, Request& request, std::uint32_t psn);
  FlowEvent why_repeated(const Seen& seen, Request& request, std::uint32_t psn);
  FlowEvent on_answered_repeat(const Seen& seen, Request& request, std::int64_t gap_ns);
  bool was_in_wait(const Request& request) const;
  void mark_wait(const Wait& wait);
  void end_discard(const Seen& seen, const Request& request);
  void end_wait(const Seen& seen, const Request& request);
  void answer(const Seen& seen, Request& request);
  void answer_until(const Seen& seen, std::uint32_t psn);
  FlowEvent on_rnr_nak(const Seen& seen, std::uint32_t psn, std::uint8_t code);

  std::deque<Request> requests_;  // ascending PSNs
  std::size_t unanswered_from_ = 0;
  std::array<Wait, 8> waits_{};
  std::size_t next_wait_ = 0;
  std::uint64_t wait_ended_ = 0;          // the number of the packet that ended the latest wait
  std::optional<std::uint32_t> behind_;   // the request of that wait, until it is answered
  std::optional<std::uint32_t> nak_psn_;  // that a sequence NAK asked for
  Seen nak_;
  // A series that goes out again: its first packet's PSN and number, its latest one's time.
  std::uint32_t sweep_psn_ = 0;
  std::uint64_t sweep_from_ = 0;
  std::int64_t sweep_ns_ = 0;
  FlowEvent::Kind sweep_trouble_ = FlowEvent::Kind::nothing;
  bool has_sweep_ = false;
  std::uint32_t mtu_ = 0;  // payload of packets that others of their message follow; 0: none yet
};

}  // namespace weft::rdma
