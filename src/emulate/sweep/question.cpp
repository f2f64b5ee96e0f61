// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "base/units.hpp"

namespace weft::emulate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double most_percent = 100;
constexpr Duration most_latency = Duration::seconds(10);

Error wrong(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Result<double> parse_percent(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  const auto value = parse_number<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  if (!is_percent || !value || !(*value > 0)) {
    return wrong(fmt::format("'{}' is no share of the bandwidth: give percent, as 50%", text));
  }
  return *value / 100;
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
  for (std::string_view word : words_of(text)) {
    if (word.starts_with('=')) {
      return wrong(
          fmt::format("'{}' is a latency in all: a sweep adds to the one that is there, as "
                      "{}",
                      word, word.substr(1)));
    }
    if (word.starts_with('+')) word.remove_prefix(1);
    const auto latency = parse_duration(word);
    if (!latency) return latency.error();
    if (*latency < Duration{} || *latency > most_latency) {
      return wrong(fmt::format("'{}' cannot be added to a latency: give 0 to 10s", word));
    }
    latencies.push_back(*latency);
  }
  std::sort(latencies.begin(), latencies.end());
  if (has_twice(latencies)) return wrong(fmt::format("'{}' names a latency twice", text));
  return latencies;
}

Result<std::vector<double>> parse_bandwidths(std::string_view text) {
  std::vector<double> bandwidths;
  for (const std::string_view word : words_of(text)) {
    const auto share = parse_percent(word);
    if (!share) return share.error();
    if (*share * 100 > most_percent) {
      return wrong(
          fmt::format("'{}' is more than there is: give at most 100%; --predict tells of a "
                      "faster network",
                      word));
    }
    bandwidths.push_back(*share);
  }
  std::sort(bandwidths.begin(), bandwidths.end(), std::greater<>());
  if (has_twice(bandwidths)) return wrong(fmt::format("'{}' names a bandwidth twice", text));
  return bandwidths;
}

Result<sweep::Point> parse_prediction(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() != 2) {
    return wrong(
        fmt::format("'{}' is no network: give latency and bandwidth, as -0.5us,200%", text));
  }
  const bool faster = words[0].starts_with('-');
  const bool has_sign = faster || words[0].starts_with('+');
  const auto latency = parse_duration(words[0].substr(has_sign ? 1 : 0));
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
  return wrong(fmt::format("'{}' is no share: give task/tasks, as 0/4 to 3/4", text));
}

Result<std::string> to_json_text(const SweepQuestion& question) {
  Json latencies = Json::array();
  for (const Duration latency : question.latencies) latencies.push_back(latency.to_nanoseconds());
  const Json json = {{"weft_sweep", 1},
                     {"latencies_ns", std::move(latencies)},
                     {"bandwidths", question.bandwidths},
                     {"metric", question.metric.is_time() ? "time" : question.metric.pattern},
                     {"unit", question.metric.unit.name},
                     {"metric_file", question.metric.file},
                     {"links", question.links},
                     {"server", question.server},
                     {"command", question.command}};
  try {
    return json.dump() + "\n";
  } catch (const Json::type_error&) {
    return wrong(
        "--resume: a word of the command or of an option is not UTF-8, so question.json cannot "
        "keep it; rename it, or leave --resume out");
  }
}

Result<SweepQuestion> question_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("weft_sweep").get<int>() != 1) {
      return Error{ErrorCode::corrupt, "was written by a newer weft"};
    }
    SweepQuestion question;
    question.latencies.clear();
    for (const Json& ns : json.at("latencies_ns")) {
      question.latencies.push_back(Duration::nanoseconds(ns.get<std::int64_t>()));
    }
    question.bandwidths = json.at("bandwidths").get<std::vector<double>>();
    auto pattern = parse_metric(json.at("metric").get<std::string>());
    if (!pattern) return std::move(pattern).error();
    auto unit = parse_metric_unit(json.at("unit").get<std::string>());
    if (!unit) return std::move(unit).error();
    question.metric = {std::move(pattern).value(), std::move(unit).value(),
                       json.at("metric_file").get<std::string>()};
    question.links = json.at("links").get<std::string>();
    // Directories of a weft that knew no servers have none.
    question.server = json.value("server", std::string());
    question.command = json.at("command").get<std::vector<std::string>>();
    const bool empty = question.latencies.empty() || question.bandwidths.empty();
    if (empty || question.command.empty()) return Error{ErrorCode::corrupt, "names no points"};
    return question;
  } catch (const Json::exception& e) {
    return Error{ErrorCode::corrupt, e.what()};
  }
}

std::string difference(const SweepQuestion& a, const SweepQuestion& b) {
  if (a.command != b.command) return "the command";
  if (a.metric.pattern != b.metric.pattern) return "--metric";
  if (a.metric.file != b.metric.file) return "--metric-file";
  if (a.metric.unit.name != b.metric.unit.name) return "--unit";
  if (a.links != b.links) return "--links";
  if (a.server != b.server) return "--server";
  return {};
}

}  // namespace weft::emulate
