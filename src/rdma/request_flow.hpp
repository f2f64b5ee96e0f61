// SPDX-License-Identifier: Apache-2.0
// RequestFlow: the requests of one queue pair as a capture shows them, and why each of them went
// out again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "wire/capture/infiniband.hpp"

namespace weft::rdma {

/// A packet's place in the capture.
struct Seen {
  std::uint64_t number = 0;
  std::int64_t time_ns = 0;
};

/// The event that a packet shows.
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
  /// The last packet of the earlier event that it goes on with: of the same request, which still
  /// has no answer that counts. 0: of none.
  std::uint64_t belongs_to = 0;
};

/// Keeps the latest few hundred requests, and more of those that have no answer. Copyable, no I/O.
class RequestFlow {
 public:
  static constexpr std::size_t most_unanswered = 8'192;
  static constexpr std::size_t most_answered = 512;
  /// Fewer would not tell a queue pair that was set up again from a request that goes out again.
  static constexpr std::size_t fewest = 16;

  /// `most`: how many requests without an answer to keep, from `fewest` to `most_unanswered`. Of
  /// those with an answer as many are kept, and at most `most_answered`.
  FlowEvent on_request(const Seen& seen, const wire::TransportPacket& packet,
                       std::size_t most = most_unanswered);
  FlowEvent on_response(const Seen& seen, const wire::TransportPacket& packet);

  /// Returns whether a response with this PSN answers one of the requests that has no answer yet;
  /// the time when that was sent.
  std::optional<std::int64_t> waits_for(std::uint32_t psn) const;
  /// Returns whether a response that it waits for is of the kind and size that the request asks
  /// for.
  bool fits(const wire::TransportPacket& response) const;
  /// Returns whether a NAK for this PSN may be for a request that was lost before the capture saw
  /// it, in front of or between those that it saw; the time when its neighbour was sent.
  std::optional<std::int64_t> lacks(std::uint32_t psn) const;
  /// Returns whether a request has no answer yet, or a wait has not ended.
  bool is_open() const;
  /// Requests that are kept.
  std::size_t kept() const { return requests_.size(); }
  /// The number of times that the queue pair was set up anew.
  std::uint32_t restarts() const { return restarts_; }

 private:
  struct Request {
    std::uint32_t psn = 0;
    std::uint32_t length = 0;    // that a READ asks for; 0: the capture cut it
    std::uint32_t last_psn = 0;  // a READ may be asked for again from its middle on
    std::int32_t answered = 0;   // packets of a READ's answer, up to the first that was not seen
    bool is_read = false;
    bool is_answered = false;
    bool was_answered = false;  // at some time: it may have gone out again since
    bool lacks_answer = false;  // packets of a READ's answer are missing before others: implied NAK
    wire::Opcode opcode{};
    std::uint32_t payload = 0;
    std::optional<wire::Reth> reth;
    std::uint32_t repeats = 0;     // went out again though it had been answered
    bool sent_in_wait = false;     // went out last while an earlier one waited
    bool sent_after_wait = false;  // went out again last at the end of a wait: its own, or behind
    // Why it went out again, while that has not helped.
    FlowEvent::Kind trouble = FlowEvent::Kind::nothing;
    std::uint64_t trouble_packet = 0;  // the last one of the event
    Seen first, last;                  // when it went out
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
  bool is_set_up_anew(const Seen& seen, const wire::TransportPacket& packet,
                      const Request* request) const;
  bool may_be_flooded(const Seen& seen, std::uint32_t psn, const Request* request) const;
  void start_anew();
  FlowEvent add(const Seen& seen, const wire::TransportPacket& packet, std::size_t most);
  FlowEvent seen_late(const Seen& seen, std::size_t place);
  bool is_captured_twice(const Seen& seen, const Request& request, std::uint32_t psn) const;
  bool goes_on_with_sweep(const Seen& seen, const Request& request, std::uint32_t psn) const;
  FlowEvent on_repeat(const Seen& seen, Request& request, std::uint32_t psn);
  FlowEvent why_repeated(const Seen& seen, Request& request, std::uint32_t psn);
  FlowEvent on_answered_repeat(const Seen& seen, Request& request, std::int64_t gap_ns);
  bool was_in_wait(const Request& request) const;
  bool was_rescued(const Request& request) const;
  void remember(const Wait& wait);
  void mark_wait(const Wait& wait);
  void end_discard(const Seen& seen, const Request& request);
  void end_wait(const Seen& seen, const Request& request);
  void answer(const Seen& seen, Request& request);
  void answer_part(const Seen& seen, Request& request, std::int32_t part, bool is_last);
  void answer_until(const Seen& seen, std::uint32_t psn,
                    std::optional<std::uint32_t> shown_by = std::nullopt);
  FlowEvent on_rnr_nak(const Seen& seen, std::uint32_t psn, std::uint8_t code);

  std::deque<Request> requests_;  // ascending PSNs
  std::size_t unanswered_from_ = 0;
  std::uint32_t lowest_psn_ = 0;               // of all requests since the queue pair was set up
  std::optional<std::uint64_t> first_answer_;  // the number of the packet
  bool has_later_answer_ = false;  // of a request that went out first after the first answer
  std::uint32_t restarts_ = 0;
  std::uint32_t carried_repeats_ = 0;  // of the first request, which may be one of a flood
  std::vector<Wait> waits_;            // the latest few; most queue pairs have none
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
  std::uint64_t sweep_trouble_packet_ = 0;
  bool has_sweep_ = false;
  std::uint32_t mtu_ = 0;  // payload of packets that others of their message follow; 0: none yet
};

}  // namespace weft::rdma
