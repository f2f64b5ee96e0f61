// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/distributed_deterministic_engine.hpp"

#include <variant>

namespace weft::schedule::dfs {

DistributedDeterministicEngine::DistributedDeterministicEngine(const DfsOptions& options,
                                                               std::uint32_t inputs, bool restarted)
    : options_(options),
      history_(inputs, options.history_length, options.pending_intervals),
      proposer_(options),
      clocks_(inputs, options.history_length, options.offset_history, options.drift_limit_ppm),
      silent_(restarted),
      peers_(inputs),
      requests_(std::size_t{inputs} * options.pending_intervals) {}

void DistributedDeterministicEngine::on_grid(Instant now, const RoundGrid& grid,
                                             std::uint32_t self) {
  const bool was_engine = is_engine_;
  is_engine_ = options_.engines == 0 || self < options_.engines;
  if (has_grid_ && is_engine_ && !was_engine) {
    // It takes over from an engine that is gone and knows no more than a restarted one.
    history_.clear();
    silent_ = true;
  }
  grid_ = IntervalGrid(grid, options_.timeslices_per_interval);
  has_grid_ = true;
  grid_taken_ = now;
  history_.forget_pending();
  owed_ = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].owed = false;
    use_hello(i);
  }
}

void DistributedDeterministicEngine::on_input(Instant now, std::uint32_t input, bool up) {
  (void)now;
  if (input >= peers_.size()) return;
  if (!up) {
    clocks_.forget(input);
    if (peers_[input].owed) --owed_;
    peers_[input] = {};
  }
  if (history_.set_live(input, up) > 0) propose();
}

// Inputs measure and report; arrivals at this compute node are not part of the paper's history.
void DistributedDeterministicEngine::on_contribution(Instant, std::uint32_t, TimesliceIndex,
                                                     ByteCount) {}

void DistributedDeterministicEngine::on_message(Instant now, std::uint32_t from,
                                                std::span<const std::byte> bytes) {
  if (from >= peers_.size()) return;
  const AnyMessage message = decode(bytes);
  if (const auto* hello = std::get_if<Hello>(&message)) {
    on_hello(from, *hello);
  } else if (const auto* report = std::get_if<Report>(&message)) {
    on_report(now, from, *report);
  }
}

void DistributedDeterministicEngine::on_hello(std::uint32_t from, const Hello& hello) {
  Peer& peer = peers_[from];
  peer.greeted = true;
  peer.hello_grid = hello.grid_first;
  peer.hello_start = hello.start;
  use_hello(from);
}

// A hello may come before or after this node itself took the grid into use.
void DistributedDeterministicEngine::use_hello(std::uint32_t input) {
  const Peer& peer = peers_[input];
  if (!peer.greeted || !has_grid_ || peer.hello_grid != grid_.rounds_grid().first) return;
  clocks_.set_initial(input, peer.hello_start, grid_taken_);
}

void DistributedDeterministicEngine::on_report(Instant now, std::uint32_t from,
                                               const Report& report) {
  clocks_.record(from, now, report.start + report.duration, report.latency);
  if (!is_engine() || report.grid_first != grid_.rounds_grid().first) return;
  request(from, report.interval) = {.reported = report.interval, .requested = report.requested};
  const IntervalMeta meta{.id = report.interval,
                          .start = clocks_.to_engine(from, report.start),
                          .duration = report.duration,
                          .proposed = report.proposed};
  if (history_.record(from, meta) > 0) propose();
}

DistributedDeterministicEngine::Request& DistributedDeterministicEngine::request(
    std::uint32_t input, IntervalId reported) {
  const std::size_t window = options_.pending_intervals;
  return requests_[input * window + reported.value() % window];
}

// Only requests in the reports of the last completed interval count: later reports have arrived at
// some replicas and not yet at others, and all must answer the same.
IntervalId DistributedDeterministicEngine::requested_of(std::uint32_t input) {
  const IntervalId last = plan_.last();
  const Request& asked = request(input, last);
  return asked.reported == last && asked.requested > last ? asked.requested
                                                          : last.plus(options_.request_distance);
}

void DistributedDeterministicEngine::propose() {
  if (!is_engine()) return;
  if (silent_ && !history_.full()) return;
  silent_ = false;
  plan_ = proposer_.plan(history_);
  owed_ = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].owed = history_.is_live(i);
    if (peers_[i].owed) ++owed_;
  }
  owed_first_ = 0;
}

void DistributedDeterministicEngine::write_messages(Instant now, MessageBox& out) {
  (void)now;
  for (; owed_ > 0 && owed_first_ < peers_.size(); ++owed_first_) {
    Peer& peer = peers_[owed_first_];
    if (!peer.owed) continue;
    if (out.full()) return;
    write_proposal(owed_first_, out);
  }
}

void DistributedDeterministicEngine::write_proposal(std::uint32_t input, MessageBox& out) {
  peers_[input].owed = false;
  --owed_;
  const IntervalId k = requested_of(input);
  Message message;
  message.to = input;
  encode(Proposal{.grid_first = grid_.rounds_grid().first,
                  .interval = k,
                  .first_timeslice = grid_.first_timeslice(k),
                  .rounds = grid_.rounds(),
                  .start = clocks_.to_input(input, plan_.start_of(k)),
                  .duration = plan_.duration(),
                  .spacing = plan_.spacing()},
         message);
  out.push_back(message);
}

}  // namespace weft::schedule::dfs
