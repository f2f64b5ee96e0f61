// SPDX-License-Identifier: Apache-2.0
// Algorithm 1 of paper 5: raise one process after the other that is about as slow as the slowest of
// its job; keep a change that makes the jobs faster on average, take back one that does not.
//
// Our choices where the paper leaves something open:
//  - Line 41 admits no process at all with T = 1, which its section 6.7 tests. Here a process is a
//    candidate when its work is at most that of the slowest, divided by T.
//  - Line 29 goes on from the assignments of the last window; section 3.3 says that a candidate
//    that did not help is taken back. Here every try starts from the best assignments.
//  - A new level has twice the weight of the default one, and raising it doubles its weight: a
//    priority is worth the same step at any weight. A process whose level has the largest weight is
//    no candidate.
//  - NUM_SLS counts the default level.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "core/qos/controller.hpp"

namespace weft::qos {

struct Algorithm1Options {
  double threshold = 0.9;             ///< T, in (0, 1]
  std::uint32_t levels = 16;          ///< NUM_SLS, in [2, 256)
  std::uint32_t default_windows = 1;  ///< observed before anything is raised (6.2); at least 1
  std::uint8_t largest_weight = 8;    ///< beyond that a level sends a whole message in one turn
};

class Algorithm1 final : public Controller {
 public:
  /// The seed decides in which order candidates are tried.
  Algorithm1(const Algorithm1Options& options, std::uint64_t seed);

  std::string_view name() const override { return "algorithm-1"; }
  void on_jobs(std::span<const JobFacts> jobs) override;
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow> jobs) override;
  bool is_settled() const override { return state_ == State::idle; }
  std::uint32_t accepted() const override { return accepted_; }

 private:
  enum class State : std::uint8_t { on_default, running, idle };

  void restart();
  bool observe_default(std::span<const JobWindow> jobs);
  void select_candidates(std::span<const JobWindow> jobs);
  void try_next_candidate();
  std::vector<std::uint64_t> work_of(std::span<const JobWindow> jobs) const;

  Algorithm1Options options_;
  Rng rng_;
  std::size_t processes_ = 0;
  std::size_t jobs_ = 0;
  State state_ = State::on_default;
  Configuration now_;
  Configuration best_;
  double best_improvement_ = 0;
  std::vector<std::uint64_t> default_work_;  // of one window
  std::vector<std::uint64_t> default_sum_;
  std::uint32_t default_seen_ = 0;
  std::vector<std::size_t> candidates_;  // the next one is the last
  std::uint32_t accepted_ = 0;
};

}  // namespace weft::qos
