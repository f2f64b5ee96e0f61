// SPDX-License-Identifier: Apache-2.0
#include "qos/track.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/system_error.hpp"
#include "base/whole_file.hpp"
#include "qos/window.hpp"

namespace weft::qos {
namespace {

constexpr double wait_unit = 10'000;
/// Writing the file takes at most this share of the time.
constexpr int least_pause_by_write = 20;
constexpr auto least_pause = std::chrono::seconds(5);

}  // namespace

Track::Track(const ExperimentOptions& options, const std::vector<jobs::WorkloadJob>& jobs,
             const Placement& placement, std::uint32_t index, Kind kind)
    : options_(options),
      jobs_(jobs),
      placement_(placement),
      index_(index),
      kind_(kind),
      twin_(options) {}

std::string Track::path() const {
  if (options_.directory.empty()) return {};
  const std::string name = kind_ == Kind::on_default ? "default" : std::string(controller_->name());
  return (std::filesystem::path(options_.directory) / fmt::format("{}-{}.json", name, index_))
      .string();
}

/// Returns everything that decides a window's outcome. The number of iterations does not: a longer
/// run continues a shorter one.
TrackIdentity Track::identity() const {
  TrackIdentity lines = {"format=7", fmt::format("seed={}", options_.scenario.seed),
                         fmt::format("qos.period={}ns", options_.period.ticks()),
                         fmt::format("qos.variants={}", options_.variants),
                         fmt::format("qos.levels={}", options_.algorithm_1.levels)};
  for (const auto& entry : options_.scenario.entries) {
    if (!entry.key.starts_with("qos.")) {
      lines.push_back(fmt::format("{}={}", entry.key, entry.value));
    }
  }
  for (const jobs::WorkloadJob& job : jobs_) {
    if (!job.is_trace()) continue;
    lines.push_back(fmt::format("ranks and message of {}={} {}", job.name, job.pattern.ranks,
                                job.pattern.message_bytes));
    lines.push_back(
        fmt::format("checksum of the traces of {}={:08x}", job.name, job.traces_checksum));
  }
  if (kind_ == Kind::controlled) {
    lines.push_back(fmt::format("version of {}={}", controller_->name(), controller_->version()));
    for (std::string& setting :
         settings_of(controller_->name(), options_.algorithm_1, options_.predictions)) {
      lines.push_back(std::move(setting));
    }
  }
  return lines;
}

Result<void> Track::load() {
  const std::string file = path();
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return {};
  // A pipe would be waited for, and a device read for ever.
  if (!std::filesystem::is_regular_file(file, error)) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("--out: {}: it is no ordinary file; move it away, or name another directory",
                    file)};
  }
  const auto text = read_text_file(file);
  if (!text) return Error{text.error().code, "--out: " + text.error().message};
  auto kept = kept_track_of(*text, identity());
  if (!kept && options_.replaces) return {};
  if (!kept) return cannot_continue(kept.error().code, kept.error().message);
  kept_ = std::move(kept).value();
  if (kept_.windows.size() > options_.iterations) kept_.windows.resize(options_.iterations);
  saved_ = kept_.windows.size();
  saved_searches_ = kept_.searches.size();
  return {};
}

Error Track::cannot_continue(ErrorCode code, std::string_view why) const {
  return {code, fmt::format("--out: {}: {}; name another directory, or simulate its windows anew "
                            "with --force",
                            path(), why)};
}

Result<void> Track::save() {
  const std::string file = path();
  const bool is_saved = kept_.windows.size() == saved_ && kept_.searches.size() == saved_searches_;
  if (file.empty() || is_saved) return {};
  auto whole = WholeFile::create(file);
  if (!whole) return std::move(whole).error();
  if (auto written = whole->write(to_text(identity(), kept_)); !written) return written;
  saved_ = kept_.windows.size();
  saved_searches_ = kept_.searches.size();
  return whole->commit();
}

Result<void> Track::save_now_and_then() {
  const auto begun = Clock::now();
  if (begun < next_save_) return {};
  auto saved = save();
  const auto now = Clock::now();
  next_save_ = now + std::max<Clock::duration>(least_pause, least_pause_by_write * (now - begun));
  return saved;
}

Result<void> Track::begin(std::unique_ptr<Controller> controller) {
  controller_ = std::move(controller);
  if (auto loaded = load(); !loaded) return loaded;
  next_save_ = Clock::now() + least_pause;
  return prepare();
}

bool Track::foresees(std::uint32_t window) const {
  if (window >= options_.iterations) return false;
  if (window == completed_ || kind_ == Kind::on_default) return true;
  // Levels start anew where the mix of jobs changes.
  return controller_->is_settled() &&
         std::all_of(jobs_.begin(), jobs_.end(), [&](const jobs::WorkloadJob& job) {
           return job.is_in(window) == job.is_in(completed_);
         });
}

Result<void> Track::complete(KeptWindow window) {
  kept_.windows.push_back(std::move(window));
  return complete_kept();
}

Result<void> Track::complete_kept() {
  Result<void> state = control();
  ++completed_;
  if (state && !is_done()) state = prepare();
  if (!state) return state;
  return save_now_and_then();
}

/// The controller chooses the configuration of the next window.
Result<void> Track::prepare() {
  if (kind_ == Kind::on_default) return {};
  const auto present = placement_.in_window(completed_);
  twin_.set_jobs(present);
  announce(present);
  last_levels_ = controller_->configuration();
  accepted_.push_back(accepted_before_ + controller_->accepted());
  return check_kept();
}

/// A kept window has the levels that this controller chooses for it.
Result<void> Track::check_kept() {
  if (!has_kept_next() || kept_.windows[completed_].levels == checksum(last_levels_)) return {};
  if (!options_.replaces) {
    return cannot_continue(ErrorCode::invalid_argument,
                           fmt::format("this version of {} chooses other levels for window {}",
                                       controller_->name(), completed_ + 1));
  }
  kept_.windows.resize(completed_);
  saved_ = completed_;
  return {};
}

/// The controller gets the outcome of the window. That of the last one would come for nothing: when
/// the experiment goes on, another controller gets the windows again.
Result<void> Track::control() {
  if (kind_ == Kind::on_default) return {};
  if (completed_ + 1 == options_.iterations) {
    if (!controller_->is_settled()) settled_after_ = options_.iterations;
    return {};
  }
  const KeptWindow& kept = kept_.windows[completed_];
  std::vector<std::vector<double>> waited;
  for (const auto& job : kept.waited) {
    auto& shares = waited.emplace_back();
    for (const std::uint32_t units : job) shares.push_back(units / wait_unit);
  }
  std::vector<JobWindow> seen;
  for (std::size_t j = 0; j < kept.iterations.size(); ++j) {
    seen.push_back({.iterations = kept.iterations[j], .waited = waited[j]});
  }
  controller_->on_window(seen);
  if (!twin_.state()) return twin_.state();
  const bool changed = controller_->configuration() != last_levels_;
  if (changed || !controller_->is_settled()) settled_after_ = completed_ + 1;
  return {};
}

void Track::announce(const std::vector<Presence>& present) {
  std::vector<std::uint32_t> now;
  for (const Presence& p : present) now.push_back(p.job);
  if (now == present_) return;
  if (!present_.empty()) accepted_before_ += controller_->accepted();
  present_ = std::move(now);
  std::vector<JobFacts> facts;
  for (const Presence& p : present) {
    facts.push_back({.processes = jobs_[p.job].pattern.ranks,
                     .message_bytes = jobs_[p.job].pattern.message_bytes});
  }
  controller_->on_jobs(facts);
}

Result<KeptWindow> Track::simulate(std::uint32_t number, const Configuration& levels) {
  const auto present = placement_.in_window(number);
  std::vector<PlacedJob> placed;
  for (const Presence& p : present) placed.push_back(p.placed);
  const PicoDuration period = to_pico(options_.period);
  const auto seen = run_window(options_.scenario, placed, is_controlled() ? &levels : nullptr,
                               options_.algorithm_1.levels, period);
  if (!seen) return seen.error();
  KeptWindow window;
  if (is_controlled()) window.levels = checksum(levels);
  for (const JobWork& job : *seen) {
    if (kind_ == Kind::on_default) {
      window.iterations.push_back({job.work()});
      continue;
    }
    window.iterations.push_back(job.iterations);
    auto& waited = window.waited.emplace_back();
    for (const PicoDuration w : job.waited) {
      waited.push_back(
          static_cast<std::uint32_t>(w.to_seconds() / period.to_seconds() * wait_unit + 0.5));
    }
  }
  if (kind_ == Kind::controlled) return window;
  if (auto added = add_isolated(present, window); !added) return std::move(added).error();
  return window;
}

Result<void> Track::add_isolated(const std::vector<Presence>& present, KeptWindow& window) {
  for (const Presence& p : present) {
    const auto work = isolated_work(p);
    if (!work) return work.error();
    window.isolated.push_back(*work);
  }
  return {};
}

/// Alone on its nodes a job does the same whenever its variant and its age are the same. Two
/// threads that ask at once both simulate it, and find the same.
Result<std::uint64_t> Track::isolated_work(const Presence& job) {
  const PicoDuration period = to_pico(options_.period);
  const auto key = std::tuple{job.job, job.variant, job.placed.first_iteration};
  {
    const std::lock_guard lock(isolated_mutex_);
    if (const auto known = isolated_.find(key); known != isolated_.end()) return known->second;
  }
  const auto alone =
      run_window(options_.scenario, {job.placed}, nullptr, options_.algorithm_1.levels, period);
  if (!alone) return alone.error();
  const std::uint64_t work = alone->front().work();
  if (work == 0) return no_iteration(*job.placed.job, period);
  const std::lock_guard lock(isolated_mutex_);
  isolated_.emplace(key, work);
  return work;
}

}  // namespace weft::qos
