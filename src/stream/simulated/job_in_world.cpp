// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/job_in_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "runtime/clock.hpp"
#include "sim/telemetry/network_trace.hpp"
#include "stream/simulated/parts.hpp"

namespace weft::stream {
namespace {

/// Lives of compute nodes that ended early and are remembered.
constexpr std::size_t most_remains = 1024;
constexpr Duration progress_every = Duration::milliseconds(500);
constexpr auto nodes_process = static_cast<std::uint32_t>(sim::TraceProcess::nodes);

}  // namespace

JobInWorld::JobInWorld(sim::World& world, std::uint32_t number, std::vector<std::uint32_t> hosts,
                       const SimulatedJob& job, const SimulationOptions& simulation)
    : HostedJob(world, std::move(hosts), job.options.peer_timeout),
      number_(number),
      name_(job.name),
      patience_(simulation.patience),
      wish_(simulation.wish),
      starts_at_(job.start),
      options_(job.options),
      local_(job.local),
      place_{.factory = job.factory,
             .overhead = world.scenario().network.host_overhead,
             .sample_every = job.options.sample_every,
             .on_change = [this] { changed_ = true; }},
      agent_(world.agents().add(*this)),
      next_progress_(monotonic_now() + progress_every) {}

std::string JobInWorld::node_name(std::uint32_t n) const {
  const bool is_input = n < options_.inputs;
  return fmt::format("{} {} {}", name_, is_input ? "input" : "compute",
                     is_input ? n : n - options_.inputs);
}

void JobInWorld::trace_to(sim::TraceFile& trace) {
  trace_ = &trace;
  for (std::uint32_t n = 0; n < hosts().size(); ++n) {
    trace.name_track(nodes_process, track(n),
                     fmt::format("{} on {}", node_name(n),
                                 world().topology().label(world().topology().host(hosts()[n]))));
  }
  place_.on_turn = [this](NodeId node, PicoInstant until, const NodeTurn::Done& done) {
    if (!trace_->takes(now())) return;
    trace_->slice(nodes_process, track(node.value()), "turn", now(), until,
                  fmt::format(R"({{"received":{},"posted":{}}})", done.messages, done.posted));
  };
}

/// A compute node's timeslices from their first contribution to their last.
void JobInWorld::trace_timeslices(const NodeReport& report) {
  trace_->begin_summary();
  for (const NodeReport::Built& built : report.built) {
    const PicoInstant end(built.at * 1'000);
    const PicoInstant start = end - PicoDuration(static_cast<std::int64_t>(built.spread_us * 1e6));
    trace_->span(nodes_process, track(report.node.value()), "timeslice",
                 fmt::format("timeslices of {}", node_name(report.node.value())),
                 std::max(start, PicoInstant()), end,
                 fmt::format(R"({{"timeslice":{}}})", built.index));
  }
}

void JobInWorld::begin(std::vector<faults::Fault> faults) {
  faults_to_come_ = std::move(faults);
  if (starts_at_ == Duration{}) return start();
  set_timer(PicoInstant() + to_pico(starts_at_), start_timer);
}

void JobInWorld::start() {
  // Among thousands of nodes it takes minutes until all know each other.
  const auto unwanted = [this] { return wish_ && wish_() != sim::EndWish::none; };
  for (std::uint32_t n = 0; n < hosts().size(); ++n) {
    nodes_.push_back(std::make_unique<SimulatedNode>(place_, place_of(n, number_)));
  }
  for (std::uint32_t n = 0; n < hosts().size(); ++n) {
    if (unwanted()) return fail(n, {ErrorCode::cancelled, "interrupted before the job began"});
    if (auto up = spawn(n); !up) return fail(n, up.error());
  }
}

/// The first failure stays.
void JobInWorld::fail(std::uint32_t node, Error error) {
  changed_ = true;
  if (!failure_) failure_ = {happened_ << 32 | node, std::move(error)};
}

/// A node's next life, made known to all and told of all.
Result<void> JobInWorld::spawn(std::uint32_t n) {
  if (auto up = nodes_[n]->start(); !up) return up;
  for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
    if (other == n || !nodes_[other]->alive()) continue;
    introduce(*nodes_[n], other);
    introduce(*nodes_[other], n);
  }
  // Perhaps nobody is left who knows.
  if (stopping_) nodes_[n]->stop();
  return {};
}

void JobInWorld::introduce(SimulatedNode& to, std::uint32_t n) {
  if (!to.is_here()) return;
  const auto added = to.add_peer(NodeId(n), nodes_[n]->incarnation(), hub().address_of(NodeId(n)));
  WEFT_CHECK(added.ok());
}

bool JobInWorld::over() const {
  if (retired_) return true;
  if (nodes_.empty()) return interrupted_;
  return known_.unfinished == 0 && !(faults_ && any_will_restart());
}

sim::JobFacts JobInWorld::facts() const {
  sim::JobFacts facts{.changed = changed_ ? 1U : 0U, .failed = failure_ ? 1U : 0U};
  for (const auto& node : nodes_) {
    if (!node->is_here()) continue;
    const bool gone = !node->alive() || (node->paused() && !more_faults());
    facts.unfinished += gone || node->finished() ? 0 : 1;
    if (!changed_) continue;
    facts.started += node->started() ? 1 : 0;
    facts.failed += node->failure() ? 1 : 0;
  }
  return facts;
}

std::optional<sim::JobFailure> JobInWorld::failure() const {
  if (failure_) return failure_;
  constexpr std::uint64_t of_nodes = std::uint64_t{1} << 63;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (const auto error = nodes_[n]->failure()) return sim::JobFailure{of_nodes | n, *error};
  }
  return std::nullopt;
}

bool JobInWorld::any_will_restart() const {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n]->alive() && faults_->will_restart(n)) return true;
  }
  return false;
}

bool JobInWorld::any_lives(std::uint32_t first, std::uint32_t last) const {
  return std::any_of(nodes_.begin() + first, nodes_.begin() + last,
                     [](const auto& node) { return node->alive(); });
}

Result<void> JobInWorld::look_around() {
  changed_ = false;
  if (nodes_.empty() || retired_) return {};
  if (!faults_ && known_.started > 0) flow();
  const char* lost = !any_lives(0, options_.inputs)                                     ? "input"
                     : !any_lives(options_.inputs, options_.inputs + options_.computes) ? "compute"
                                                                                        : nullptr;
  if (lost != nullptr && !(faults_ && any_will_restart()) && !over()) {
    return make_error(ErrorCode::unavailable, "all {} nodes of the job are lost", lost);
  }
  const PicoInstant limit = begun_ + to_pico(options_.duration + patience_);
  const Duration to_start = starts_at_ + options_.start_timeout * 2 + patience_;
  if (now() > std::max(limit, PicoInstant() + to_pico(to_start))) {
    for (const std::string& line : describe()) spdlog::info("{}", line);
    return make_error(
        ErrorCode::timed_out,
        "the job did not end within {} simulated seconds; --log info says where its nodes are",
        (now() - PicoInstant()).to_seconds());
  }
  return {};
}

void JobInWorld::flow() {
  begun_ = now();
  faults_.emplace(std::move(faults_to_come_), now_ns());
  if (options_.duration != Duration{}) {
    set_timer(begun_ + to_pico(options_.duration), stop_timer);
  }
  next_fault();
}

void JobInWorld::stop_all() {
  stopping_ = true;
  for (auto& node : nodes_) node->stop();
}

void JobInWorld::interrupt() {
  if (over()) return;
  interrupted_ = true;
  stop_all();
}

void JobInWorld::cut_off() {
  if (over()) return;
  interrupted_ = cut_off_ = true;
}

std::vector<NodeReport> JobInWorld::reports() {
  std::vector<NodeReport> reports;
  for (auto& node : nodes_) {
    if (!node->is_here() || !node->alive() || !(node->finished() || cut_off_)) continue;
    reports.push_back(node->report());
    if (trace_ != nullptr) trace_timeslices(reports.back());
  }
  return reports;
}

Result<void> JobInWorld::conclude(sim::Exchange& exchange) {
  report_ = {.nodes = gather_reports(exchange, reports()),
             .remains = gather_reports(exchange, remains_),
             .faults = played_,
             .interrupted = interrupted_};
  const std::string missed = faults_ && exchange.rank() == 0 ? faults_->missed(now_ns()) : "";
  if (!missed.empty()) spdlog::warn("{}", missed);
  if (report_.nodes.empty() && !nodes_.empty()) {
    return Error{ErrorCode::unavailable, "all nodes of the job are lost"};
  }
  return {};
}

bool JobInWorld::wants_progress() const {
  return local_.on_progress && monotonic_now() >= next_progress_;
}

void JobInWorld::tell_progress(sim::Exchange& exchange) {
  const StreamProgress sums = sum_progress(exchange, progress_here());
  if (exchange.rank() != 0) return;
  next_progress_ = monotonic_now() + progress_every;
  local_.on_progress(progress(sums));
}

void JobInWorld::retire() {
  retired_ = true;
  for (auto& node : nodes_) node->kill();
}

PicoDuration JobInWorld::slice() const {
  return to_pico(std::max(options_.sample_every, Duration::microseconds(10)));
}

std::vector<std::string> JobInWorld::describe() const {
  std::vector<std::string> lines;
  for (const auto& node : nodes_) {
    if (node->is_here()) lines.push_back(node->describe());
  }
  return lines;
}

void JobInWorld::set_timer(PicoInstant at, Timer timer) {
  world().agents().set_shared_timer(agent_, std::max(at, now()), timer);
}

void JobInWorld::next_fault() {
  const Instant at = faults_->next_deadline();
  if (at != Instant::never()) set_timer(PicoInstant() + to_pico(at - Instant()), fault_timer);
}

void JobInWorld::on_timer(std::uint16_t detail, std::uint64_t) {
  if (retired_) return;
  switch (detail) {
    case start_timer:
      if (interrupted_) return;
      start();
      break;
    case stop_timer:
      stop_all();
      break;
    default:
      play_faults();
      break;
  }
}

void JobInWorld::play_faults() {
  std::vector<faults::FaultPlayer::Played> played;
  faults_->play(now_ns(), *this, played);
  for (const auto& p : played) {
    ++happened_;
    if (p.result.ok()) {
      spdlog::info("fault: {}", p.what);
      played_.push_back({now_ns(), p.what});
    } else {
      fail(0, invalid("--fault '{}': {}", p.what, p.result.error().message));
    }
  }
  next_fault();
}

StreamProgress JobInWorld::progress_here() {
  StreamProgress sum;
  if (nodes_.empty()) return sum;
  for (std::uint32_t n = options_.inputs; n < nodes_.size(); ++n) {
    const StreamProgress p = nodes_[n]->progress();
    sum.timeslices += p.timeslices;
    sum.bytes += p.bytes;
    sum.spread_us += p.spread_us;
    sum.buffer_fill += p.buffer_fill;
  }
  return sum;
}

StreamProgress JobInWorld::progress(StreamProgress sum) const {
  sum.spread_us /= std::max(1u, options_.computes);
  sum.buffer_fill /= std::max(1u, options_.computes);
  sum.elapsed = Duration((now() - begun_).ticks() / 1'000);
  const double seconds = sum.elapsed.to_seconds();
  if (seconds > 0) sum.goodput_bytes_per_s = static_cast<double>(sum.bytes) / seconds;
  return sum;
}

/// Keeps the deliveries of a compute node's life that ends now, in the part that has the node.
void JobInWorld::keep_remains(std::uint32_t host) {
  const SimulatedNode& node = *nodes_[host];
  if (!node.is_here() || host < options_.inputs || remains_.size() == most_remains) return;
  if (node.started()) remains_.push_back(nodes_[host]->report());
}

Result<void> JobInWorld::kill(std::uint32_t host) {
  if (auto good = check_alive(host); !good) return good;
  keep_remains(host);
  nodes_[host]->die();
  changed_ = true;
  if (!local_.restart) return {};
  return spawn(host);
}

Result<void> JobInWorld::restart(std::uint32_t host) {
  if (nodes_[host]->alive()) {
    keep_remains(host);
    nodes_[host]->die();
  }
  return spawn(host);
}

}  // namespace weft::stream
