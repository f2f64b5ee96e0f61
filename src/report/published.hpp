// SPDX-License-Identifier: Apache-2.0
// Published figures beside those of runs: the figure that a paper gives for a schedule, the runs
// that it is about, and the place of the same figure in their records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_record.hpp"

namespace weft::report {

/// A published figure and the runs that it is about.
struct Reference {
  std::string schedule;
  std::optional<std::uint32_t> inputs;    ///< none: runs with any number
  std::optional<std::uint32_t> computes;  ///< none: runs with any number
  PublishedFigure figure;                 ///< `ours` is not looked at
};

/// The metrics that figures can be of, in the order in which messages list them.
std::vector<std::string_view> published_metrics();
/// A metric in words: "goodput of limit". The metric itself when it is not known.
std::string metric_words(std::string_view metric);
/// A value as tables show it: "80.0 %", "30×".
std::string metric_text(std::string_view metric, double value);
/// As metric_text, with its bound: "at least 30×".
std::string published_text(const PublishedFigure& figure);

/// Gives each run the figures that are about it, with the run's own; they replace those of earlier
/// calls. Ratios to best effort need that run among `runs`, of as many nodes.
void attach_references(std::span<const Reference> references, std::span<RunRecord> runs);

/// A section of the report, HTML; empty when no run has published figures. `labels` are those of
/// the runs.
std::string published_section(std::span<const RunRecord> runs, std::span<const std::string> labels);

}  // namespace weft::report
