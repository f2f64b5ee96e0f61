// SPDX-License-Identifier: Apache-2.0
#include "core/qos/level_moves.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace weft::qos {
namespace {

/// Level and weight of each rung: all that nobody decided about is on the default level.
constexpr std::array<Level, rung_levels> level_of_rung = {1, 0, 2, 3};
const std::vector<std::uint8_t> weights = {2, 1, 4, 8};

constexpr double busy = 0.05;  ///< slack of a process that others wait for
constexpr double rather_busy = 0.15;
constexpr double spare = 0.35;  ///< slack of one that can lose some
constexpr double ample = 0.4;
constexpr double needs_repair = -0.02;

}  // namespace

double mean_of(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double utility(double gain) {
  if (gain < -0.035) return 4 * -0.02 + 12 * (gain + 0.035) - 0.015;
  if (gain < -0.015) return 4 * (gain + 0.015) - 0.015;
  if (gain > 0.05) return 0.05 + (gain - 0.05) / 2;
  return gain;
}

double mean_utility(std::span<const double> gains) {
  std::vector<double> values;
  for (const double gain : gains) values.push_back(utility(gain));
  return mean_of(values);
}

Configuration configuration_of(const Rungs& rungs) {
  Configuration made{.level_of = {}, .weight_of = weights};
  for (const std::uint8_t rung : rungs) made.level_of.push_back(level_of_rung[rung]);
  return made;
}

LevelMoves::LevelMoves(std::span<const JobFacts> jobs) : order_(jobs.size()) {
  std::uint64_t longest = 0;
  for (const JobFacts& job : jobs) longest = std::max(longest, job.message_bytes);
  std::size_t processes = 0;
  for (const JobFacts& job : jobs) {
    jobs_.push_back({.first = processes,
                     .processes = job.processes,
                     .small_messages = job.message_bytes * 2 <= longest});
    processes += job.processes;
  }
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].message_bytes < jobs[b].message_bytes;
  });
  iterations_.assign(processes, 0);
  waited_.assign(processes, 0);
  slack_.assign(processes, 0);
}

void LevelMoves::observe(std::span<const JobWindow> jobs) {
  ++windows_;
  std::size_t process = 0;
  for (const JobWindow& job : jobs) {
    for (std::size_t i = 0; i < job.iterations.size(); ++i, ++process) {
      iterations_[process] += static_cast<double>(job.iterations[i]);
      if (!job.waited.empty()) waited_[process] += job.waited[i];
    }
  }
}

/// An iteration of the slowest process takes T; a faster one could lose the difference, and the
/// time that it waits.
void LevelMoves::find_slack() {
  for (const Job& job : jobs_) {
    double slowest = 0;
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      slowest = std::max(slowest, windows_ / std::max(iterations_[p], 1.0));
    }
    double least = 1e9;
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      const double own = windows_ / std::max(iterations_[p], 1.0);
      const double wait = waited_[p] / std::max(iterations_[p], 1.0);
      slack_[p] = (slowest - own + wait) / slowest;
      least = std::min(least, slack_[p]);
    }
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) slack_[p] -= least;
  }
}

std::vector<Rungs> LevelMoves::starts() const {
  Rungs small_up = middle();
  Rungs all_up = small_up;
  Rungs spare_down = small_up;
  for (const Job& job : jobs_) {
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      if (slack_[p] < busy) all_up[p] = top_rung;
      if (slack_[p] < busy && job.small_messages) small_up[p] = top_rung;
      if (slack_[p] > ample) spare_down[p] = 0;
    }
  }
  Rungs both = small_up;
  Rungs gentle = spare_down;
  for (std::size_t p = 0; p < processes(); ++p) {
    if (spare_down[p] == 0) both[p] = 0;
    if (all_up[p] == top_rung) gentle[p] = middle_rung + 1;
  }
  Rungs with_others = both;
  for (std::size_t p = 0; p < processes(); ++p) {
    if (all_up[p] == top_rung && with_others[p] == middle_rung) with_others[p] = middle_rung + 1;
  }
  return {small_up, both, with_others, gentle, spare_down, all_up};
}

std::vector<Rungs> LevelMoves::around(const Rungs& from, std::span<const double> gains) const {
  std::vector<Rungs> moves;
  for (const std::size_t j : order_) {
    const Job& job = jobs_[j];
    if (gains[j] <= needs_repair) moves.push_back(repaired(from, job));
    std::ranges::move(groups_of(from, job), std::back_inserter(moves));
  }
  for (const std::size_t j : order_) add_ends(from, jobs_[j], moves);
  return moves;
}

/// Its busiest processes up, those with time to spare down, all up and all down.
std::vector<Rungs> LevelMoves::groups_of(const Rungs& from, const Job& job) const {
  return {group(from, job, -1, busy, 1), group(from, job, -1, rather_busy, 1),
          group(from, job, spare, 1e9, -1), group(from, job, -1, 1e9, 1),
          group(from, job, -1, 1e9, -1)};
}

/// A job that lost: without its demotions, and its busiest processes raised.
Rungs LevelMoves::repaired(const Rungs& from, const Job& job) const {
  Rungs rungs = from;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    rungs[p] = std::max(rungs[p], middle_rung);
    if (slack_[p] < busy) rungs[p] = std::max<std::uint8_t>(rungs[p], middle_rung + 1);
  }
  return rungs;
}

Rungs LevelMoves::group(const Rungs& from, const Job& job, double least, double most,
                        int step) const {
  Rungs rungs = from;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    if (slack_[p] < least || slack_[p] >= most) continue;
    rungs[p] = static_cast<std::uint8_t>(std::clamp(rungs[p] + step, 0, int{top_rung}));
  }
  return rungs;
}

/// The process that waits least of those that can rise, and the one that waits most of those that
/// can sink.
void LevelMoves::add_ends(const Rungs& from, const Job& job, std::vector<Rungs>& moves) const {
  std::optional<std::size_t> busiest, idlest;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    if (from[p] < top_rung && (!busiest || slack_[p] < slack_[*busiest])) busiest = p;
    if (from[p] > 0 && (!idlest || slack_[p] > slack_[*idlest])) idlest = p;
  }
  for (const auto& [process, step] : {std::pair{busiest, 1}, std::pair{idlest, -1}}) {
    if (!process) continue;
    moves.push_back(from);
    std::uint8_t& rung = moves.back()[*process];
    rung = static_cast<std::uint8_t>(rung + step);
  }
}

std::vector<LevelMoves::Choice> LevelMoves::groups(const Rungs& from) const {
  std::vector<Choice> choices;
  const std::vector<Rungs> starts = from == middle() ? this->starts() : std::vector<Rungs>();
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    choices.push_back({.job = j, .first = job.first, .options = {}});
    auto& options = choices.back().options;
    const auto offer = [&](const Rungs& rungs) {
      const auto own = std::span(rungs).subspan(job.first, job.processes);
      Rungs option(own.begin(), own.end());
      if (std::ranges::find(options, option) == options.end()) options.push_back(std::move(option));
    };
    offer(from);
    for (const Rungs& start : starts) offer(start);
    if (!starts.empty()) continue;
    for (const Rungs& moved : groups_of(from, job)) offer(moved);
  }
  return choices;
}

std::vector<LevelMoves::Choice> LevelMoves::processes_alone() const {
  std::vector<Choice> choices;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    for (std::size_t p = 0; p < jobs_[j].processes; ++p) {
      choices.push_back({.job = j, .first = jobs_[j].first + p, .options = {}});
      for (std::uint8_t rung = 0; rung <= top_rung; ++rung) {
        choices.back().options.push_back({rung});
      }
    }
  }
  return choices;
}

}  // namespace weft::qos
