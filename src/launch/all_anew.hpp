// SPDX-License-Identifier: Apache-2.0
// AllAnew: when a job goes over to starting all its ranks anew in place of one, and how often they
// have begun from nothing. Without I/O, but for a look at the launcher's input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "launch/piped_input.hpp"
#include "launch/rank_lives.hpp"

namespace weft {

class AllAnew {
 public:
  /// `input`: a descriptor, of which processes of this machine may read; −1: none does.
  explicit AllAnew(int input) : input_(input) {}

  /// A rank cannot go on keeping what it sends for later lives of others:
  /// launch_message::cannot_keep.
  void cannot_keep(std::uint32_t rank, const std::string& text);
  /// From now on all ranks are started anew: returns the line that says so, once. Not while a life
  /// has not joined: the one before may still run elsewhere, receive, and take what the next one
  /// needs. And not for want of time where all lose an input that can be read but once.
  std::optional<std::string> go_over(RankLives& lives);

  /// A rank has not repeated itself: nobody may go on from what earlier lives have recorded.
  /// Returns the line that says so; none: it was said.
  std::optional<std::string> begin_from_nothing(std::uint32_t rank, RankLives& lives,
                                                std::string why);
  /// Ranks are to be started anew: all, or this one; that counts as an attempt where they begin
  /// from nothing. False: they cannot be, as a pipe that was read is lost with them.
  bool on_start(std::uint32_t rank, const RankLives& lives);
  /// The rest of a sentence about a rank that cannot be started then.
  static constexpr const char* lost_input =
      "; the job's input is a pipe, of which nothing can be read again: give it a file (< FILE)";
  /// The rest of a sentence about a rank that prints something else than it did before.
  /// `restarts_all`: the user wanted that from the beginning.
  const char* advice(bool restarts_all) const {
    if (attempt_ == 0 || restarts_all) return "";
    return ". All ranks had begun from nothing and read the clock anew; with --restart all they "
           "repeat what it said, and messages are not compared";
  }
  /// That rank ends since it has not repeated itself, which was said.
  bool was_said(std::uint32_t rank) { return std::exchange(said_, std::nullopt) == rank; }
  /// JobDescription::attempt of lives that begin now.
  std::uint32_t attempt() const { return attempt_; }

 private:
  PipedInput input_;
  struct Pending {
    std::uint32_t rank = 0;
    bool is_urgent = false;
    std::string why;
  };
  std::optional<Pending> pending_;
  std::optional<std::uint32_t> said_;
  std::uint32_t attempt_ = 0;
};

}  // namespace weft
