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
};

/// Keeps the latest few hundred requests. Copyable, no I/O.
class RequestFlow {
 public:
  FlowEvent on_request(const Seen& seen, const wire::TransportPacket& packet);
  FlowEvent on_response(const Seen& seen, const wire::TransportPacket& packet);

  /// Whether a response with this PSN answers one of the requests that has no answer yet; the time
  /// when that was sent.
  std::optional<std::int64_t> waits_for(std::uint32_t psn) const;

 private:
  struct Request {
    std::uint32_t psn = 0;
    bool is_read = false;
    bool is_answered = false;
    std::uint32_t repeats = 0;    // went out again though it had been answered
    bool sent_in_wait = false;    // went out last while an earlier one waited
    bool ended_own_wait = false;  // went out last at the end of its own wait
    Seen first, last;             // when it went out
    Seen answer;
  };
  /// While the requester waits to send a request again.
  struct Wait {
    std::uint32_t psn = 0;
    Seen begin;
    std::int64_t end_ns = 0;
    bool is_open = false;
    bool is_long = false;  // RNR code 0
  };

  Request* find(std::uint32_t psn);
  FlowEvent on_repeat(const Seen& seen, Request& request);
  FlowEvent on_answered_repeat(const Seen& seen, Request& request, std::int64_t gap_ns);
  bool was_in_wait(const Request& request) const;
  void mark_wait(const Wait& wait);
  void answer_until(const Seen& seen, std::uint32_t psn);
  void add_wait(const Wait& wait);

  std::deque<Request> requests_;  // ascending PSNs
  std::size_t unanswered_from_ = 0;
  std::array<Wait, 8> waits_{};
  std::size_t next_wait_ = 0;
  std::uint64_t wait_ended_ = 0;          // the number of the packet that ended the latest wait
  std::optional<std::uint32_t> nak_psn_;  // that a sequence NAK asked for
  Seen nak_;
  std::uint32_t sweep_psn_ = 0;  // the latest packet of a series that goes out again
  std::int64_t sweep_ns_ = 0;
  std::uint64_t sweep_from_ = 0;  // its first packet's number
  bool has_sweep_ = false;
};

}  // namespace weft::rdma
