// SPDX-License-Identifier: Apache-2.0
// JobLink: a process's messages to and from its launcher, over a channel that it inherited.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process/news_source.hpp"
#include "runtime/channel.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

// Kinds of messages on the channel between a launcher and a process.
namespace launch_message {
inline constexpr char job = 'j';    ///< launcher → process, first: JobDescription
inline constexpr char takes = 't';  ///< process → launcher: it takes its job's description, which
                                    ///< is there for one process of the rank's program
inline constexpr char address = 'a';  ///< process → launcher: its fabric's address
inline constexpr char peers = 'p';  ///< launcher → process: "NODE INCARNATION ADDRESS\n" for each
inline constexpr char abort = 'x';  ///< launcher → process: why the job ends
inline constexpr char returned =
    'd';                            ///< process → launcher: it is about to exit with code 0; with
                                    ///< the text `alone`, and needs none but those of its world
inline constexpr char exits = 'e';  ///< process → launcher: it exits, and has not returned
inline constexpr char over = 'o';   ///< launcher → process: all programs have returned.
                                    ///< With a job's file: process → launcher, too
inline constexpr char needs = 'n';  ///< process → launcher: waits for that node, which is gone
inline constexpr char cannot_start = 's';  ///< forked process → launcher: why there is no program
inline constexpr char failed = 'f';        ///< process → launcher: why it cannot go on
inline constexpr char hopeless = 'h';   ///< process → launcher: why no other life can do better
inline constexpr char diverged = 'v';   ///< process → launcher: what it did not repeat of an
                                        ///< earlier life, so that the others cannot go on with it
inline constexpr char repeats = 'q';    ///< process → launcher: lives of its program repeat
                                        ///< themselves from the beginning, and print the same
inline constexpr char stored = 'c';     ///< process → launcher: how many sends and receives its
                                        ///< lives have started by the point where the next begins
inline constexpr char needs_all = 'm';  ///< process → launcher: it waits for ever for each other
                                        ///< process of the job that dies
inline constexpr char progress = 'w';   ///< process → launcher: JobProgress
// The text of `cannot_keep` begins with KeepingWatch::Kind.
inline constexpr char cannot_keep = 'u';  ///< process → launcher: why it cannot go on keeping what
                                          ///< it sends for later lives of others
inline constexpr char keep_nothing = 'U';  ///< launcher → process: all ranks are started anew when
                                           ///< one dies, from now on; "RANK INCARNATION " for
                                           ///< each of which a later life has begun
inline constexpr char levels =
    'l';  ///< launcher → process: levels of all processes, to_text(Levels)
inline constexpr char question = 'k';  ///< process → launcher: LauncherQuestion, one at a time
inline constexpr char answer = 'K';    ///< launcher → process: LauncherAnswer
inline constexpr char report = 'r';    ///< simulation → launcher: its predictions, as JSON
}  // namespace launch_message

/// See launch_message::returned.
inline constexpr const char* returned_alone = "alone";

/// Name of the environment's variable with the channel's descriptor.
inline constexpr const char* channel_variable = "WEFT_CHANNEL";
/// The variables that name the job's file, and this process's rank in it, without a launcher.
inline constexpr const char* file_variable = "WEFT_CONFIG";
inline constexpr const char* rank_variable = "WEFT_RANK";
/// The variable by which modules in a launched process know its rank (emulate/control).
inline constexpr const char* launched_rank_variable = "WEFT_LAUNCHED_RANK";

/// The description of its job that a process gets.
struct JobDescription {
  NodeId self{};
  std::uint32_t nodes = 1;             ///< of this process's world, from `first` on
  NodeId first{};                      ///< not 0: other processes of the job had this world started
  std::vector<std::uint32_t> parents;  ///< those, by their ranks: nodes
  std::uint32_t appnum = 0;            ///< which of the programs that they had started
  std::uint32_t room = 0;  ///< the job has at most so many nodes, ever; zero: as many as it has
  std::uint32_t nodes_here = 1;  ///< on this machine
  Incarnation incarnation{};
  std::string fabric = "auto";
  std::string link;     ///< "RATE,LATENCY"; empty: not shaped
  std::string network;  ///< which of the machine's addresses to use, "10.1.0.0/16"; empty: any
  std::string job_id;
  std::string secret;         ///< bytes
  bool retain = false;        ///< processes that die are started anew
  bool restarts_all = false;  ///< and all others with them, so that none keeps messages for it
  bool has_kept = false;      ///< earlier lives kept messages, as they no longer do
  /// Not 0: all processes have begun anew so often since one of them did not repeat itself. What
  /// their earlier lives have recorded is void.
  std::uint32_t attempt = 0;
  /// Names this run of the job, in which lives are counted from 1. Empty: they are not.
  std::string run;
  Duration peer_timeout = Duration::seconds(10);  ///< until a silent host counts as gone
  Duration heartbeat{};  ///< silence before the fabric probes a host; zero: its default
  Duration timeout = Duration::seconds(10);  ///< until operations that wait for a process fail
  ByteCount inbox = ByteCount::mib(16);
  ByteCount outbox;               ///< zero: no limit
  bool outbox_fails = false;      ///< a message beyond it does; else its sender waits
  std::string spill;              ///< directory for messages beyond the outbox; empty: none
  std::size_t eager = 0;          ///< zero: the default
  std::uint32_t connections = 0;  ///< of TCP, at a time; zero: the default
  bool tells_progress = false;    ///< the launcher hears of iterations, a millisecond apart
  std::string file;  ///< of the job, with all addresses; empty: the launcher hands them around

  // Set only in jobs whose processes are all simulated in one; `self` is its first process.
  std::optional<std::uint64_t> seed;  ///< in place of the scenario's
  bool faults = true;                 ///< those of the scenario happen
  std::uint32_t most_restarts = 0;    ///< of all processes together
};

/// The progress of a process since it began.
struct JobProgress {
  std::uint64_t iterations = 0;  ///< calls of mark_progress
  Duration waited{};             ///< for messages
  Duration elapsed{};            ///< by its own clock, when the last of them was done
};
std::string to_text(const JobProgress& progress);
Result<JobProgress> read_job_progress(const std::string& text);

/// Service levels of a job's processes, by their numbers; none: it has none of its own.
using ProcessLevels = std::vector<std::optional<std::uint8_t>>;
std::string to_text(const ProcessLevels& levels);
/// Errors: corrupt, when they are not of so many processes.
Result<ProcessLevels> read_process_levels(const std::string& text, std::uint32_t processes);

std::string to_text(const JobDescription& job);
Result<JobDescription> read_job_description(const std::string& text);

/// The process's end. One thread.
class JobLink final : public NewsSource {
 public:
  explicit JobLink(Channel channel) : channel_(std::move(channel)) {}

  int descriptor() const override { return channel_.descriptor(); }
  Result<JobDescription> receive_job();
  void tell(char kind, const std::string& text) { (void)channel_.send(kind, text); }
  /// Never blocks: bytes that the launcher does not read now are written when there is news.
  void post(char kind, const std::string& text) { channel_.post(kind, text); }
  /// Called with the levels of all processes, as their controller changes them.
  using OnLevels = std::function<void(const ProcessLevels&)>;
  void on_levels(std::uint32_t processes, OnLevels on_levels) {
    processes_ = processes;
    on_levels_ = std::move(on_levels);
  }
  /// Called once, when nothing need be kept any more, with the newest lives of the processes that
  /// are not in their first: they may still ask for what was kept.
  using OnKeepNothing = std::function<void(const std::map<NodeId, Incarnation>&)>;
  void on_keep_nothing(OnKeepNothing on_keep_nothing) {
    on_keep_nothing_ = std::move(on_keep_nothing);
  }
  /// Never blocks. Errors: the launcher ends the job, or is gone.
  Result<void> take_news(Fabric& fabric) override;
  Duration period() const override { return Duration::milliseconds(2); }
  bool is_over() const override { return over_; }
  /// The launcher's answer to a message of the kind `question`, once it came.
  std::optional<std::string> take_answer() { return std::exchange(answer_, std::nullopt); }
  /// Tells the launcher of each such peer now and then.
  void miss(Instant now, NodeId peer) override;
  void stored(std::uint64_t place) override { post(launch_message::stored, std::to_string(place)); }

 private:
  Result<void> add_peers(Fabric& fabric, const std::string& text);

  Result<void> take_levels(const std::string& text);
  void keep_nothing(const std::string& text);

  Channel channel_;
  std::uint32_t processes_ = 0;
  OnLevels on_levels_;
  OnKeepNothing on_keep_nothing_;
  bool over_ = false;
  std::optional<std::string> answer_;
  std::map<NodeId, Instant> miss_again_;  // not before, for each peer that was missed
};

}  // namespace weft
