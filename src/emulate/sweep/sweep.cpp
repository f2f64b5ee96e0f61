// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft::emulate {
namespace {

/// Baselines of tasks that differ more than the precision so many times over are worth a warning.
constexpr double alike = 3;
/// The least confidence of an interval, and the error beyond which a model does not describe the
/// program.
constexpr double enough_confidence = 0.95;
constexpr double poor_model = 0.2;

class Sweep {
 public:
  Sweep(const SweepRequest& request, const SweepDriver& driver)
      : request_(request), driver_(driver), points_(request.question.points()) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (request.share.has(i)) mine_.push_back(i);
    }
    sweep::PlanOptions options = request.plan;
    options.points = mine_.size();
    plan_.emplace(options);
  }

  Result<SweepOutcome> run() {
    if (auto good = open(); !good) return std::move(good).error();
    if (!request_.runs_nothing) {
      if (auto good = measure(); !good) return std::move(good).error();
    }
    if (plan_->missing() > 0) return unfinished();
    return outcome();
  }

 private:
  Result<void> open() {
    if (request_.directory.empty()) return {};
    if (request_.runs_nothing) {
      auto runs = SweepLedger::runs_of(request_.directory);
      if (!runs) return std::move(runs).error();
      for (const SweepRun& run : *runs) enter(run);
      return check_one_calibration(*runs, request_.directory);
    }
    auto ledger = SweepLedger::open(request_.directory, request_.question, request_.share);
    if (!ledger) return std::move(ledger).error();
    ledger_.emplace(std::move(ledger).value());
    for (const SweepRun& run : ledger_->runs()) enter(run);
    // Those of other tasks too: a merge would refuse this task's runs only after they were made.
    const auto all = SweepLedger::runs_of(request_.directory);
    if (!all) return all.error();
    return check_calibration(*all, request_.directory, request_.calibration);
  }

  void enter(const SweepRun& run) {
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      if (!(points_[mine_[i]] == run.point)) continue;
      plan_->add(i, run.sample);
      if (!ground_) ground_ = run.ground;
      if (mine_[i] == 0) baselines_[run.file].push_back(run.sample.value);
    }
  }

  Result<void> measure() {
    while (const auto next = plan_->next(driver_.elapsed())) {
      const SweepPoint& point = points_[mine_[*next]];
      const bool goes_on = driver_.on_run({.points = mine_.size(),
                                           .settled = plan_->settled(),
                                           .runs = plan_->runs(),
                                           .fraction = plan_->progress(driver_.elapsed()),
                                           .point = point});
      if (!goes_on) return Error{ErrorCode::cancelled, "stopped" + goes_on_from()};
      auto run = run_at(point);
      if (!run && run.error().code == ErrorCode::cancelled) {
        return Error{ErrorCode::cancelled, "stopped" + goes_on_from()};
      }
      if (!run) return std::move(run).error();
      if (!(run->ground.calibration == request_.calibration)) return calibration_changed(*run);
      if (ledger_) {
        if (auto good = ledger_->add(*run); !good) return good;
      }
      enter(*run);
    }
    return {};
  }

  Result<SweepRun> run_at(const SweepPoint& point) {
    auto run = driver_.target(point);
    if (!run) {
      // A wrong option or file fails at every point, so the error names no point.
      const ErrorCode code = run.error().code;
      if (code == ErrorCode::invalid_argument || code == ErrorCode::not_found) return run.error();
      return Error{run.error().code, fmt::format("at {}: {}", to_text(point), run.error().message)};
    }
    const Metric& metric = request_.question.metric;
    Result<double> value = run->time_s;
    if (!metric.is_time()) {
      value = find_metric(metric, run->output);
      if (value) value = metric.to_seconds(*value);
    }
    if (!value) {
      return Error{value.error().code,
                   fmt::format("{} (at {})", value.error().message, to_text(point))};
    }
    for (const std::string& warning : run->warnings) {
      if (said_.insert(warning).second) warnings_.push_back(warning);
    }
    return SweepRun{.point = point,
                    .sample = {.value = *value,
                               .wall_s = run->wall_s,
                               .stolen = run->stolen,
                               .waiting = run->waiting},
                    .ground = run->ground,
                    .file = ledger_ ? ledger_->file() : std::string()};
  }

  Error calibration_changed(const SweepRun& run) const {
    return invalid(
        "the calibration changed during the sweep ({}; now {}): begin it anew, and run no weft "
        "calibrate beside it",
        to_text(request_.calibration), to_text(run.ground.calibration));
  }

  std::string goes_on_from() const {
    if (request_.directory.empty()) return "; with --resume DIR a sweep can go on later";
    return fmt::format("; the same command with --resume {} goes on from there",
                       request_.directory);
  }

  Error unfinished() const {
    const std::size_t missing = plan_->missing();
    const std::string measured =
        fmt::format("{} of {} points", mine_.size() - missing, mine_.size());
    if (request_.runs_nothing) {
      return make_error(
          ErrorCode::timed_out,
          "--merge: {} has runs of {}: wait for the other tasks, or go on without --merge",
          request_.directory, measured);
    }
    return make_error(ErrorCode::timed_out, "--budget {}: it ended after runs of {}; give more{}",
                      to_text(request_.plan.budget), measured, goes_on_from());
  }

  SweepOutcome outcome() {
    SweepOutcome out{.question = request_.question,
                     .ground = ground_.value_or(SweepGround{}),
                     .precision = request_.plan.precision};
    std::vector<sweep::Observation> observations;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      const sweep::PointState state = plan_->state(i);
      out.points.push_back({.point = points_[mine_[i]],
                            .seconds = *state.interval,
                            .runs = state.runs,
                            .rejected = state.rejected,
                            .is_precise = is_precise(*state.interval)});
      observations.push_back({points_[mine_[i]].for_model(), state.interval->median});
    }
    if (request_.share.is_all()) {
      out.analysis = sweep::analyse(observations);
      for (const sweep::Point& point : request_.predictions) {
        out.predictions.push_back({point, out.analysis->fitted.model.predict_s(point)});
      }
    }
    warn_of_noise(out);
    warn_of_model(out);
    warn_of_machines();
    out.warnings = std::move(warnings_);
    return out;
  }

  bool is_precise(const sweep::MedianInterval& interval) const {
    return interval.half_width() <= request_.plan.precision * interval.median &&
           interval.confidence >= enough_confidence;
  }

  void warn_of_noise(const SweepOutcome& out) {
    std::size_t wide = 0, runs = 0, rejected = 0;
    bool budget_ended = false;
    double widest = 0;
    for (const PointOutcome& p : out.points) {
      wide += p.is_precise ? 0 : 1;
      budget_ended |= !p.is_precise && p.runs < request_.plan.most_runs;
      widest = std::max(widest, p.seconds.half_width() / p.seconds.median);
      runs += p.runs;
      rejected += p.rejected;
    }
    if (wide > 0) {
      warnings_.push_back(
          fmt::format("{} of {} points are not known to ± {:.4g} % (the widest interval is ± "
                      "{:.1f} %): {}",
                      wide, out.points.size(), request_.plan.precision * 100, widest * 100,
                      budget_ended ? std::string("give a larger --budget")
                                   : fmt::format("{} runs of a point are the most, so let the "
                                                 "program run longer, or nothing beside it",
                                                 request_.plan.most_runs)));
    }
    if (rejected * 4 > runs) {
      warnings_.push_back(
          fmt::format("{} of {} runs were disturbed: something else uses this "
                      "machine",
                      rejected, runs));
    }
  }

  void warn_of_model(const SweepOutcome& out) {
    if (!out.analysis || out.analysis->fitted.left_out_error <= poor_model) return;
    warnings_.push_back(
        fmt::format("the model misses left-out points by {:.0f} %: trust the "
                    "measured curves, neither it nor its predictions",
                    out.analysis->fitted.left_out_error * 100));
  }

  /// Tasks on machines of different speed cannot be compared.
  void warn_of_machines() {
    if (baselines_.size() < 2) return;
    double least = 0, most = 0;
    for (const auto& [file, values] : baselines_) {
      const double median = sweep::median_interval(values).median;
      least = least == 0 ? median : std::min(least, median);
      most = std::max(most, median);
    }
    if (most / least - 1 <= alike * request_.plan.precision) return;
    warnings_.push_back(
        fmt::format("tasks disagree by {:.1f} % about {}: their machines are not "
                    "alike, and curves mix them",
                    (most / least - 1) * 100, to_text(points_[0])));
  }

  const SweepRequest& request_;
  const SweepDriver& driver_;
  std::vector<SweepPoint> points_;
  std::vector<std::size_t> mine_;  // points of this task
  std::optional<sweep::SweepPlan> plan_;
  std::optional<SweepLedger> ledger_;
  std::optional<SweepGround> ground_;
  std::map<std::string, std::vector<double>> baselines_;  // by file of the ledger
  std::set<std::string> said_;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<SweepOutcome> run_sweep(const SweepRequest& request, const SweepDriver& driver) {
  return Sweep(request, driver).run();
}

}  // namespace weft::emulate
