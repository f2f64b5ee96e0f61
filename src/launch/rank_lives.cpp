// SPDX-License-Identifier: Apache-2.0
#include "launch/rank_lives.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/check.hpp"
#include "base/process_end.hpp"
#include "launch/program_exec.hpp"

namespace weft {
namespace {

/// Signals that a process brings on itself: errors, limits, its own timers and closed pipes.
bool is_own_fault(int signal) {
  constexpr std::array own = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,    SIGSYS, SIGTRAP,
                              SIGXCPU, SIGXFSZ, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF};
  return std::find(own.begin(), own.end(), signal) != own.end();
}

/// Of a shell whose program was killed, unless it chose the code itself.
bool is_code_of_kill(int code) {
  return code == 128 + SIGKILL || code == 128 + SIGTERM;
}

}  // namespace

RankLives::End RankLives::End::of(int status) {
  return {.code = code_of_end(status),
          .was_killed = WIFSIGNALED(status),
          .crashed = WIFSIGNALED(status) && is_own_fault(WTERMSIG(status)),
          .can_start = !(WIFEXITED(status) && WEXITSTATUS(status) == cannot_execute)};
}

void RankLives::begin(std::uint32_t index) {
  Rank& rank = ranks_[index];
  WEFT_CHECK(rank.state == State::not_ours || rank.state == State::to_start,
             "rank {} is not to be started", index);
  rank = {.state = State::runs, .failures = rank.failures, .stored = rank.stored};
  ++running_;
  falls_ = false;
}

void RankLives::skip(std::uint32_t rank) {
  ranks_[rank].state = State::ended;
  decide();
}

bool RankLives::on_program(std::uint32_t rank) {
  return ++ranks_[rank].programs == 1;
}

void RankLives::on_joined(std::uint32_t rank) {
  ranks_[rank].joined = any_joined_ = true;
}

void RankLives::on_returned(std::uint32_t rank) {
  ranks_[rank].returned = true;
  decide();
}

void RankLives::on_stored(std::uint32_t index, std::uint64_t place) {
  Rank& rank = ranks_[index];
  if (place <= rank.stored) return;
  rank.stored = place;
  failures_of(rank).alike = 0;
}

RankLives::Next RankLives::on_end(std::uint32_t index, const End& end) {
  Rank& rank = ranks_[index];
  WEFT_CHECK(rank.state == State::runs, "rank {} does not run", index);
  rank.state = State::ended;
  --running_;
  if (falls_) {
    rank.state = State::to_start;
    rank.returned = false;
    return Next::start_too;
  }
  if (end.is_refused) {
    decide();
    return Next::nothing;
  }
  if (over_) return after_the_job(rank, end);
  if (end.code == 0 && options_.restart && has_vanished(rank)) {
    note_failure(rank, end, true);
    if (may_restart(rank, end)) {
      ++restarts_;
      return start_again(rank);
    }
    if (rank.returned) return Next::end_job;
  }
  if (end.code != 0) {
    const Next next = after_failure(rank, end);
    if (next == Next::fail) decide();
    return next;
  }
  rank.exited = !rank.returned;
  if (left_early()) return Next::left_early;
  decide();
  return Next::nothing;
}

RankLives::Next RankLives::after_the_job(Rank& rank, const End& end) {
  if (end.code == 0) return Next::nothing;
  // A process that exits or crashes by itself has a code that counts, whenever it does. A script
  // exits with the code of its program's signal. A program that has chosen that code does so in
  // each life, and is not started again for ever.
  const bool is_hidden = may_hide_kill(rank, end);
  if (is_hidden) note_failure(rank, end, true);
  if (!is_hidden && (!end.was_killed || end.crashed)) return Next::fail;
  // Nothing of a program follows the function that it gives run_program. A program of MPI goes on
  // after MPI_Finalize, and may not have printed all.
  if (!needs_all_) return Next::nothing;
  if (!options_.decides || !may_restart(rank, end)) return Next::fail;
  over_ = false;
  ++restarts_;
  return start_again(rank);
}

RankLives::Next RankLives::start_again(Rank& rank) {
  rank.state = State::to_start;
  rank.returned = false;
  if (options_.restart_all) {
    falls_ = true;
    for (Rank& other : ranks_) {
      other.returned = false;
      if (other.state != State::runs) other.state = State::to_start;
    }
  }
  return Next::start_anew;
}

bool RankLives::may_hide_kill(const Rank& rank, const End& end) const {
  return needs_all_ && rank.joined && !end.was_killed &&
         (end.code == 0 || is_code_of_kill(end.code));
}

void RankLives::note_failure(Rank& rank, const End& end, bool by_itself) {
  Failures& before = failures_of(rank);
  const bool is_hidden = by_itself && may_hide_kill(rank, end);
  if (is_hidden && end.lived >= short_life) by_itself = false;
  const bool is_alike = end.code == before.code && (!is_hidden || before.rank == &rank);
  before = {.code = by_itself ? end.code : 0,
            .rank = &rank,
            .alike = !by_itself ? 0
                     : is_alike ? before.alike + 1
                                : 1};
}

std::string RankLives::describe(std::uint32_t rank, int status) const {
  const bool is_hidden = status == 0 && options_.restart && has_vanished(ranks_[rank]);
  return describe_end(status) +
         (is_hidden ? ", but its program neither left MPI_Finalize nor exited" : "");
}

RankLives::Next RankLives::after_failure(Rank& rank, const End& end) {
  note_failure(rank, end, !end.was_killed || end.crashed);
  // One that had returned is needed only if others say so: that takes no restart. One of MPI has
  // still to go on after MPI_Finalize.
  if (options_.restart && options_.decides && rank.returned && end.was_killed && !needs_all_) {
    rank.state = State::resting;
    return Next::rest;
  }
  if (may_restart(rank, end)) {
    ++restarts_;
    return start_again(rank);
  }
  // A program that failed or crashed by itself takes the others with it. One that was killed is
  // waited for, until ranks that need it give up and name the operation.
  if (options_.restart || !end.was_killed || end.crashed || needs_all_) return Next::end_job;
  rank.lost = true;
  return Next::fail;
}

std::string RankLives::why_not_anew(std::uint32_t rank) {
  if (failures_of(ranks_[rank]).alike >= most_alike) {
    return options_.restart_all ? alike_of_all : alike;
  }
  if (!options_.restart || restarts_ < options_.most_restarts) return {};
  return fmt::format(", and no restart is left (--most-restarts {})", options_.most_restarts);
}

RankLives::Next RankLives::on_needed(std::uint32_t index) {
  Rank& rank = ranks_[index];
  const bool has_gone =
      options_.restart && needs_all_ && rank.returned && rank.state == State::ended;
  if (over_ || (rank.state != State::resting && !has_gone)) return Next::nothing;
  // One that had exited did not fail: the death of the rank that needs it has counted.
  if (!has_gone && restarts_ >= options_.most_restarts) return Next::end_job;
  rank = {.stored = rank.stored};
  if (!has_gone) ++restarts_;
  return start_again(rank);
}

std::optional<std::uint32_t> RankLives::lost() const {
  if (!needs_all_ || over_) return std::nullopt;
  const auto found =
      std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.lost; });
  if (found == ranks_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - ranks_.begin());
}

bool RankLives::have_all_joined() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) {
    return r.state != State::to_start && (r.state != State::runs || r.joined);
  });
}

/// If no process joins, the programs are not weft's, and may exit as they like.
std::optional<std::uint32_t> RankLives::left_early() const {
  if (!any_joined_) return std::nullopt;
  const auto found =
      std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.exited; });
  if (found == ranks_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - ranks_.begin());
}

const char* RankLives::why_missed(std::uint32_t rank) const {
  if (ranks_[rank].programs > 1) {
    return "starts a second program of MPI, or of weft, and a job has one; start each by a `weft "
           "run` of its own: weft run … && weft run …";
  }
  if (!needs_all_) {
    return "exited with code 0 before its program had returned, and others count on it; return "
           "from the function that run_program is given instead";
  }
  return has_joined(rank) ? "exited with code 0 before it had called MPI_Finalize, and others "
                            "count on it; call that in all processes"
                          : "exited with code 0 and never called MPI_Init, as others did; start "
                            "programs of MPI alone";
}

void RankLives::decide() {
  if (!options_.decides || over_) return;
  const bool all_have_returned = std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) {
    return r.returned || r.state == State::ended;
  });
  if (all_have_returned) end_job();
}

void RankLives::end_job() {
  over_ = true;
  for (Rank& rank : ranks_) rank.ended_job = rank.ended_job || rank.state == State::runs;
}

}  // namespace weft
