// SPDX-License-Identifier: Apache-2.0
// RankLives: the progress of the programs of a launcher's ranks, and the consequences of the end of
// one of their processes. Without I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/time.hpp"

namespace weft {

/// A rank has one life at a time. Its process joins the job (it may be no program of weft's, and
/// never join), reports that its program has returned once it is about to exit with code 0, and
/// then serves the others until all programs have returned: they may need its messages again. The
/// launcher alone decides that the job is over, so that no process can be started into a job that
/// others consider over. A process of MPI has more to do when MPI_Finalize returns, which is when
/// the job is over: if it is killed then, it is started anew, and so are the others that it needs.
class RankLives {
 public:
  struct Options {
    bool restart = false;
    bool restart_all = false;         ///< all ranks, whenever one is started anew
    std::uint32_t most_restarts = 0;  ///< of all ranks together; one of all counts once
    /// All ranks of the job are this launcher's. Else node 0 decides that the job is over.
    bool decides = true;
  };
  RankLives(std::uint32_t ranks, Options options) : options_(options), ranks_(ranks) {}

  /// There are more ranks, which are not started yet.
  void grow(std::uint32_t ranks) { ranks_.resize(ranks); }
  /// A life begins: a rank's first, or one that was to be started.
  void begin(std::uint32_t rank);
  /// It cannot be started, and no rank waits for it.
  void skip(std::uint32_t rank);
  /// A program of its process will join. False: the process had one before, and can have no other.
  bool on_program(std::uint32_t rank);
  void on_joined(std::uint32_t rank);
  /// Its program exits by itself, without having returned.
  void on_exits(std::uint32_t rank) { ranks_[rank].exits = true; }
  void on_returned(std::uint32_t rank);
  /// Its next life goes on from that place among its messages. If it comes further than all lives
  /// before, it does not repeat itself.
  void on_stored(std::uint32_t rank, std::uint64_t place);
  /// Ranks wait for each other for ever: one that is killed, or was, ends the job.
  void on_needs_all() { needs_all_ = true; }
  /// From now on all ranks are started anew whenever one is.
  void restart_all_from_now() { options_.restart_all = true; }
  bool restarts_all() const { return options_.restart_all; }
  /// Node 0, which decides instead, has decided.
  void on_over() { end_job(); }

  struct End {
    /// The end of a process whose status is that of waitpid.
    static End of(int status);

    int code = 0;             ///< of the process: 128 + N after signal N
    bool was_killed = false;  ///< by a signal, or with its host
    bool crashed = false;     ///< by a signal that it brought on itself, such as SIGSEGV
    bool can_start = true;    ///< another life could do better
    bool is_refused = false;  ///< those that had it started were told that it is not there
    Duration lived{};         ///< from the start of the process
  };
  enum class Next {
    nothing,
    start_anew,  ///< to be started; with `restart_all` all ranks are, and those that run shall end
    start_too,   ///< to be started, since another one is
    rest,        ///< its program had returned: it is started again only if another rank needs it
    fail,        ///< its code counts; the other processes go on
    end_job,     ///< its code counts, and ends the job
    left_early,  ///< it exited with code 0, and others count on it: ends the job
  };
  Next on_end(std::uint32_t rank, const End& end);
  /// Says how the process ended that now runs as that rank, and whose status is that of waitpid.
  std::string describe(std::uint32_t rank, int status) const;
  /// A rank that repeats itself fails again: after so many lives in a row that ended by themselves
  /// in the same way, it is not started anew. With `restart_all` those of all ranks count together.
  /// An end that may be a kill which a script hides counts only in a row of one rank's, and if the
  /// life was short.
  static constexpr std::uint32_t most_alike = 10;
  static constexpr Duration short_life = Duration::seconds(60);
  static constexpr const char* alike = " ten times in a row; another life would do the same";
  static constexpr const char* alike_of_all =
      ", the tenth rank in a row that ended in this way; another start would do the same";
  /// The rest of a sentence about a rank that ended the job, when only that kept it from a restart.
  std::string why_not_anew(std::uint32_t rank);
  /// A rank waits for that one. A resting one is started anew, and so is one of MPI that had exited
  /// when the job was over, which it no longer is; if no restart is left for a resting one, the job
  /// ends. One that had exited needs none.
  Next on_needed(std::uint32_t rank);

  /// A rank that was killed and that the others need.
  std::optional<std::uint32_t> lost() const;
  /// A process that others may count on left with code 0 before its program returned.
  std::optional<std::uint32_t> left_early() const;
  /// Says what such a process did, or one that had two programs, and what it should have done.
  const char* why_missed(std::uint32_t rank) const;
  /// All programs have returned. Nothing is started any more, unless a process of MPI is killed
  /// before it exits: then the job is not over.
  bool over() const { return over_; }
  std::uint32_t running() const { return running_; }
  bool runs(std::uint32_t rank) const { return ranks_[rank].state == State::runs; }
  bool is_to_start(std::uint32_t rank) const { return ranks_[rank].state == State::to_start; }
  /// All are started anew, and some of them have not ended yet: none may start.
  bool awaits_ends() const { return falls_ && running_ > 0; }
  bool has_joined(std::uint32_t rank) const { return ranks_[rank].joined; }
  /// No rank is to be started, and all that run have joined.
  bool have_all_joined() const;
  std::uint32_t restarts() const { return restarts_; }

 private:
  enum class State : std::uint8_t { not_ours, runs, resting, to_start, ended };
  struct Rank;
  struct Failures {
    int code = 0;                // of the life before, where that ended by itself
    const Rank* rank = nullptr;  // whose life that was
    std::uint32_t alike = 0;     // lives in a row that ended by themselves with that code
  };
  struct Rank {
    State state = State::not_ours;
    std::uint32_t programs = 0;
    bool joined = false;
    bool returned = false;
    bool ended_job = false;  // was there when the job was over, and may leave MPI_Finalize
    bool exits = false;      // said that it does
    bool exited = false;     // with code 0, before its program returned
    bool lost = false;       // was killed, and the others go on
    Failures failures;
    std::uint64_t stored = 0;  // the furthest place from which a life may go on
  };

  /// A program of MPI neither left MPI_Finalize nor exited, though its process ended well: that is
  /// a script that hides how its program ended.
  bool has_vanished(const Rank& rank) const {
    return needs_all_ && rank.joined && !(rank.returned && rank.ended_job) && !rank.exits;
  }
  /// An end that a script makes of its program's kill.
  bool may_hide_kill(const Rank& rank, const End& end) const;
  void note_failure(Rank& rank, const End& end, bool by_itself);
  Next after_failure(Rank& rank, const End& end);
  Next after_the_job(Rank& rank, const End& end);
  Next start_again(Rank& rank);
  /// Ranks that all start anew repeat themselves together, and not always the same one fails.
  Failures& failures_of(Rank& rank) { return options_.restart_all ? failures_ : rank.failures; }
  bool may_restart(Rank& rank, const End& end) {
    return options_.restart && end.can_start && restarts_ < options_.most_restarts &&
           failures_of(rank).alike < most_alike;
  }
  void decide();
  void end_job();

  Options options_;
  std::vector<Rank> ranks_;
  Failures failures_;  // of all ranks, with `restart_all`
  std::uint32_t running_ = 0;
  std::uint32_t restarts_ = 0;
  bool any_joined_ = false;
  bool needs_all_ = false;
  bool over_ = false;
  bool falls_ = false;  // all ranks end, to be started anew
};

}  // namespace weft
