// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/cluster_node.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "runtime/clock.hpp"
#include "runtime/host_clock.hpp"
#include "runtime/membership/host_names.hpp"
#include "runtime/sleeper.hpp"
#include "runtime/stop_signals.hpp"
#include "stream/cluster/cluster_figures.hpp"
#include "stream/cluster/rendezvous.hpp"
#include "stream/local/job_metrics.hpp"
#include "stream/local/killed_files.hpp"
#include "stream/node/job_progress.hpp"
#include "stream/node/node_loop.hpp"
#include "stream/node/ring_sizes.hpp"
#include "stream/node/stream_fabric.hpp"

namespace weft::stream {
namespace {

constexpr Duration look_every = Duration::milliseconds(20);
constexpr Duration progress_every = Duration::milliseconds(500);
/// A node tells its progress several times within this, whatever --stall-timeout says.
constexpr Duration shortest_silence = Duration::seconds(3);
/// A connection that broke at the end may come back within this.
constexpr Duration reconnect_patience = Duration::seconds(3);
/// For the last words of a node to get out.
constexpr Duration parting_patience = Duration::seconds(2);
/// All others have reported: the own part ends within this, or not at all.
constexpr Duration longest_end = Duration::seconds(5);
/// Agreeing on an end takes a few messages, and rings to be emptied.
constexpr Duration agreement_patience = Duration::seconds(1);
/// The time that nodes get to connect after every node has said hello.
constexpr Duration shortest_start = Duration::seconds(2);

class ClusterNode {
 public:
  ClusterNode(const StreamOptions& options, const ClusterRun& run, JoinedCluster& joined,
              OpenedFabric fabric)
      : options_(options),
        run_(run),
        roster_{options.inputs, options.computes},
        self_(joined.self),
        fabric_(std::move(fabric)),
        hello_{.begun = false,
               .machine = machine_identity(),
               .options = shared_options(options),
               .address = fabric_.fabric->address(),
               .clock = host_clock_name()},
        outlived_by_(joined.outlived_by),
        incarnation_(joined.incarnation),
        rendezvous_(std::move(joined.rendezvous), joined.self, joined.nodes, hello_),
        progress_(joined.nodes, monotonic_now()),
        late_(joined.nodes, false),
        there_(joined.nodes, false) {}

  Result<ClusterOutcome> run() {
    if (auto gathered = gather(); !gathered) return std::move(gathered).error();
    if (auto made = make_node(); !made) return std::move(made).error();
    if (leads()) {
      if (auto open = metrics_.open(run_.metrics); !open) return std::move(open).error();
    }
    NodeLoop loop(*fabric_.fabric, *node_, suitable_spin(processes_here()));
    loop_ = &loop;
    for (const NodeId peer : std::exchange(newcomers_, {})) introduce(peer);
    auto streamed = stream();
    auto outcome = streamed ? part() : Result<ClusterOutcome>(std::move(streamed).error());
    loop_ = nullptr;
    return outcome;
  }

  /// Others know a life of this node that claims to be later, and this one has not taken part: the
  /// clock was set back in between.
  bool outlived() const {
    return *outlived_by_ >= incarnation_ && (node_ == nullptr || !node_->started());
  }

 private:
  bool leads() const { return self_.value() == 0; }

  // ---- before the stream

  /// Waits for the hellos of all nodes, for that of one in a stream that has begun, or long enough.
  Result<void> gather() {
    Sleeper sleeper{Duration{}};
    const Instant begin = monotonic_now();
    const Instant deadline = begin + options_.start_timeout;
    const std::uint32_t others = roster_.nodes() - 1;
    spdlog::info("waiting for {} other node{} at {}", others, others == 1 ? "" : "s",
                 rendezvous_.fabric().address());
    for (;;) {
      const Instant now = monotonic_now();
      rendezvous_.turn(now);
      if (signals_.count() > 0) return Error{ErrorCode::cancelled, "interrupted"};
      if (outlived()) return Error{ErrorCode::unavailable, "others know a later life of this node"};
      if (auto fits = check_newcomers(); !fits) return fits;
      if (rendezvous_.stop_told()) stopping_ = true;
      if (joins_late_ || rendezvous_.heard() + 1 == roster_.nodes()) break;
      if (now >= deadline) return check_quorum();
      // Signals between the check and the sleep are seen after at most this.
      sleeper.idle(now, rendezvous_.fabric(), std::min(deadline, now + look_every * 5));
    }
    start_left_ = std::max(shortest_start, deadline - monotonic_now());
    return {};
  }

  /// Keeps nodes that have said hello for later; an error when one cannot be in the same job.
  Result<void> check_newcomers() {
    Result<void> fits;
    rendezvous_.take_news([&](NodeId node, const Rendezvous::Peer& peer) {
      if (auto fit = check_fit(node, peer); !fit && fits) fits = std::move(fit);
      joins_late_ = joins_late_ || peer.hello->begun;
      newcomers_.push_back(node);
    });
    return fits;
  }

  Result<void> check_fit(NodeId node, const Rendezvous::Peer& peer) const {
    if (const auto difference = options_differ(peer.hello->options, hello_.options)) {
      return invalid("node {} runs with {}, as node {} does; give all nodes the same options",
                     node.value(), *difference, self_.value());
    }
    if (options_.link && peer.hello->clock != hello_.clock) {
      return invalid(
          "--link shapes links by one clock for all nodes, but node {} runs where there is another "
          "one; start all nodes on one machine, or leave --link out",
          node.value());
    }
    const bool one_machine = options_.fabric == "tcp:unix" || options_.fabric == "libfabric:shm";
    if (one_machine && peer.hello->machine != hello_.machine) {
      return invalid(
          "--fabric {} works within one machine, but node {} runs on another; use tcp or "
          "libfabric:tcp",
          options_.fabric, node.value());
    }
    return {};
  }

  Result<void> check_quorum() {
    IndexSet inputs(roster_.inputs);
    if (roster_.is_input(self_)) inputs.insert(self_.value());
    for (const NodeId node : newcomers_) {
      if (roster_.is_input(node)) inputs.insert(node.value());
    }
    if (options_.quorum == Quorum::majority && !inputs.empty() && !is_majority(inputs)) {
      return make_error(ErrorCode::timed_out,
                        "node {}: {} of {} input nodes answered within {:.3g} s (--start-timeout), "
                        "which is no majority; start more of them, or give all nodes --quorum none",
                        self_.value(), inputs.count(), roster_.inputs,
                        options_.start_timeout.to_seconds());
    }
    bool input = roster_.is_input(self_), compute = roster_.is_compute(self_);
    for (const NodeId node : newcomers_) {
      input = input || roster_.is_input(node);
      compute = compute || roster_.is_compute(node);
    }
    start_left_ = shortest_start;
    if (input && compute) {
      spdlog::warn("{} of {} nodes are missing; starting without them",
                   roster_.nodes() - 1 - rendezvous_.heard(), roster_.nodes());
      return {};
    }
    const char* what = newcomers_.empty() ? "no other node"
                       : compute          ? "no input node"
                                          : "no compute node";
    return make_error(ErrorCode::timed_out,
                      "node {}: {} answered within {:.3g} s (--start-timeout); do they run, with "
                      "the same secret, and may they be connected to?",
                      self_.value(), what, options_.start_timeout.to_seconds());
  }

  Result<void> make_node() {
    StreamOptions options = options_;
    options.start_timeout = start_left_;
    options.touched_buffers =
        std::max(options.touched_buffers, touched_before_start(processes_here()));
    if (!roster_.is_input(self_)) tell_of_files_left_behind(options, roster_.compute_index(self_));
    auto node = roster_.is_input(self_) ? make_input_node(options, self_.value(), joins_late_,
                                                          *fabric_.fabric, monotonic_now())
                                        : make_compute_node(options, roster_.compute_index(self_),
                                                            joins_late_, *fabric_.fabric);
    if (!node) return std::move(node).error();
    node_ = std::move(node).value();
    return {};
  }

  void introduce(NodeId node) {
    const Rendezvous::Peer& peer = rendezvous_.peer(node);
    if (!peer.hello) return;
    spdlog::info("node {} is here (life {})", node.value(), peer.incarnation.value());
    auto added = loop_->add_peer(node, peer.incarnation, peer.hello->address);
    if (!added) spdlog::warn("node {}: {}", node.value(), added.error().message);
  }

  unsigned processes_here() const {
    unsigned here = 1;
    for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
      const auto& peer = rendezvous_.peer(NodeId(i));
      if (peer.hello && peer.hello->machine == hello_.machine) ++here;
    }
    return here;
  }

  // ---- the stream

  /// Drives the node until it has finished, or is told that the job is over.
  Result<void> stream() {
    next_look_ = next_progress_ = busy_at_ = company_at_ = monotonic_now();
    while (!(node_->finished() && loop_->flushed()) && !rendezvous_.leave_told() && !overdue_) {
      if (outlived()) return Error{ErrorCode::unavailable, "others know a later life of this node"};
      if (auto turned = turn(); !turned) return turned;
    }
    return {};
  }

  Result<void> turn() {
    loop_->turn(next_look_);
    const Instant now = monotonic_now();
    if (parting_) rendezvous_.turn(now);
    if (node_->failure()) return give_up(*node_->failure());
    if (signals_.count() > 1) return Error{ErrorCode::cancelled, "interrupted"};
    if (now < next_look_) return {};
    look_around(now);
    return parting_ ? Result<void>() : check_company(now);
  }

  /// Nobody left to build timeslices with, or nothing left to build.
  Result<void> check_company(Instant now) {
    bool anybody = false, unreported = false, reported = false;
    for (std::uint32_t i = 0; i < roster_.nodes(); ++i) {
      const auto& peer = rendezvous_.peer(NodeId(i));
      if (there_[i] && !peer.up) {
        spdlog::log(leads() ? spdlog::level::warn : spdlog::level::info, "node {} is gone", i);
      }
      there_[i] = peer.up;
      anybody = anybody || peer.up;
      unreported = unreported || (peer.up && !peer.report);
      reported = reported || peer.report;
    }
    if (anybody) company_at_ = now;
    // A node 0 that came back after the end is told of no end: the others have left the stream.
    if (!leads() || unreported || !reported) busy_at_ = now;
    overdue_ = now - busy_at_ > longest_end;
    if (now - company_at_ <= std::max(options_.start_timeout, options_.peer_timeout)) return {};
    return make_error(
        ErrorCode::unavailable,
        "node {}: all other nodes are gone and none came back within {:.3g} s (--start-timeout)",
        self_.value(), (now - company_at_).to_seconds());
  }

  /// Does the work that need not be done in every turn of the loop.
  void look_around(Instant now) {
    next_look_ = now + look_every;
    rendezvous_.turn(now);
    let_newcomers_in();
    if (!parting_) node_->sample(now);
    stop_when_wanted(now);
    if (leads()) metrics_.serve(now);
    if (now < next_progress_) return;
    next_progress_ = now + progress_every;
    const StreamProgress own = parting_ ? last_progress_ : node_->progress();
    last_progress_ = own;
    rendezvous_.tell_progress(own);
    if (leads()) show_progress(now, own);
    spdlog::debug("{}", node_->describe());
  }

  /// A node that does not fit does not disturb a running job: it is not let in.
  void let_newcomers_in() {
    rendezvous_.take_news([&](NodeId node, const Rendezvous::Peer& peer) {
      if (const auto fits = check_fit(node, peer); !fits) {
        spdlog::warn("turned away: {}", fits.error().message);
        return;
      }
      late_[node.value()] = begun_;
      introduce(node);
    });
  }

  void stop_when_wanted(Instant now) {
    if (!begun_ && node_->report().started != Instant::never()) {
      spdlog::info("the stream has begun");
      begun_ = true;
      begun_at_ = now;
      rendezvous_.set_begun();
    }
    // Only input nodes agree on the end.
    const bool over = begun_ && roster_.is_input(self_) && options_.duration != Duration{} &&
                      now - begun_at_ >= options_.duration;
    const bool own_wish = over || signals_.count() > 0;
    if (own_wish) rendezvous_.tell_stop();
    if ((own_wish || rendezvous_.stop_told() || stopping_) && !std::exchange(stopped_, true)) {
      node_->stop();
    }
    if (signals_.count() == 0) return;
    if (!std::exchange(hurried_, true)) node_->hurry();
    // Nodes that wait for a majority, for instance, agree on nothing.
    if (signals_.since_first() > agreement_patience && !std::exchange(says_second_, true)) {
      spdlog::warn(
          "the stream ends when its nodes agree on that; a second signal ends this one "
          "at once, without a report");
    }
  }

  void show_progress(Instant now, const StreamProgress& own) {
    progress_.set(self_, Incarnation{}, own);
    for (std::uint32_t i = 1; i < roster_.nodes(); ++i) {
      const auto& peer = rendezvous_.peer(NodeId(i));
      progress_.set(NodeId(i), peer.incarnation, peer.progress.figures);
    }
    const StreamProgress total = progress_.total(now);
    metrics_.set(total);
    if (run_.on_progress) run_.on_progress(total);
  }

  /// Reports the reason to node 0, whose output users read.
  Error give_up(const Error& why) {
    if (!leads()) {
      send_report();
      const Instant patience = monotonic_now() + parting_patience;
      while (!rendezvous_.report_left() && monotonic_now() < patience &&
             rendezvous_.peer(NodeId(0)).up) {
        rest();
      }
    }
    return {why.code, fmt::format("node {}: {}", self_.value(), why.message)};
  }

  /// One turn of the rendezvous alone.
  void rest() {
    const Instant now = monotonic_now();
    rendezvous_.turn(now);
    Sleeper(Duration{}).idle(now, rendezvous_.fabric(), now + look_every);
  }

  // ---- after the stream

  Result<ClusterOutcome> part() {
    parting_ = true;
    parting_since_ = monotonic_now();
    const WaitHint hint = rendezvous_.fabric().prepare_wait(parting_since_);
    if (hint.descriptor >= 0) loop_->watch(hint.descriptor);
    return leads() ? collect() : deliver();
  }

  /// The report, by node 0's clock.
  void send_report() {
    NodeReport report = node_->report();
    const auto& leader = rendezvous_.peer(NodeId(0));
    const bool same_clock = leader.hello && leader.hello->clock == hello_.clock;
    if (!same_clock) {
      shift_clock(report, rendezvous_.clock_offset().value_or(ClockOffset<LeaderClock>()));
    }
    rendezvous_.send_report(encode_report(report));
  }

  /// Other than node 0: reports, and stays for the others until node 0 lets it go.
  Result<ClusterOutcome> deliver() {
    bool sent = false;
    while (!rendezvous_.leave_told()) {
      if (auto turned = turn(); !turned) return std::move(turned).error();
      const Instant now = monotonic_now();
      const auto& leader = rendezvous_.peer(NodeId(0));
      if (!sent && leader.up && leader.hello) sent = report_when_clock_known(now);
      const Duration gone = now - std::max(leader.heard, parting_since_);
      if (gone > (leader.up ? longest_silence() : options_.peer_timeout)) {
        return make_error(ErrorCode::unavailable,
                          "node {}: node 0 is gone; nobody puts the results together",
                          self_.value());
      }
    }
    return ClusterOutcome{};
  }

  bool report_when_clock_known(Instant now) {
    const auto& leader = rendezvous_.peer(NodeId(0));
    const bool same_clock = leader.hello->clock == hello_.clock;
    if (!same_clock) {
      rendezvous_.measure_clock(now);
      if (!rendezvous_.clock_offset() && now - parting_since_ < parting_patience) return false;
    }
    send_report();
    return true;
  }

  /// A process that is stopped keeps its connections, and says nothing.
  Duration longest_silence() const { return std::max(options_.stall_timeout, shortest_silence); }

  /// Returns whether node 0 still waits for this node's report.
  bool awaited(Instant now, std::uint32_t node) const {
    const auto& peer = rendezvous_.peer(NodeId(node));
    if (peer.report || !expected_[node]) return false;
    // A node that came at the very end may never have taken part, and then has nothing to report.
    if (late_[node] && !peer.progress.begun) return now - parting_since_ < reconnect_patience;
    const Duration silent = now - std::max(peer.heard, parting_since_);
    return silent < (peer.up ? longest_silence() : reconnect_patience);
  }

  Result<ClusterOutcome> collect() {
    expected_.assign(roster_.nodes(), false);
    for (std::uint32_t i = 1; i < roster_.nodes(); ++i) {
      const auto& peer = rendezvous_.peer(NodeId(i));
      expected_[i] = peer.up || parting_since_ - peer.heard < reconnect_patience;
    }
    const auto any_awaited = [&] {
      const Instant now = monotonic_now();
      for (std::uint32_t i = 1; i < roster_.nodes(); ++i) {
        if (awaited(now, i)) return true;
      }
      return false;
    };
    while (any_awaited()) {
      if (auto turned = turn(); !turned) return std::move(turned).error();
    }
    dismiss();
    return merge();
  }

  /// Tells all to go and waits until they have: a connection that is closed under unread words
  /// takes the last ones along.
  void dismiss() {
    rendezvous_.tell_leave();
    const Instant patience = monotonic_now() + parting_patience;
    const auto anybody_up = [&] {
      for (std::uint32_t i = 1; i < roster_.nodes(); ++i) {
        if (rendezvous_.peer(NodeId(i)).up) return true;
      }
      return false;
    };
    while (anybody_up() && monotonic_now() < patience) {
      loop_->turn(monotonic_now());
      rest();
    }
  }

  ClusterOutcome merge() {
    ClusterOutcome outcome;
    std::vector<NodeReport> reports{node_->report()};
    for (std::uint32_t i = 1; i < roster_.nodes(); ++i) {
      const auto& peer = rendezvous_.peer(NodeId(i));
      if (!peer.report) {
        if (expected_[i]) outcome.failures.push_back(fmt::format("node {} gave no report", i));
        spdlog::warn("what node {} saw is missing in the results", i);
        continue;
      }
      auto report = decode_report(*peer.report);
      if (!report || report->node != NodeId(i)) {
        outcome.failures.push_back(fmt::format("node {} gave a report that cannot be read", i));
        continue;
      }
      if (!report->error.empty()) {
        outcome.failures.push_back(fmt::format("node {}: {}", i, report->error));
      }
      reports.push_back(std::move(report).value());
    }
    outcome.record = merge_reports(options_, reports);
    return outcome;
  }

  const StreamOptions& options_;
  const ClusterRun& run_;
  const Roster roster_;
  const NodeId self_;
  const StopSignals signals_;
  OpenedFabric fabric_;
  const RendezvousHello hello_;
  const std::shared_ptr<const Incarnation> outlived_by_;
  const Incarnation incarnation_;
  Rendezvous rendezvous_;
  std::unique_ptr<StreamNode> node_;
  NodeLoop* loop_ = nullptr;
  JobMetrics metrics_;
  JobProgress progress_;

  std::vector<NodeId> newcomers_;  // heard of, not yet told to the fabric
  bool joins_late_ = false;        // the stream had begun before this node came
  Duration start_left_{};
  bool begun_ = false;
  Instant begun_at_{};
  bool stopping_ = false;  // told before there was anything to stop
  bool stopped_ = false;
  bool hurried_ = false;
  bool says_second_ = false;
  std::vector<bool> late_;   // who came when the stream had begun
  std::vector<bool> there_;  // whom the rendezvous was connected with at the last look
  Instant company_at_{};     // some other node was there
  Instant busy_at_{};        // some other node had not reported
  bool overdue_ = false;
  bool parting_ = false;
  Instant parting_since_{};
  Instant next_look_{};
  Instant next_progress_{};
  StreamProgress last_progress_;
  std::vector<bool> expected_;  // node 0: waits for the reports of these
};

}  // namespace

namespace {

/// The time of day says that this life is earlier than one that has ended. Others know better.
Result<void> next_life(JoinedCluster& joined) {
  joined.incarnation = Incarnation(joined.outlived_by->value() + 1);
  spdlog::info(
      "others know life {} of this node, which the clock says is yet to come: it is life "
      "{} now",
      joined.outlived_by->value(), joined.incarnation.value());
  auto rendezvous = joined.open_rendezvous(joined);
  if (!rendezvous) return std::move(rendezvous).error();
  joined.rendezvous = std::move(rendezvous).value();
  return {};
}

}  // namespace

Result<ClusterOutcome> run_cluster_node(const StreamOptions& options, const ClusterRun& run,
                                        JoinedCluster& joined) {
  // Pacing at microseconds needs timers that are not rounded to 50.
  prctl(PR_SET_TIMERSLACK, 1000);
  set_up_log(run.log_level, fmt::format("node {}", joined.self.value()));
  for (;;) {
    FabricPlace place{.self = joined.self, .incarnation = joined.incarnation};
    if (listens_at_address(options.fabric)) {
      place.listen = joined.listen;
      place.advertise = joined.advertise;
    }
    auto fabric = open_fabric(fabric_choice(options), place, joined.job);
    if (!fabric) return std::move(fabric).error();
    {
      ClusterNode node(options, run, joined, std::move(fabric).value());
      auto outcome = node.run();
      if (outcome || !node.outlived() || !joined.open_rendezvous) return outcome;
    }
    if (auto again = next_life(joined); !again) return std::move(again).error();
  }
}

}  // namespace weft::stream
