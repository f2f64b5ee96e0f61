// SPDX-License-Identifier: Apache-2.0
// LocalJob: the processes of a job on this machine. It forks them, tells them each other's
// addresses, kills, stops and restarts them when a fault says so, and collects their reports.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fault.hpp"
#include "runtime/channel.hpp"
#include "runtime/clock.hpp"
#include "runtime/directory.hpp"
#include "runtime/process_set.hpp"
#include "stream/node/node_report.hpp"
#include "testbed/testbed.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::stream {

// Kinds of messages on the channel between a job and its nodes.
namespace job_message {
inline constexpr char address = 'a';   ///< node → job: its fabric's address
inline constexpr char peers = 'p';     ///< job → node: "NODE INCARNATION ADDRESS\n" for each
inline constexpr char progress = 's';  ///< node → job
inline constexpr char report = 'r';    ///< node → job: NodeReport; the node goes on until `leave`
inline constexpr char leave = 'x';     ///< job → node: everybody has reported
inline constexpr char stop = 'q';      ///< job → node: end the stream soon
inline constexpr char hurry = 'h';     ///< job → node: and wait for no consumer that has not come
inline constexpr char cut_off = 'c';   ///< job → node: end with what there is
inline constexpr char gone = 'g';      ///< job → node: "NODE" died and is not started again
inline constexpr char sink = 'k';      ///< node → job, again and again: it waits for its sink
inline constexpr char link = 'l';  ///< job → node: "RATE" in bytes/s for a shaped link, 0: back
/// node → job: it knows its first view; with `first_of_stream` no node knew an earlier one.
inline constexpr char started = 'b';
inline constexpr char failed = 'f';  ///< node → job: ErrorCode as a digit, why it cannot go on
inline constexpr std::string_view first_of_stream = "first";
}  // namespace job_message

/// The text of a `failed` message, and back.
std::string encode_failure(const Error& error);
Error decode_failure(const std::string& text);

/// The description that a forked node gets.
struct NodePlace {
  NodeId self{};
  Incarnation incarnation{};
  std::string listen;  ///< numeric address to listen on, with port 0; empty outside of a testbed
  Channel channel;
};
/// Runs in the forked process; its value is the exit code.
using NodeBody = std::function<int(NodePlace)>;

struct JobOptions {
  std::uint32_t nodes = 1;
  bool restart = false;
  std::vector<faults::Fault> faults;    ///< of links only where there are links to change
  testbed::Testbed* testbed = nullptr;  ///< one host per node
  Instant (*clock)() = monotonic_now;
};

class LocalJob final : private faults::FaultTarget {
 public:
  LocalJob(JobOptions options, NodeBody body);
  /// Ends processes that still run, so that sinks remove half-written files and end their children,
  /// and kills those that do not end within two seconds.
  ~LocalJob() override;
  LocalJob(const LocalJob&) = delete;

  Result<void> start();
  /// Called with a progress message and the life of the node that sent it.
  using OnProgress = std::function<void(NodeId, Incarnation life, const std::string&)>;
  /// Waits for messages, deaths and faults, at most until `until`. Calls `on_progress` for each
  /// progress message. Returns the time at which it listened.
  Instant step(Instant until, const OnProgress& on_progress);
  /// Every node that lives has reported.
  bool all_reported() const;
  bool all_dead() const;
  /// Returns whether any of the nodes [first, last) runs.
  bool any_lives(std::uint32_t first, std::uint32_t last) const;
  /// Tells everybody to end the stream, new lives as well.
  void stop();
  /// Tells everybody that somebody wants that end now, new lives as well.
  void hurry();
  /// Tells everybody to end with what there is, new lives as well: agreeing takes too long.
  void cut_off();
  /// Returns whether a node has said of late that it waits for its sink.
  bool waits_for_sink(Instant now) const;
  /// Lets the nodes go and waits for them; kills those that have not left after `patience`, and
  /// says so. Their reports, by node; none for nodes that died without.
  std::vector<NodeReport> finish(Duration patience = Duration::seconds(5));
  /// The first failure that a node reported.
  const std::optional<Error>& failure() const { return failure_; }
  /// Returns whether the stream flows; faults count their times from then on.
  bool started() const { return faults_.has_value(); }
  /// Kills nodes that said nothing for `patience` (a stopped process does not even do that) and,
  /// when all others have reported, those that have not for as long and wait for no sink; new lives
  /// that have not begun to take part by then get a second. `now` is when `step` listened last.
  /// Time in which this process stood still does not count.
  void give_up_on_silent_nodes(Instant now, Duration patience);
  /// The faults played so far.
  const std::vector<faults::FaultPlayed>& faults_played() const { return faults_played_; }
  std::uint32_t deaths() const { return deaths_; }
  /// The time in which this process stood still: in the background, in a frozen control group, on
  /// a virtual machine that was paused.
  Duration stood_still() const { return stood_still_; }
  pid_t process(NodeId node) const { return processes_.pid(node.value()); }

 private:
  struct Node {
    std::optional<NodeReport> report;
    Instant heard{};                // its last message
    std::optional<Instant> sink{};  // when it last said that it waits for its sink
    bool expected_death = false;
    bool has_begun = false;    // it knows a view
    bool is_given_up = false;  // it was killed since it said nothing
    bool is_cut_off = false;   // the others are done: a new life would have nothing to do
  };
  Result<void> spawn(std::uint32_t index);
  /// Returns whether a node's new life is up and has not found its way into the stream.
  bool is_newcomer(std::uint32_t index) const {
    return directory_.life(index).value() > 1 && directory_.knows(index) &&
           !nodes_[index].has_begun;
  }
  void cut_off_the_silent(Duration patience);
  /// Called often. After a long time without a call nobody was heard since nobody listened.
  void look_at_clock(Instant now);
  void on_message(std::uint32_t index, Channel::Message message, const OnProgress& on_progress);
  void on_failure(Error error);
  void reap();
  void send_to(std::uint32_t index, char kind, const std::string& text);
  void tell_all(char kind);
  void play_faults(Instant now);
  /// Tells all nodes to leave and waits until they have, stopped ones as well: those are continued.
  /// Starts no node again.
  void let_go(Duration patience);
  Result<void> signal(std::uint32_t host, int number);

  Result<void> set_link_up(std::uint32_t host, bool up) override;
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override;
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override;
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override;
  Result<void> kill(std::uint32_t host) override;
  Result<void> stop(std::uint32_t host) override;
  Result<void> resume(std::uint32_t host) override;
  Result<void> restart(std::uint32_t host) override;

  JobOptions options_;
  NodeBody body_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> streams_begun_;  // by node, in all its lives
  std::string told_to_all_;  // kinds of messages about the end; each new life is told them, too
  ProcessSet processes_;
  Directory directory_;
  std::optional<faults::FaultPlayer> faults_;
  std::vector<faults::FaultPlayer::Played> played_;
  std::vector<faults::FaultPlayed> faults_played_;
  std::optional<Error> failure_;
  Instant only_silent_since_ = Instant::never();
  Instant looked_at_clock_ = Instant::never();
  Duration stood_still_{};
  std::uint32_t deaths_ = 0;
  bool ending_ = false;
};

}  // namespace weft::stream
