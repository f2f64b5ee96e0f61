// SPDX-License-Identifier: Apache-2.0
// Diagnosis: finds packet damming, packet flood, plain loss and misconfigured RNR timers in a
// stream of RDMA packets, in one pass and constant memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rdma/request_flow.hpp"
#include "wire/capture/frame.hpp"

namespace weft::rdma {

enum class FindingClass : std::uint8_t { damming, damming_rescued, flood, loss, rnr_misconfigured };
/// "damming", "damming-rescued", "flood", "loss", "rnr-misconfigured".
std::string_view to_text(FindingClass kind);
/// The advised change, in the terms of verbs, UCX, libfabric and MPI.
std::string_view advice_for(FindingClass kind);

struct Finding {
  FindingClass kind{};
  std::uint32_t queue_pair = 0;  ///< the destination of the requests
  wire::NodeAddress from;        ///< of the requests
  wire::NodeAddress to;
  std::uint64_t first_packet = 0;  ///< from 1, as Wireshark counts
  std::uint64_t last_packet = 0;
  std::int64_t lost_ns = 0;

  /// Rescued sooner than any timeout would have: ordinary requests that follow one another closely
  /// draw the sequence NAK.
  bool is_harmless() const {
    constexpr std::int64_t harmful_ns = 10'000'000;  // a third of the shortest timeout measured
    return kind == FindingClass::damming_rescued && lost_ns < harmful_ns;
  }
};

/// Feed it the frames of a capture in order, then ask. One thread.
class Diagnosis {
 public:
  /// The most queue pairs to keep; each takes about 2 KiB, its latest requests included.
  static constexpr std::size_t most_queue_pairs = std::size_t{1} << 17;

  /// Keeps at most `queue_pairs` (2 or more) at a time. Beyond them it forgets the half that has
  /// been idle longest, those first of which no request waits for an answer. Their findings
  /// stay.
  explicit Diagnosis(std::size_t queue_pairs = most_queue_pairs) : most_flows_(queue_pairs) {}

  /// `number` and `time_ns` as the capture has them.
  void add(std::uint64_t number, std::uint64_t time_ns, const wire::RdmaFrame& frame);
  /// Findings in the order of their first packets. The diagnosis takes no more frames.
  std::vector<Finding> finish();

  /// Connections that carried requests; one that came again after it was forgotten counts again.
  std::uint64_t queue_pairs() const { return queue_pairs_; }
  /// Queue pairs that were forgotten, and those of them whose requests had no answer yet.
  std::uint64_t forgotten() const { return forgotten_; }
  std::uint64_t forgotten_open() const { return forgotten_open_; }
  /// RDMA packets.
  std::uint64_t packets() const { return packets_; }
  std::uint64_t wrong_icrcs() const { return wrong_icrcs_; }
  /// The number of the first packet that lies more than 100 ms before an earlier one: the clock was
  /// set back there, or files were joined in the wrong order. 0: of none.
  std::uint64_t time_goes_back_at() const { return time_goes_back_at_; }
  /// Findings beyond the most that are kept.
  std::uint64_t findings_left_out() const { return left_out_; }

 private:
  struct FlowKey {
    wire::NodeAddress from, to;
    std::uint32_t queue_pair = 0;
    bool operator==(const FlowKey&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const FlowKey& key) const;
  };
  struct Flow {
    RequestFlow requests;
    std::uint64_t last_seen = 0;
    std::uint16_t port = 0;
    bool is_paired = false;
    bool is_candidate = false;      // listed in candidates_
    std::uint32_t indexed = 0;      // requests in by_psn_
    std::uint32_t answered_to = 0;  // with is_paired: the queue pair that the answers go to
  };
  /// The time that a queue pair loses to a flood, whose requests go out again side by side.
  struct FloodTime {
    struct Span {
      std::int64_t begin_ns = 0, end_ns = 0;
    };
    std::vector<Span> spans;  // the latest ones, apart from each other
    std::int64_t earlier_ns = 0;

    void add(Span span);
    std::int64_t sum_ns() const;
  };
  struct Unclaimed {
    Seen seen;
    wire::TransportPacket packet;
  };
  struct Answers {
    FlowKey flow;  // the requests that these answer
    std::uint32_t strange = 0;
    bool is_paired = false;
    std::uint64_t last_seen = 0;
    std::vector<Unclaimed> unclaimed;  // the latest few, until their requester is known
  };

  std::int64_t steady_time(std::uint64_t number, std::int64_t time_ns);
  void add_request(const FlowKey& key, const Seen& seen, const wire::RdmaFrame& frame);
  void add_response(const FlowKey& key, const Seen& seen, const wire::RdmaFrame& frame);
  Flow* requests_of(Answers& answers, const FlowKey& key, const wire::RdmaFrame& frame);
  Flow* paired(Answers& answers, const FlowKey& key, std::uint32_t psn);
  Flow* requests_of_peer(Answers& answers, const FlowKey& key);
  Flow* likely_requests(Answers& answers, const FlowKey& key, const wire::RdmaFrame& frame);
  Flow* pair(Answers& answers, const FlowKey& key, const FlowKey& requests, Flow& flow);
  bool keep(FindingClass kind, const FlowKey& key, const FlowEvent& event);
  Finding* merge(FindingClass kind, const FlowKey& key, const FlowEvent& event,
                 std::unordered_map<FlowKey, std::size_t, KeyHash>& known);
  void note_flood(const FlowKey& key, const Seen& seen, const FlowEvent& event);
  void note(const FlowKey& key, const Seen& seen, FlowEvent event);
  void list(const FlowKey& key, Flow& flow);
  void unpair(const FlowKey& key, Flow& flow);
  Flow* candidate_by_psn(const FlowKey& answers, const wire::RdmaFrame& frame, FlowKey& best);
  void forget_flows();
  void forget_answers();

  std::size_t most_flows_;
  std::unordered_map<FlowKey, Flow, KeyHash> flows_;
  std::size_t kept_requests_ = 0;  // of all flows
  std::unordered_map<FlowKey, Answers, KeyHash> answers_;
  // Requests from one host to another whose answers are not known, by the queue pairs that they go
  // to, and by a hash of hosts and PSN. Entries may be out of date.
  std::map<std::pair<wire::NodeAddress, wire::NodeAddress>, std::vector<std::uint32_t>> candidates_;
  std::unordered_multimap<std::uint64_t, FlowKey> by_psn_;
  std::vector<Finding> findings_;
  std::unordered_map<std::uint64_t, std::size_t>
      by_packet_;  // findings, by the last packet that they had at first
  std::unordered_map<FlowKey, std::size_t, KeyHash> floods_;  // where in findings_
  std::unordered_map<FlowKey, FloodTime, KeyHash> flood_times_;
  std::unordered_map<FlowKey, std::size_t, KeyHash> misconfigured_;
  std::uint64_t looked_at_ = 0;  // candidates, when responses were paired
  std::uint64_t queue_pairs_ = 0;
  std::uint64_t forgotten_ = 0;
  std::uint64_t forgotten_open_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t wrong_icrcs_ = 0;
  std::int64_t latest_ns_ = 0, time_offset_ns_ = 0;
  std::uint64_t time_goes_back_at_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace weft::rdma
