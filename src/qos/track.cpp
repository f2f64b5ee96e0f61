// SPDX-License-Identifier: Apache-2.0
#include "qos/track.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/crc32c.hpp"
#include "base/whole_file.hpp"
#include "qos/window.hpp"

namespace weft::qos {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double wait_unit = 10'000;
/// Writing the file takes at most this share of the time.
constexpr int least_pause_by_write = 20;
constexpr auto least_pause = std::chrono::seconds(5);

}  // namespace

std::string to_text(const std::string& fingerprint, const std::vector<KeptWindow>& windows) {
  Json list = Json::array();
  for (const KeptWindow& w : windows) list.push_back({w.isolated, w.iterations, w.waited});
  return Json{{"fingerprint", fingerprint}, {"windows", std::move(list)}}.dump() + "\n";
}

Result<std::vector<KeptWindow>> windows_of(const std::string& text,
                                           const std::string& fingerprint) {
  try {
    const Json json = Json::parse(text);
    if (json.at("fingerprint") != fingerprint) {
      return Error{ErrorCode::invalid_argument, "another experiment left it"};
    }
    std::vector<KeptWindow> windows;
    for (const Json& w : json.at("windows")) {
      windows.push_back({.isolated = w.at(0).get<decltype(KeptWindow::isolated)>(),
                         .iterations = w.at(1).get<decltype(KeptWindow::iterations)>(),
                         .waited = w.at(2).get<decltype(KeptWindow::waited)>()});
    }
    return windows;
  } catch (const Json::exception&) {
    return Error{ErrorCode::corrupt, "it holds no windows of an experiment"};
  }
}

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
  const std::string name = kind_ == Kind::on_default ? "default" : controller_;
  return (std::filesystem::path(options_.directory) / fmt::format("{}-{}.json", name, index_))
      .string();
}

/// Returns the fingerprint of everything that decides a window's outcome. The number of iterations
/// does not: a longer run continues a shorter one.
std::string Track::fingerprint() const {
  std::string text = fmt::format("2 {} {} {} {}\n", options_.scenario.seed, options_.period.ticks(),
                                 options_.variants, options_.algorithm_1.levels);
  for (const auto& entry : options_.scenario.entries) {
    if (entry.key.starts_with("qos.")) continue;
    text += fmt::format("{}={}\n", entry.key, entry.value);
  }
  for (const jobs::WorkloadJob& job : jobs_) {
    if (job.is_trace())
      text += fmt::format("{} {}\n", job.pattern.ranks, job.pattern.message_bytes);
  }
  if (kind_ == Kind::controlled) {
    const Algorithm1Options& a = options_.algorithm_1;
    text +=
        fmt::format("{} {} {} {}\n", controller_, a.threshold, a.default_windows, a.largest_weight);
  }
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text))));
}

Result<void> Track::load() {
  const std::string file = path();
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return {};
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto kept = windows_of(text, fingerprint());
  if (!kept && options_.replaces) return {};
  if (!kept) {
    return Error{kept.error().code, fmt::format("--out: {}: {}; name another directory, or begin "
                                                "anew with --force",
                                                file, kept.error().message)};
  }
  windows_ = std::move(kept).value();
  if (windows_.size() > options_.iterations) windows_.resize(options_.iterations);
  return {};
}

Result<void> Track::save() const {
  const std::string file = path();
  if (file.empty()) return {};
  auto whole = WholeFile::create(file);
  if (!whole) return std::move(whole).error();
  if (auto written = whole->write(to_text(fingerprint(), windows_)); !written) return written;
  return whole->commit();
}

Result<void> Track::run(const std::function<bool()>& go_on) {
  auto controller = make_controller(options_.controller, options_.algorithm_1,
                                    options_.scenario.seed * 1'000'003 + index_, &twin_);
  if (!controller) return std::move(controller).error();
  controller_ = (*controller)->name();
  if (auto loaded = load(); !loaded) return loaded;
  auto next_save = Clock::now() + least_pause;
  std::size_t saved = windows_.size();
  Result<void> state;
  for (std::uint32_t i = 0; state.ok() && i < options_.iterations; ++i) {
    if (kind_ == Kind::controlled) {
      state = control(**controller, i);
    } else if (i == windows_.size()) {
      auto window = simulate(placement_.in_window(i), nullptr);
      if (window) windows_.push_back(*std::move(window));
      if (!window) state = std::move(window).error();
    }
    if (!state) break;
    if (!go_on())
      state = Error{ErrorCode::cancelled, "the experiment was ended before it was done"};
    if (windows_.size() == saved || Clock::now() < next_save) continue;
    const auto begun = Clock::now();
    if (auto written = save(); !written) return written;
    saved = windows_.size();
    next_save = Clock::now() + std::max<Clock::duration>(
                                   least_pause, least_pause_by_write * (Clock::now() - begun));
  }
  if (windows_.size() == saved) return state;
  if (auto written = save(); !written) return written;
  return state;
}

/// The controller chooses the configuration, and gets the outcome.
Result<void> Track::control(Controller& controller, std::uint32_t number) {
  const auto present = placement_.in_window(number);
  twin_.set_jobs(present);
  announce(controller, present);
  last_levels_ = controller.configuration();
  accepted_.push_back(accepted_before_ + controller.accepted());
  if (number == windows_.size()) {
    auto window = simulate(present, &controller.configuration());
    if (!window) return std::move(window).error();
    windows_.push_back(*std::move(window));
  }
  const KeptWindow& kept = windows_[number];
  std::vector<std::vector<double>> waited;
  for (const auto& job : kept.waited) {
    auto& shares = waited.emplace_back();
    for (const std::uint32_t units : job) shares.push_back(units / wait_unit);
  }
  std::vector<JobWindow> seen;
  for (std::size_t j = 0; j < present.size(); ++j) {
    seen.push_back({.iterations = kept.iterations[j], .waited = waited[j]});
  }
  controller.on_window(seen);
  if (!twin_.state()) return twin_.state();
  const bool changed = controller.configuration() != last_levels_;
  if (changed || !controller.is_settled()) settled_after_ = number + 1;
  return {};
}

void Track::announce(Controller& controller, const std::vector<Presence>& present) {
  std::vector<std::uint32_t> now;
  for (const Presence& p : present) now.push_back(p.job);
  if (now == present_) return;
  if (!present_.empty()) accepted_before_ += controller.accepted();
  present_ = std::move(now);
  std::vector<JobFacts> facts;
  for (const Presence& p : present) {
    facts.push_back({.processes = jobs_[p.job].pattern.ranks,
                     .message_bytes = jobs_[p.job].pattern.message_bytes});
  }
  controller.on_jobs(facts);
}

Result<KeptWindow> Track::simulate(const std::vector<Presence>& present,
                                   const Configuration* configuration) {
  std::vector<PlacedJob> placed;
  for (const Presence& p : present) placed.push_back(p.placed);
  const PicoDuration period = to_pico(options_.period);
  const auto seen =
      run_window(options_.scenario, placed, configuration, options_.algorithm_1.levels, period);
  if (!seen) return seen.error();
  KeptWindow window;
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

/// Alone on its nodes a job does the same whenever its variant and its age are the same.
Result<void> Track::add_isolated(const std::vector<Presence>& present, KeptWindow& window) {
  const PicoDuration period = to_pico(options_.period);
  for (const Presence& p : present) {
    const auto key = std::tuple{p.job, p.variant, p.placed.first_iteration};
    auto known = isolated_.find(key);
    if (known == isolated_.end()) {
      const auto alone =
          run_window(options_.scenario, {p.placed}, nullptr, options_.algorithm_1.levels, period);
      if (!alone) return alone.error();
      const std::uint64_t work = alone->front().work();
      if (work == 0) return no_iteration(*p.placed.job, period);
      known = isolated_.emplace(key, work).first;
    }
    window.isolated.push_back(known->second);
  }
  return {};
}

}  // namespace weft::qos
