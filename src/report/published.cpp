// SPDX-License-Identifier: Apache-2.0
#include "report/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "report/html.hpp"
#include "report/words.hpp"

namespace weft::report {
namespace {

using MaybeRun = const RunRecord*;

std::optional<double> ratio(std::optional<double> over, std::optional<double> under) {
  if (!over || !under || !(*under > 0)) return std::nullopt;
  return *over / *under;
}

std::optional<double> median_spread(MaybeRun run) {
  if (run == nullptr || !run->spread_us) return std::nullopt;
  return run->spread_us->median;
}

struct Metric {
  std::string_view name;
  std::string_view words;
  std::string (*text)(double value);
  /// `best_effort` is null when there is no such run.
  std::optional<double> (*find)(const RunRecord& run, MaybeRun best_effort);
};

constexpr std::array metrics{
    Metric{"goodput_of_limit", "goodput of limit", as_percent,
           [](const RunRecord& run, MaybeRun) { return run.goodput_of_limit; }},
    Metric{"goodput_of_best_effort", "goodput over best effort's", as_percent,
           [](const RunRecord& run, MaybeRun best_effort) -> std::optional<double> {
             if (best_effort == nullptr) return std::nullopt;
             return ratio(run.goodput_bytes_per_s, best_effort->goodput_bytes_per_s);
           }},
    Metric{"spread_ratio", "best effort's median spread over this one's", as_times,
           [](const RunRecord& run, MaybeRun best_effort) {
             return ratio(median_spread(best_effort), median_spread(&run));
           }},
    Metric{"buffer_fill", "median fill of buffers", as_percent,
           [](const RunRecord& run, MaybeRun) -> std::optional<double> {
             if (!run.buffer_fill) return std::nullopt;
             return run.buffer_fill->median;
           }},
    Metric{"buffer_fill_p90", "90th percentile of buffers' fill", as_percent,
           [](const RunRecord& run, MaybeRun) -> std::optional<double> {
             if (!run.buffer_fill) return std::nullopt;
             return run.buffer_fill->p90;
           }},
};

const Metric* find_metric(std::string_view name) {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

bool is_about(const Reference& reference, const RunRecord& run) {
  return reference.schedule == run.schedule && !is_limit_run(run) &&
         reference.inputs.value_or(run.inputs) == run.inputs &&
         reference.computes.value_or(run.computes) == run.computes;
}

MaybeRun best_effort_beside(const RunRecord& run, std::span<const RunRecord> runs) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunRecord& other) {
    return other.schedule == "best-effort" && other.inputs == run.inputs &&
           other.computes == run.computes;
  });
  return found == runs.end() ? nullptr : &*found;
}

std::string row(const PublishedFigure& figure, const std::string& label) {
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td>{}</td>{}<td>{}</td><td>{}</td></tr>\n", html_escape(label),
      html_escape(metric_words(figure.metric)),
      figure.ours
          ? fmt::format("<td>{}</td>", html_escape(metric_text(figure.metric, *figure.ours)))
          : R"(<td class="none" title="not measured">–</td>)",
      html_escape(published_text(figure)), html_escape(figure.source));
}

}  // namespace

std::vector<std::string_view> published_metrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  return names;
}

std::string metric_words(std::string_view name) {
  const Metric* metric = find_metric(name);
  return std::string(metric == nullptr ? name : metric->words);
}

std::string metric_text(std::string_view name, double value) {
  const Metric* metric = find_metric(name);
  return metric == nullptr ? fmt::format("{:.3g}", value) : metric->text(value);
}

std::string published_text(const PublishedFigure& figure) {
  return fmt::format("{}{}{}", figure.bound, figure.bound.empty() ? "" : " ",
                     metric_text(figure.metric, figure.value));
}

void attach_references(std::span<const Reference> references, std::span<RunRecord> runs) {
  for (RunRecord& run : runs) {
    run.published.clear();
    const MaybeRun best_effort = best_effort_beside(run, runs);
    for (const Reference& reference : references) {
      if (!is_about(reference, run)) continue;
      PublishedFigure figure = reference.figure;
      const Metric* metric = find_metric(figure.metric);
      figure.ours = metric == nullptr ? std::nullopt : metric->find(run, best_effort);
      run.published.push_back(std::move(figure));
    }
  }
}

std::string published_section(std::span<const RunRecord> runs,
                              std::span<const std::string> labels) {
  WEFT_CHECK(runs.size() == labels.size());
  std::string rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const PublishedFigure& figure : runs[i].published) rows += row(figure, labels[i]);
  }
  if (rows.empty()) return rows;
  return fmt::format(R"(<section aria-labelledby="published-title">
<h2 id="published-title">Beside published figures</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="published-title">
<table class="published">
<thead><tr>
<th scope="col">Run</th><th scope="col">Figure</th><th scope="col">Here</th>
<th scope="col">Published</th><th scope="col">Source</th>
</tr></thead>
<tbody>
{}</tbody>
</table>
</div>
</section>
)",
                     rows);
}

}  // namespace weft::report
