// SPDX-License-Identifier: Apache-2.0
#include "rdma/diagnosis.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace weft::rdma {
namespace {

constexpr std::size_t most_findings = 1 << 16;
// Requests that are kept, of all queue pairs together, beside the fewest that each needs.
constexpr std::size_t most_requests = 1 << 20;
// Requests whose answers are not known yet, looked up by PSN: of a queue pair, and of all.
constexpr std::uint32_t most_indexed = 32;
constexpr std::size_t most_psns = 1 << 19;
constexpr std::size_t most_spans = 64;
// Candidates looked at per packet on average, so that no capture takes for ever.
constexpr std::uint64_t candidates_per_packet = 32;
constexpr std::uint64_t candidates_at_once = 1 << 22;
// After so many responses that answer nothing, their requester is looked up anew.
constexpr std::uint32_t most_strange = 64;
// Responses kept until their requester is known: an RNR NAK may come before its request is seen.
constexpr std::size_t most_unclaimed = 8;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t x =
      (a ^ (b + 0x9E37'79B9'7F4A'7C15 + (a << 6) + (a >> 2))) * 0xFF51'AFD7'ED55'8CCD;
  return x ^ (x >> 33);
}

std::uint64_t hash_of(const wire::NodeAddress& from, const wire::NodeAddress& to,
                      std::uint32_t number) {
  return mix(mix(mix(mix(from.low, from.high), to.low), to.high), number);
}

/// The rank that half of a table's entries do not exceed. The table is not empty.
template <class Table, class RankOf>
auto middle_rank(const Table& table, const RankOf& rank) {
  std::vector<decltype(rank(table.begin()->second))> all;
  all.reserve(table.size());
  for (const auto& entry : table) all.push_back(rank(entry.second));
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

std::string_view to_text(FindingClass kind) {
  constexpr std::string_view names[] = {"damming", "damming-rescued", "flood", "loss",
                                        "rnr-misconfigured"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view advice_for(FindingClass kind) {
  switch (kind) {
    case FindingClass::damming:
      return "pin the memory (UCX_IB_REG_METHODS=rcache,direct; libfabric FI_VERBS_USE_ODP=0; "
             "MVAPICH2-X MV2_USE_ODP=0) or prefetch it (ibv_advise_mr); set the smallest "
             "min_rnr_timer, 1 (UCX_RC_RNR_TIMEOUT=10us, FI_VERBS_MIN_RNR_TIMER=1); in a program "
             "of your own, post an empty WRITE behind a request that has no answer";
    case FindingClass::damming_rescued:
      return "nothing to set where the findings are harmless: a later request came to the rescue; "
             "where they are not, do as for damming: pin the memory "
             "(UCX_IB_REG_METHODS=rcache,direct; libfabric FI_VERBS_USE_ODP=0; MVAPICH2-X "
             "MV2_USE_ODP=0) or prefetch it (ibv_advise_mr)";
    case FindingClass::flood:
      return "pin memory that many queue pairs use, or prefetch it (ibv_advise_mr), on the side "
             "that issues READs (UCX_IB_REG_METHODS=rcache,direct; libfabric FI_VERBS_USE_ODP=0; "
             "MVAPICH2-X MV2_USE_ODP=0); in a program of your own, let few queue pairs use one "
             "page at a time";
    case FindingClass::loss:
      return "packets are lost in the network: look at link errors and, with RoCE, at flow control "
             "and ECN; a smaller local ACK timeout shortens the stall (verbs timeout; "
             "UCX_RC_TIMEOUT=100ms in place of 1s), down to what the adapter accepts";
    case FindingClass::rnr_misconfigured:
      return "min_rnr_timer 0 is the longest wait, 655.36 ms, not the shortest: set 1 or what the "
             "receiver needs (verbs min_rnr_timer, UCX_RC_RNR_TIMEOUT=1ms, "
             "FI_VERBS_MIN_RNR_TIMER=12), and post receives earlier";
  }
  return {};
}

std::size_t Diagnosis::KeyHash::operator()(const FlowKey& key) const {
  return hash_of(key.from, key.to, key.queue_pair);
}

void Diagnosis::add(std::uint64_t number, std::uint64_t time_ns, const wire::RdmaFrame& frame) {
  ++packets_;
  if (frame.icrc == wire::IcrcState::wrong) ++wrong_icrcs_;
  const wire::Opcode opcode = frame.packet.bth.opcode;
  if (!wire::is_reliable_connection(opcode)) return;
  const FlowKey key{frame.source, frame.destination, frame.packet.bth.queue_pair};
  const Seen seen{number, steady_time(number, static_cast<std::int64_t>(time_ns & INT64_MAX))};
  if (wire::is_response(opcode)) {
    add_response(key, seen, frame);
  } else {
    add_request(key, seen, frame);
  }
}

/// A clock that was set back is taken to go on from where it was: what went by before its next
/// packet is not known, and spans later on are right. Less than the tolerance is disorder, as
/// captures from several queues of an adapter have it.
std::int64_t Diagnosis::steady_time(std::uint64_t number, std::int64_t time_ns) {
  constexpr std::int64_t tolerance_ns = 100'000'000;
  const auto after = [](std::int64_t offset, std::int64_t time) {
    return time > INT64_MAX - offset ? INT64_MAX : time + offset;
  };
  std::int64_t steady = after(time_offset_ns_, time_ns);
  if (steady < latest_ns_ - tolerance_ns) {
    if (time_goes_back_at_ == 0) time_goes_back_at_ = number;
    steady = after(1, latest_ns_);  // order is all that is known
    time_offset_ns_ = steady - time_ns;
  }
  latest_ns_ = std::max(latest_ns_, steady);
  return steady;
}

void Diagnosis::add_request(const FlowKey& key, const Seen& seen, const wire::RdmaFrame& frame) {
  auto found = flows_.find(key);
  if (found == flows_.end()) {
    if (flows_.size() >= most_flows_) forget_flows();
    found = flows_.try_emplace(key).first;
    found->second.port = frame.source_port;
    list(key, found->second);
    ++queue_pairs_;
  }
  Flow& flow = found->second;
  flow.last_seen = seen.number;
  const std::uint32_t restarts = flow.requests.restarts();
  const std::size_t most = kept_requests_ < most_requests
                               ? std::clamp(most_requests / flows_.size(), RequestFlow::fewest,
                                            RequestFlow::most_unanswered)
                               : RequestFlow::fewest;
  kept_requests_ -= flow.requests.kept();
  const FlowEvent event = flow.requests.on_request(seen, frame.packet, most);
  kept_requests_ += flow.requests.kept();
  // The other end may have another number now.
  if (flow.requests.restarts() != restarts) unpair(key, flow);
  if (!flow.is_paired && flow.indexed < most_indexed) {
    if (by_psn_.size() >= most_psns) by_psn_.clear();
    by_psn_.emplace(hash_of(key.from, key.to, frame.packet.bth.psn), key);
    ++flow.indexed;
  }
  note(key, seen, event);
}

void Diagnosis::list(const FlowKey& key, Flow& flow) {
  if (!std::exchange(flow.is_candidate, true)) {
    candidates_[{key.from, key.to}].push_back(key.queue_pair);
  }
}

void Diagnosis::unpair(const FlowKey& key, Flow& flow) {
  flow.is_paired = false;
  flow.indexed = 0;
  list(key, flow);
}

void Diagnosis::add_response(const FlowKey& key, const Seen& seen, const wire::RdmaFrame& frame) {
  if (answers_.size() >= most_flows_ && answers_.count(key) == 0) forget_answers();
  Answers& answers = answers_[key];
  answers.last_seen = seen.number;
  const bool was_paired = answers.is_paired;
  Flow* const flow = requests_of(answers, key, frame);
  if (flow == nullptr) {
    if (answers.unclaimed.size() == most_unclaimed) {
      answers.unclaimed.erase(answers.unclaimed.begin());
    }
    answers.unclaimed.push_back({seen, frame.packet});
    return;
  }
  if (!was_paired) {
    for (const Unclaimed& early : std::exchange(answers.unclaimed, {})) {
      note(answers.flow, early.seen, flow->requests.on_response(early.seen, early.packet));
    }
  }
  note(answers.flow, seen, flow->requests.on_response(seen, frame.packet));
}

Diagnosis::Flow* Diagnosis::pair(Answers& answers, const FlowKey& key, const FlowKey& requests,
                                 Flow& flow) {
  flow.is_paired = answers.is_paired = true;
  flow.answered_to = key.queue_pair;
  answers.flow = requests;
  answers.strange = 0;
  return &flow;
}

/// The requests that these responses have answered so far, unless they seem to be others'.
Diagnosis::Flow* Diagnosis::paired(Answers& answers, const FlowKey& key, std::uint32_t psn) {
  if (!answers.is_paired) return nullptr;
  const auto flow = flows_.find(answers.flow);
  if (flow != flows_.end()) {
    if (flow->second.requests.waits_for(psn)) {
      answers.strange = 0;
      if (!flow->second.is_paired) {  // set up anew, and by the same other end
        flow->second.is_paired = true;
        flow->second.answered_to = key.queue_pair;
      }
    }
    if (++answers.strange <= most_strange) return &flow->second;
    unpair(answers.flow, flow->second);
  }
  answers.is_paired = false;
  return nullptr;
}

/// A queue pair that requests go to answers them, and has requests of its own answered: the other
/// end of these responses is known when that end's requests have been answered here.
Diagnosis::Flow* Diagnosis::requests_of_peer(Answers& answers, const FlowKey& key) {
  const auto sent_here = flows_.find(key);
  if (sent_here == flows_.end() || !sent_here->second.is_paired) return nullptr;
  const FlowKey requests{key.to, key.from, sent_here->second.answered_to};
  const auto flow = flows_.find(requests);
  if (flow == flows_.end() || flow->second.is_paired) return nullptr;
  return pair(answers, key, requests, flow->second);
}

/// Requests that wait for just that response and come from the port that it has.
Diagnosis::Flow* Diagnosis::candidate_by_psn(const FlowKey& answers, const wire::RdmaFrame& frame,
                                             FlowKey& best_key) {
  auto [it, end] = by_psn_.equal_range(hash_of(answers.to, answers.from, frame.packet.bth.psn));
  Flow* best = nullptr;
  std::int64_t best_since = 0;
  while (it != end) {
    if (++looked_at_ > candidates_at_once + candidates_per_packet * packets_) break;
    const auto flow = flows_.find(it->second);
    if (flow == flows_.end() || flow->second.is_paired) {
      it = by_psn_.erase(it);
      continue;
    }
    const FlowKey& key = (it++)->second;
    if (key.from != answers.to || key.to != answers.from) continue;
    const auto since = flow->second.requests.waits_for(frame.packet.bth.psn);
    if (!since || flow->second.port != frame.source_port) continue;
    if (!flow->second.requests.fits(frame.packet)) continue;
    if (best != nullptr && *since >= best_since) continue;
    best = &flow->second;
    best_key = key;
    best_since = *since;
  }
  return best;
}

/// No packet names the queue pair that it comes from: responses belong to the requests, between the
/// same hosts, that wait for their PSNs.
Diagnosis::Flow* Diagnosis::likely_requests(Answers& answers, const FlowKey& key,
                                            const wire::RdmaFrame& frame) {
  FlowKey best_key;
  if (Flow* const exact = candidate_by_psn(key, frame, best_key)) {
    return pair(answers, key, best_key, *exact);
  }
  const auto found = candidates_.find({key.to, key.from});
  if (found == candidates_.end()) return nullptr;
  std::vector<std::uint32_t>& candidates = found->second;
  const bool is_nak = frame.packet.aeth && frame.packet.aeth->is_sequence_nak();
  Flow* best = nullptr;
  std::tuple<bool, bool, std::int64_t> best_rank;
  for (std::size_t i = 0; i < candidates.size();) {
    if (++looked_at_ > candidates_at_once + candidates_per_packet * packets_) break;
    const FlowKey of{key.to, key.from, candidates[i]};
    const auto flow = flows_.find(of);
    if (flow == flows_.end() || flow->second.is_paired) {
      if (flow != flows_.end()) flow->second.is_candidate = false;
      candidates[i] = candidates.back();
      candidates.pop_back();
      continue;
    }
    ++i;
    const std::uint32_t psn = frame.packet.bth.psn;
    auto since = flow->second.requests.waits_for(psn);
    if (!since && is_nak) since = flow->second.requests.lacks(psn);
    if (!since) continue;
    const std::tuple rank{!flow->second.requests.fits(frame.packet),
                          flow->second.port != frame.source_port, *since};
    if (best != nullptr && rank >= best_rank) continue;
    best = &flow->second;
    best_key = of;
    best_rank = rank;
  }
  return best == nullptr ? nullptr : pair(answers, key, best_key, *best);
}

Diagnosis::Flow* Diagnosis::requests_of(Answers& answers, const FlowKey& key,
                                        const wire::RdmaFrame& frame) {
  if (Flow* const flow = paired(answers, key, frame.packet.bth.psn)) return flow;
  if (Flow* const flow = requests_of_peer(answers, key)) return flow;
  return likely_requests(answers, key, frame);
}

bool Diagnosis::keep(FindingClass kind, const FlowKey& key, const FlowEvent& event) {
  if (findings_.size() == most_findings) {
    ++left_out_;
    return false;
  }
  findings_.push_back({kind, key.queue_pair, key.from, key.to, event.first_packet,
                       event.last_packet, event.lost_ns});
  return true;
}

/// One finding for everything of that kind on a queue pair; null where there is no room.
Finding* Diagnosis::merge(FindingClass kind, const FlowKey& key, const FlowEvent& event,
                          std::unordered_map<FlowKey, std::size_t, KeyHash>& known) {
  const auto found = known.find(key);
  if (found == known.end()) {
    if (!keep(kind, key, event)) return nullptr;
    known.emplace(key, findings_.size() - 1);
    return &findings_.back();
  }
  Finding& finding = findings_[found->second];
  finding.first_packet = std::min(finding.first_packet, event.first_packet);
  finding.last_packet = std::max(finding.last_packet, event.last_packet);
  finding.lost_ns += event.lost_ns;
  return &finding;
}

void Diagnosis::FloodTime::add(Span span) {
  while (!spans.empty() && spans.back().end_ns >= span.begin_ns) {
    span.begin_ns = std::min(span.begin_ns, spans.back().begin_ns);
    span.end_ns = std::max(span.end_ns, spans.back().end_ns);
    spans.pop_back();
  }
  if (spans.size() == most_spans) {
    earlier_ns += spans.front().end_ns - spans.front().begin_ns;
    spans.erase(spans.begin());
  }
  spans.push_back(span);
}

std::int64_t Diagnosis::FloodTime::sum_ns() const {
  std::int64_t sum = earlier_ns;
  for (const Span& span : spans) sum += span.end_ns - span.begin_ns;
  return sum;
}

/// A moment in which several requests of a queue pair go out again is lost once.
void Diagnosis::note_flood(const FlowKey& key, const Seen& seen, const FlowEvent& event) {
  Finding* const finding = merge(FindingClass::flood, key, event, floods_);
  if (finding == nullptr) return;
  FloodTime& time = flood_times_[key];
  time.add({seen.time_ns - event.lost_ns, seen.time_ns});
  finding->lost_ns = time.sum_ns();
}

void Diagnosis::note(const FlowKey& key, const Seen& seen, FlowEvent event) {
  event.lost_ns = std::max<std::int64_t>(event.lost_ns, 0);  // packets may be a little out of order
  const auto earlier = event.belongs_to != 0 ? by_packet_.find(event.belongs_to) : by_packet_.end();
  const auto single = [&](FindingClass kind) {
    if (event.belongs_to == 0) {
      if (keep(kind, key, event)) by_packet_[event.last_packet] = findings_.size() - 1;
      return;
    }
    if (earlier == by_packet_.end()) return;  // there was no room for it
    Finding& finding = findings_[earlier->second];
    finding.last_packet = event.last_packet;
    finding.lost_ns += event.lost_ns;
  };
  switch (event.kind) {
    case FlowEvent::Kind::nothing:
      return;
    case FlowEvent::Kind::damming:
      return single(FindingClass::damming);
    case FlowEvent::Kind::damming_rescued:
      return single(FindingClass::damming_rescued);
    case FlowEvent::Kind::loss:
      return single(FindingClass::loss);
    case FlowEvent::Kind::flood:
      // The finding that looked like a loss was the beginning of the flood.
      if (earlier != by_packet_.end()) findings_[earlier->second].first_packet = 0;
      return note_flood(key, seen, event);
    case FlowEvent::Kind::long_rnr_wait:
      merge(FindingClass::rnr_misconfigured, key, event, misconfigured_);
      return;
  }
}

void Diagnosis::forget_flows() {
  using Rank = std::pair<bool, std::uint64_t>;
  const auto rank = [](const Flow& flow) { return Rank{flow.requests.is_open(), flow.last_seen}; };
  const Rank middle = middle_rank(flows_, rank);
  std::erase_if(flows_, [&](const auto& entry) {
    const Rank of_this = rank(entry.second);
    if (of_this > middle) return false;
    ++forgotten_;
    if (of_this.first) ++forgotten_open_;
    kept_requests_ -= entry.second.requests.kept();
    return true;
  });
  candidates_.clear();
  for (auto& [key, flow] : flows_) {
    flow.is_candidate = false;
    if (!flow.is_paired) list(key, flow);
  }
}

/// Forgets first those that answer no known requests.
void Diagnosis::forget_answers() {
  const auto rank = [](const Answers& a) { return std::pair{a.is_paired, a.last_seen}; };
  const auto middle = middle_rank(answers_, rank);
  std::erase_if(answers_, [&](const auto& entry) { return rank(entry.second) <= middle; });
}

std::vector<Finding> Diagnosis::finish() {
  // One queue pair that asks often waits for a slow page; several that do are a flood.
  const bool is_flood = floods_.size() > 1;
  std::erase_if(findings_, [&](const Finding& finding) {
    return finding.first_packet == 0 || (finding.kind == FindingClass::flood && !is_flood);
  });
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return a.first_packet < b.first_packet;
  });
  return std::move(findings_);
}

}  // namespace weft::rdma
