// SPDX-License-Identifier: Apache-2.0
#include "report/qos_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/quantile.hpp"
#include "report/html.hpp"
#include "report/page_parts.hpp"
#include "report/run_record.hpp"
#include "report/words.hpp"

namespace weft::report {
namespace {

constexpr double chart_width = 640;
constexpr double chart_height = 260;
constexpr double left = 88;
constexpr double bottom = 44;

/// The fewest digits behind the point that write each multiple of `step` as it is, three at most.
int decimals_of(double step) {
  int decimals = 0;
  for (; decimals < 3 && std::abs(step - std::round(step)) > 1e-9; ++decimals) step *= 10;
  return decimals;
}

/// A chart's frame: from values to places, with grid lines.
class Frame {
 public:
  struct Names {
    const char* title;
    const char* x;
    const char* y;
  };
  Frame(Page& page, const Names& names, double least, double most) : page_(page) {
    const double pad = std::max(0.005, (most - least) * 0.06);
    least_ = std::min(least - pad, 0.0);
    most_ = std::max(most + pad, 0.0);
    page_.add(
        "<figure style=\"margin:0\"><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2}\" "
        "width=\"100%\" "
        "role=\"img\" aria-label=\"{0}\" "
        "font-size=\"13\" fill=\"currentColor\" stroke=\"none\">\n",
        html_escape(names.title), chart_width, chart_height);
    page_.add(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n<text x=\"14\" y=\"{3}\" "
        "text-anchor=\"middle\" transform=\"rotate(-90 14 {3})\">{4}</text>\n",
        (left + chart_width - 8) / 2, chart_height - 8, html_escape(names.x),
        (chart_height - bottom + 8) / 2, html_escape(names.y));
    add_grid();
  }
  ~Frame() { page_.raw("</svg></figure>\n"); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  double y(double value) const {
    return 8 + (most_ - value) / (most_ - least_) * (chart_height - bottom - 8);
  }
  /// The middle of place `i` of `count` side by side.
  static double x(double i, double count) {
    return left + (i + 0.5) * (chart_width - left - 8) / count;
  }
  static double width(double count) { return (chart_width - left - 8) / count; }
  void label(double x, const std::string& text) {
    page_.add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
              chart_height - 26, html_escape(text));
  }

 private:
  void add_grid() {
    const double span = most_ - least_;
    double step = std::pow(10, std::floor(std::log10(span)));
    if (span / step < 3) step /= 4;
    if (span / step > 9) step *= 2;
    for (double value = std::ceil(least_ / step) * step; value <= most_; value += step) {
      const bool zero = std::abs(value) < step / 2;
      page_.add(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" "
          "stroke-opacity=\"{3}\"{4}/><text x=\"{5}\" y=\"{6:.1f}\" "
          "text-anchor=\"end\">{7:.{8}f} %</text>\n",
          left, chart_width - 8, y(value), zero ? 0.8 : 0.15,
          zero ? " stroke-dasharray=\"5 4\"" : "", left - 6, y(value) + 4, zero ? 0.0 : value * 100,
          zero ? 0 : decimals_of(step * 100));
    }
  }

  Page& page_;
  double least_ = 0;
  double most_ = 0;
};

/// A box from the 25th to the 75th percentile with its median, whiskers to the extremes.
void add_box(Page& page, const Frame& frame, double x, double width, std::vector<double> values,
             bool filled) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return quantile(values, share); };
  page.add(
      "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\"/>",
      x, frame.y(at(1)), frame.y(at(0)));
  page.add(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
      "stroke=\"currentColor\"/>",
      x - width / 2, frame.y(at(0.75)), width, std::max(1.0, frame.y(at(0.25)) - frame.y(at(0.75))),
      filled ? "#999" : "#fff");
  page.add(
      "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#c2410c\" "
      "stroke-width=\"2\"/>\n",
      x - width / 2, x + width / 2, frame.y(at(0.5)), frame.y(at(0.5)));
}

void add_relative(Page& page, const QosRecord& record) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> kinds;
  double least = 0, most = 0;
  for (const QosJob& job : record.jobs) {
    kinds[job.kind].first.push_back(job.default_of_isolation);
    kinds[job.kind].second.push_back(job.controlled_of_isolation);
    least = std::min({least, job.default_of_isolation, job.controlled_of_isolation});
    most = std::max({most, job.default_of_isolation, job.controlled_of_isolation});
  }
  Frame frame(page,
              {.title = "Work relative to isolation: default (grey) and controlled (white)",
               .x = "kind of job",
               .y = "work against isolation"},
              least, most);
  const auto count = static_cast<double>(kinds.size());
  double i = 0;
  for (const auto& [kind, values] : kinds) {
    const double x = Frame::x(i++, count);
    const double width = std::min(48.0, Frame::width(count) / 4);
    add_box(page, frame, x - width * 0.7, width, values.first, true);
    add_box(page, frame, x + width * 0.7, width, values.second, false);
    frame.label(x, kind);
  }
}

void add_improvements(Page& page, const QosRecord& record) {
  std::vector<double> sorted;
  for (const QosJob& job : record.jobs) sorted.push_back(job.improvement);
  std::sort(sorted.rbegin(), sorted.rend());
  Frame frame(page,
              {.title = "Improvement over default of each job, from best to worst",
               .x = "jobs, the best first",
               .y = "improvement over default"},
              sorted.back(), sorted.front());
  const auto count = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double y = frame.y(sorted[i]);
    page.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
             Frame::x(static_cast<double>(i), count) - Frame::width(count) * 0.4,
             std::min(y, frame.y(0)), Frame::width(count) * 0.8,
             std::max(0.5, std::abs(frame.y(0) - y)), sorted[i] >= 0 ? "#2563eb" : "#c2410c");
  }
}

void add_steps(Page& page, const QosRecord& record) {
  if (record.steps.size() < 2) return;
  double least = 0, most = 0;
  for (const QosStep& step : record.steps) {
    least = std::min(least, step.improvement);
    most = std::max(most, step.improvement);
  }
  Frame frame(page,
              {.title = "Improvement against accepted configurations (Fig. 16)",
               .x = "accepted configurations",
               .y = "improvement over default"},
              least, most);
  const auto count = static_cast<double>(record.steps.size());
  std::string points;
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    points += fmt::format("{:.1f},{:.1f} ", Frame::x(static_cast<double>(i), count),
                          frame.y(record.steps[i].improvement));
    const std::size_t each = record.steps.size() / 12 + 1;
    if (i % each == 0) {
      frame.label(Frame::x(static_cast<double>(i), count),
                  fmt::format("{}", record.steps[i].accepted));
    }
  }
  page.add("<polyline points=\"{}\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\"/>\n",
           points);
}

/// A table whose cells are escaped.
void add_titled_table(Page& page, const std::string& title, const std::vector<std::string>& head,
                      const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return;
  page.add("<section><h2>{}</h2>\n", html_escape(title));
  add_table(page, head, rows);
  page.raw("</section>\n");
}

void add_trade_offs(Page& page, const QosRecord& record) {
  std::vector<std::string> head = {"levels"};
  for (const QosJob& job : record.jobs) head.push_back(job.name);
  head.emplace_back("trade-off");
  std::vector<std::vector<std::string>> rows;
  for (const QosTradeOff& t : record.trade_offs) {
    auto& row = rows.emplace_back(std::vector<std::string>{t.levels});
    for (const double of_alone : t.of_alone) row.push_back(fmt::format("{:.1f} %", of_alone * 100));
    row.emplace_back(t.is_best ? "best" : "");
  }
  add_titled_table(page, "Work with levels by hand and by the controller, of each job's work alone",
                   head, rows);
}

/// Charts side by side, as many as fit.
constexpr const char* grid_begin =
    "<div class=\"charts\" style=\"grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),"
    "1fr))\">\n";

void add_network(Page& page, const QosRecord& record) {
  if (record.network.empty()) return;
  page.raw("<section><h2>Load of links, first placement, last window</h2>\n");
  page.raw(
      "<p class=\"reading\">Hosts are below, the highest switches on top. A line is one direction "
      "of a cable: grey where it carried nothing, yellow where half of what it could, red where "
      "all. Its title says how much.</p>\n");
  // Before and after side by side.
  page.raw("<div class=\"charts\" style=\"grid-template-columns:repeat(2,minmax(0,1fr))\">\n");
  page.raw(qos_drawings(record.network));
  page.raw("</div></section>\n");
}

void add_tables(Page& page, const QosRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const QosPublished& p : record.published) rows.push_back({p.what, p.paper, p.ours});
  add_titled_table(page, "The paper's figures beside ours", {"figure", "paper 5", "here"}, rows);
  rows.clear();
  for (const QosLinkLoad& l : record.loads) {
    rows.push_back({fmt::format("{}, level {}", l.links, l.level), fmt::format("{}", l.weight),
                    fmt::format("{:.1f} %", l.before * 100),
                    fmt::format("{:.1f} %", l.after * 100)});
  }
  add_titled_table(page, "Load of links by level, first placement, last window",
                   {"links", "weight", "default", "controlled"}, rows);
  add_trade_offs(page, record);
  rows.clear();
  for (const QosJob& job : record.jobs) {
    rows.push_back({job.name, job.kind, fmt::format("{}", job.placement),
                    as_change(job.default_of_isolation), as_change(job.controlled_of_isolation),
                    as_change(job.improvement)});
  }
  add_titled_table(
      page, "Jobs",
      {"job", "kind", "placement", "default of isolation", "controlled", "improvement"}, rows);
}

}  // namespace

std::string qos_page(const QosRecord& record) {
  std::vector<double> improvements;
  double sum = 0;
  for (const QosJob& job : record.jobs) {
    improvements.push_back(job.improvement);
    sum += job.improvement;
  }
  const auto quantiles = quantiles_of(improvements).value_or(Quantiles());
  Page page;
  // Drawings of networks have use for all there is.
  begin_page(page, "Service levels", "<body style=\"max-width:none\">\n");
  page.add(
      "<h1>{} on {}</h1>\n<p class=\"summary\">{}: {}, {}, seed {}. Improvement over default: "
      "median {}, "
      "mean {}, best {}, worst {}; the last change came after {}.</p>\n</header>\n<main>\n",
      html_escape(record.controller), html_escape(record.scenario), html_escape(record.topology),
      counted(record.placements, "placement", "placements"),
      counted(record.iterations, "iteration", "iterations"), record.seed,
      as_change(quantiles.median),
      as_change(sum / static_cast<double>(std::max<std::size_t>(record.jobs.size(), 1))),
      as_change(quantiles.max), as_change(quantiles.min),
      counted(record.iterations_to_best, "iteration", "iterations"));
  if (!record.absent_jobs.empty()) {
    page.add("<p>Not simulated, since they arrive after the last iteration: {}.</p>\n",
             html_escape(fmt::format("{}", fmt::join(record.absent_jobs, ", "))));
  }
  page.raw("<section><h2>Work of the jobs</h2>\n");
  page.raw(grid_begin);
  add_relative(page, record);
  add_improvements(page, record);
  add_steps(page, record);
  page.raw("</div></section>\n");
  add_network(page, record);
  add_tables(page, record);
  return end_page(page, record.command);
}

}  // namespace weft::report
