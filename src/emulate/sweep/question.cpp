// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "emulate/run.hpp"
#include "emulate/sweep/json_fields.hpp"

namespace weft::emulate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double most_percent = 100;
/// Of question.json. A weft that knows another one reads other fields.
constexpr std::int64_t version = 2;

Result<double> parse_percent(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  const auto value = parse_number<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  if (!is_percent || !value || !(*value > 0)) {
    return invalid("'{}' is no share of the bandwidth: give percent, as 50%", text);
  }
  const double share = *value / 100;
  if (share >= least_share && share <= most_predicted_share) return share;
  return invalid("'{}' is no share that a network has: give 0.0000001% to 100000000000%", text);
}

/// A latency without its sign. parse_duration takes one below a nanosecond for none.
Result<Duration> parse_added(std::string_view text) {
  auto latency = parse_duration(text);
  if (!latency || *latency > Duration{}) return latency;
  const std::string_view number = text.substr(0, text.find_first_of("eE"));
  if (number.find_first_of("123456789") == std::string_view::npos) return latency;
  return invalid("'{}' is below a nanosecond: give 0, or 1ns and more", text);
}

template <class T>
bool has_twice(const std::vector<T>& sorted) {
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

}  // namespace

std::string to_text(const SweepPoint& point) {
  return fmt::format("+{}, {:.4g} %",
                     point.latency == Duration{} ? "0" : weft::to_text(point.latency),
                     point.bandwidth * 100);
}

std::vector<SweepPoint> SweepQuestion::points() const {
  std::vector<SweepPoint> points;
  for (const Duration latency : latencies) {
    for (const double bandwidth : bandwidths) points.push_back({latency, bandwidth});
  }
  return points;
}

Result<std::vector<Duration>> parse_latencies(std::string_view text) {
  std::vector<Duration> latencies;
  for (std::string_view word : split(text, ',')) {
    if (word.starts_with('=')) {
      return invalid("'{}' is a latency in all: a sweep adds to the one that is there, as {}", word,
                     word.substr(1));
    }
    if (word.starts_with('+')) word.remove_prefix(1);
    const auto latency = parse_added(word);
    if (!latency) return latency.error();
    if (*latency > kLongestLatency) {
      return invalid("'{}' cannot be added to a latency: give 0 to 10s", word);
    }
    latencies.push_back(*latency);
  }
  std::sort(latencies.begin(), latencies.end());
  if (has_twice(latencies)) return invalid("'{}' names a latency twice; leave one out", text);
  return latencies;
}

Result<std::vector<double>> parse_bandwidths(std::string_view text) {
  std::vector<double> bandwidths;
  for (const std::string_view word : split(text, ',')) {
    const auto share = parse_percent(word);
    if (!share) return share.error();
    if (*share * 100 > most_percent) {
      return invalid(
          "'{}' is more than there is: give at most 100%; --predict tells of a faster network",
          word);
    }
    bandwidths.push_back(*share);
  }
  std::sort(bandwidths.begin(), bandwidths.end(), std::greater<>());
  if (has_twice(bandwidths)) return invalid("'{}' names a bandwidth twice; leave one out", text);
  return bandwidths;
}

Result<sweep::Point> parse_prediction(std::string_view text) {
  const auto words = split(text, ',');
  if (words.size() != 2) {
    return invalid("'{}' is no network: give latency and bandwidth, as -0.5us,200%", text);
  }
  const bool faster = words[0].starts_with('-');
  const bool has_sign = faster || words[0].starts_with('+');
  const auto latency = parse_added(words[0].substr(has_sign ? 1 : 0));
  if (!latency) return latency.error();
  const auto share = parse_percent(words[1]);
  if (!share) return share.error();
  return sweep::Point{latency->to_seconds() * (faster ? -1 : 1), *share};
}

Result<SweepShare> parse_share(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto task = parse_number<std::uint32_t>(text.substr(0, slash));
  const auto of = parse_number<std::uint32_t>(text.substr(std::min(slash + 1, text.size())));
  if (task && of && *task < *of) return SweepShare{.task = *task, .of = *of};
  return invalid("'{}' is no share: give task/tasks, as 0/4 to 3/4", text);
}

Result<SweepShare> share_of(const ArrayTask& task) {
  const std::uint64_t step = std::max(1U, task.step);
  const std::uint64_t last = task.least + step * (std::max(1U, task.count) - 1);
  const bool is_even = task.most == last && task.id >= task.least && task.id <= task.most &&
                       (task.id - task.least) % step == 0;
  if (is_even) {
    return SweepShare{.task = static_cast<std::uint32_t>((task.id - task.least) / step),
                      .of = std::max(1U, task.count)};
  }
  return invalid(
      "the {} tasks of this Slurm array, {} to {}, have gaps, so that task {} cannot tell its "
      "place: use an array as 0-{}, or give each task its --share, as 0/{}",
      task.count, task.least, task.most, task.id, task.count - 1, task.count);
}

Result<std::string> to_json_text(const SweepQuestion& question) {
  if (question.latencies.size() * question.bandwidths.size() > most_points) {
    return invalid(
        "--resume: the directory would have more than {} points; give fewer latencies or "
        "bandwidths, or another directory",
        most_points);
  }
  Json latencies = Json::array();
  for (const Duration latency : question.latencies) latencies.push_back(latency.to_nanoseconds());
  const Json json = {{"weft_sweep", version},
                     {"latencies_ns", std::move(latencies)},
                     {"bandwidths", question.bandwidths},
                     {"metric", question.metric.is_time() ? "time" : question.metric.pattern},
                     {"unit", question.metric.unit.name},
                     {"metric_file", question.metric.file},
                     {"links", question.links},
                     {"server", question.server},
                     {"ucx", question.use_ucx},
                     {"command", question.command}};
  try {
    return json.dump() + "\n";
  } catch (const Json::type_error&) {
    return invalid(
        "--resume: a word of the command or of an option is not UTF-8, so question.json cannot "
        "keep it; rename it, or leave --resume out");
  }
}

Result<SweepQuestion> question_from_json(std::string_view text) {
  const auto corrupt = [](std::string why) { return Error{ErrorCode::corrupt, std::move(why)}; };
  JsonFields fields(text);
  const std::int64_t written_as = fields.whole("weft_sweep", 1, 1'000'000);
  if (fields.wrong().empty() && written_as != version) {
    return corrupt("another version of weft wrote it");
  }
  SweepQuestion question;
  question.latencies.clear();
  for (const std::int64_t ns : fields.wholes("latencies_ns", 0, kLongestLatency.to_nanoseconds())) {
    question.latencies.push_back(Duration::nanoseconds(ns));
  }
  question.bandwidths = fields.numbers("bandwidths", least_share, 1);
  const std::string metric = fields.text("metric");
  const std::string unit_name = fields.text("unit");
  question.metric.file = fields.text("metric_file");
  question.links = fields.text("links");
  question.server = fields.text("server");
  question.use_ucx = fields.flag("ucx");
  question.command = fields.texts("command");
  if (!fields.wrong().empty()) return corrupt(fields.wrong());
  auto pattern = parse_metric(metric);
  if (!pattern) return corrupt("metric: " + pattern.error().message);
  auto unit = parse_metric_unit(unit_name);
  if (!unit) return corrupt("unit: " + unit.error().message);
  question.metric.pattern = std::move(pattern).value();
  question.metric.unit = std::move(unit).value();
  std::sort(question.latencies.begin(), question.latencies.end());
  std::sort(question.bandwidths.begin(), question.bandwidths.end(), std::greater<>());
  if (has_twice(question.latencies)) return corrupt("latencies_ns: has one twice");
  if (has_twice(question.bandwidths)) return corrupt("bandwidths: has one twice");
  if (question.command.empty() || question.command.front().empty()) {
    return corrupt("command: names no program");
  }
  const std::size_t points = question.latencies.size() * question.bandwidths.size();
  if (points == 0) return corrupt("latencies_ns, bandwidths: name no points");
  if (points > most_points) {
    return corrupt(fmt::format("latencies_ns, bandwidths: are more than {} points", most_points));
  }
  return question;
}

std::string difference(const SweepQuestion& a, const SweepQuestion& b) {
  if (a.command != b.command) return "the command";
  if (a.metric.pattern != b.metric.pattern) return "--metric";
  if (a.metric.file != b.metric.file) return "--metric-file";
  if (a.metric.unit.name != b.metric.unit.name) return "--unit";
  if (a.links != b.links) return "--links";
  if (a.server != b.server) return "--server";
  if (a.use_ucx != b.use_ucx) return "--ucx";
  return {};
}

SweepQuestion with_points_of(SweepQuestion question, const SweepQuestion& other) {
  const auto add = [](auto& all, const auto& more, auto before) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end(), before);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  };
  add(question.latencies, other.latencies, std::less<>());
  add(question.bandwidths, other.bandwidths, std::greater<>());
  return question;
}

}  // namespace weft::emulate
