// SPDX-License-Identifier: Apache-2.0
// SweepQuestion: the subject of a sweep: a program, the networks that it runs on, and a metric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/sweep/model.hpp"
#include "emulate/sweep/metric.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::emulate {

/// A network: latency on top of the native one, a share of the bandwidth.
struct SweepPoint {
  Duration latency;
  double bandwidth = 1;  ///< in (0, 1]

  sweep::Point for_model() const { return {latency.to_seconds(), bandwidth}; }
  friend bool operator==(const SweepPoint&, const SweepPoint&) = default;
};

/// "+2 us, 50 %".
std::string to_text(const SweepPoint& point);

struct SweepQuestion {
  std::vector<Duration> latencies{Duration{}};  ///< ascending, each once
  std::vector<double> bandwidths{1};            ///< descending, each once
  Metric metric;
  std::string links;     ///< a file, as of EmulationRequest; empty for none
  std::string server;    ///< a shell command, as of EmulationRequest; empty: an MPI program
  bool use_ucx = false;  ///< as of EmulationRequest
  std::vector<std::string> command;

  /// Each latency with each bandwidth. The first one is the baseline.
  std::vector<SweepPoint> points() const;
};

/// More points than anybody waits for: a question with more is a mistake, or hostile.
inline constexpr std::size_t most_points = 10'000;
/// The range of a bandwidth's share, of predictions too.
inline constexpr double least_share = 1e-9;
inline constexpr double most_predicted_share = 1e9;

/// "0,1us,2us": ascending in the result, whatever their order. Each is added to the latency that
/// is there; "+1us" is the same. Refuses latencies below a nanosecond, except 0.
Result<std::vector<Duration>> parse_latencies(std::string_view text);
/// "100%,50%,20%", each above 0 % and at most 100 %.
Result<std::vector<double>> parse_bandwidths(std::string_view text);
/// "-0.5us,200%": a network to predict the time on, which may be a faster one.
Result<sweep::Point> parse_prediction(std::string_view text);

/// The part of a sweep's points that one of several tasks measures.
struct SweepShare {
  std::uint32_t task = 0;  ///< below `of`
  std::uint32_t of = 1;

  bool is_all() const { return of == 1; }
  /// Every task measures the baseline, point 0: it tells whether their machines are alike.
  bool has(std::size_t point) const { return point == 0 || (point - 1) % of == task; }
};

/// "2/8": the third of eight tasks.
Result<SweepShare> parse_share(std::string_view text);

/// A task's place in a Slurm array, from SLURM_ARRAY_TASK_ID and so on.
struct ArrayTask {
  std::uint32_t id = 0;
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  std::uint32_t step = 1;
  std::uint32_t count = 1;
};
/// The share of an array's task. Error (invalid_argument): the array has gaps, as --array=1,3,7,
/// so that no task can tell how many come before it.
Result<SweepShare> share_of(const ArrayTask& task);

/// JSON text of a question, for the directory of a sweep. Errors (invalid_argument): a word of it
/// is not UTF-8; it has more than `most_points`.
Result<std::string> to_json_text(const SweepQuestion& question);
/// Errors (corrupt) name the missing or wrong field: the file may be cut, or anybody's.
Result<SweepQuestion> question_from_json(std::string_view text);
/// The difference that keeps runs of one from being used for the other, as "the command"; empty
/// when there is none. Points may differ: runs of each are used where they fit.
std::string difference(const SweepQuestion& a, const SweepQuestion& b);
/// The question with each latency and each bandwidth of both.
SweepQuestion with_points_of(SweepQuestion question, const SweepQuestion& other);

}  // namespace weft::emulate
