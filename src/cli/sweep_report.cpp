// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/units.hpp"
#include "cli/terminal.hpp"
#include "emulate/sweep/record.hpp"

namespace weft::cli {
namespace {

using emulate::count_text;
using emulate::latency_text;
using emulate::PointOutcome;
using emulate::SweepOutcome;

std::string share_text(double share) {
  return fmt::format("{:.3g} %", share * 100);
}

/// "a + n L + V / B" of each plane.
std::string text_of(const sweep::Piece& piece) {
  std::vector<std::string> terms;
  if (piece.messages > 0) terms.push_back(count_text(piece.messages) + " L");
  if (piece.transfer_s > 0) terms.push_back(latency_text(piece.transfer_s) + " / B");
  if (piece.fixed_s > 0 || terms.empty()) terms.insert(terms.begin(), latency_text(piece.fixed_s));
  return fmt::format("{}", fmt::join(terms, " + "));
}

std::string model_text(const sweep::FittedModel& fitted) {
  std::vector<std::string> pieces;
  for (const sweep::Piece& piece : fitted.model.pieces()) pieces.push_back(text_of(piece));
  if (pieces.size() == 1) return "T = " + pieces[0];
  return fmt::format("T = max({})", fmt::join(pieces, ", "));
}

std::string error_text(const sweep::FittedModel& fitted) {
  std::string text = fmt::format("{} for points left out", share_text(fitted.left_out_error));
  if (fitted.faster_error) {
    text += fmt::format(", {} for the fastest network from slower ones",
                        share_text(*fitted.faster_error));
  }
  return text;
}

std::vector<report::SweepNeed> needs_table(const SweepOutcome& outcome) {
  const sweep::Analysis& a = *outcome.analysis;
  std::vector<report::SweepNeed> rows;
  for (std::size_t i = 0; i < sweep::slow_downs.size(); ++i) {
    const auto& latency = a.tolerance_s[i];
    const auto& bandwidth = a.headroom[i];
    const std::string most = to_text(outcome.question.latencies.back());
    const std::string least = share_text(outcome.question.bandwidths.back());
    rows.push_back({share_text(sweep::slow_downs[i]),
                    !a.slope  ? "not varied"
                    : latency ? "+" + latency_text(*latency)
                              : "more than +" + most,
                    !a.transfer_s ? "not varied"
                    : bandwidth   ? share_text(*bandwidth)
                                  : "less than " + least});
  }
  return rows;
}

std::string knees_text(const sweep::Analysis& a) {
  std::vector<std::string> knees;
  for (const double latency_s : a.latency_knees_s) knees.push_back("+" + latency_text(latency_s));
  for (const double share : a.bandwidth_knees) knees.push_back(share_text(share) + " bandwidth");
  return knees.empty() ? "none" : fmt::format("{}", fmt::join(knees, ", "));
}

std::vector<std::pair<std::string, std::string>> facts_of(const SweepOutcome& outcome) {
  const sweep::Analysis& a = *outcome.analysis;
  const emulate::SweepGround& ground = outcome.ground;
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("fastest network", latency_text(a.baseline_s));
  if (a.slope) {
    facts.emplace_back("messages in a row", fmt::format("{} ({} round trips)", count_text(*a.slope),
                                                        count_text(*a.slope / 2)));
    facts.emplace_back("of them not hidden", count_text(*a.slope_at_baseline));
  }
  if (a.transfer_s) facts.emplace_back("transfers take", latency_text(*a.transfer_s));
  facts.emplace_back("knees", knees_text(a));
  facts.emplace_back("model", model_text(a.fitted));
  facts.emplace_back("error of the model", error_text(a.fitted));
  if (!ground.interposer.empty()) {
    facts.emplace_back("emulated by", fmt::format("{}, {} ranks", ground.interposer, ground.ranks));
  }
  if (ground.latency_ns) {
    facts.emplace_back("native latency", latency_text(*ground.latency_ns * 1e-9));
  }
  if (ground.bandwidth_bytes_per_s) {
    facts.emplace_back("native bandwidth",
                       to_text(Bandwidth::bytes_per_second(
                           static_cast<std::uint64_t>(*ground.bandwidth_bytes_per_s))));
  }
  return facts;
}

std::string value_text(const emulate::Metric& metric, double seconds) {
  return metric.is_time()
             ? latency_text(seconds)
             : fmt::format("{:.5g} {}", metric.from_seconds(seconds), metric.unit.name);
}

std::vector<std::pair<std::string, std::string>> predictions_of(const SweepOutcome& outcome) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const emulate::Prediction& p : outcome.predictions) {
    rows.emplace_back(fmt::format("{}{}, {}", p.point.latency_s < 0 ? "" : "+",
                                  p.point.latency_s == 0 ? "0" : latency_text(p.point.latency_s),
                                  share_text(p.point.bandwidth)),
                      value_text(outcome.question.metric, p.seconds));
  }
  return rows;
}

std::string shortened(const std::vector<std::string>& command) {
  std::string text = fmt::format("{}", fmt::join(command, " "));
  constexpr std::size_t most = 60;
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

/// The command from its program on, where that is named by a path: the launcher tells little. Else
/// the whole command.
std::string program_name(const std::vector<std::string>& command) {
  const auto is_path = [](const std::string& word) {
    return word.find('/') != std::string::npos && !word.starts_with('-');
  };
  const auto program = std::find_if(std::next(command.begin()), command.end(), is_path);
  if (program != command.end()) return shortened({program, command.end()});
  return shortened(command);
}

}  // namespace

report::SweepRecord record_of(const SweepOutcome& outcome, const std::string& command) {
  const emulate::Metric& metric = outcome.question.metric;
  report::SweepRecord record{.program = program_name(outcome.question.command),
                             .needs = emulate::needs_of(outcome),
                             .metric = metric.is_time() ? "time" : metric.pattern,
                             .unit = metric.unit.name,
                             .command = command,
                             .points = {},
                             .model = {},
                             .facts = facts_of(outcome),
                             .rows = needs_table(outcome),
                             .predictions = predictions_of(outcome),
                             .warnings = outcome.warnings};
  for (const PointOutcome& p : outcome.points) {
    const double low = metric.from_seconds(p.seconds.low);
    const double high = metric.from_seconds(p.seconds.high);
    record.points.push_back({.latency_us = p.point.latency.to_microseconds(),
                             .bandwidth = p.point.bandwidth,
                             .median = metric.from_seconds(p.seconds.median),
                             .low = std::min(low, high),
                             .high = std::max(low, high),
                             .slow_down = p.seconds.median / outcome.analysis->baseline_s,
                             .runs = p.runs,
                             .rejected = p.rejected,
                             .is_precise = p.is_precise});
  }
  record.model = [&outcome](double latency_us, double bandwidth) {
    return outcome.question.metric.from_seconds(
        outcome.analysis->fitted.model.predict_s({latency_us * 1e-6, bandwidth}));
  };
  return record;
}

void print_sweep(const SweepOutcome& outcome) {
  Table points({"latency, bandwidth", "median", "low", "high", "slow-down", "runs", "rejected"});
  const emulate::Metric& metric = outcome.question.metric;
  const double fastest = outcome.points.front().seconds.median;
  for (const PointOutcome& p : outcome.points) {
    const double low = metric.is_time() || !metric.unit.is_rate ? p.seconds.low : p.seconds.high;
    const double high = low == p.seconds.low ? p.seconds.high : p.seconds.low;
    points.add({to_text(p.point), value_text(metric, p.seconds.median), value_text(metric, low),
                value_text(metric, high), fmt::format("{:.3f}", p.seconds.median / fastest),
                fmt::format("{}", p.runs), fmt::format("{}", p.rejected)});
  }
  points.print();
  if (!outcome.analysis) return;
  fmt::print("\n");
  Table needs({"slow-down", "latency it tolerates", "bandwidth it needs"});
  for (const report::SweepNeed& row : needs_table(outcome)) {
    needs.add({row.slow_down, row.latency, row.bandwidth});
  }
  needs.print();
  fmt::print("\n");
  for (const auto& [name, value] : facts_of(outcome)) fmt::print("{:<18} {}\n", name, value);
  for (const auto& [network, value] : predictions_of(outcome)) {
    fmt::print("{:<18} {}\n", network, value);
  }
  fmt::print("\n{}\n", emulate::needs_of(outcome));
}

}  // namespace weft::cli
