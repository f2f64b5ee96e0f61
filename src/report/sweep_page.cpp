// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "report/html.hpp"
#include "report/page_parts.hpp"

namespace weft::report {
namespace {

constexpr double plot_width = 560;
constexpr double plot_height = 320;
constexpr double margin_left = 64;
constexpr double margin_right = 14;
constexpr double margin_top = 12;
constexpr double margin_bottom = 46;
constexpr std::size_t colours = 8;
constexpr int model_samples = 60;
/// Values that differ more are drawn on a logarithmic axis.
constexpr double linear_up_to = 12;

std::string share_text(double share) {
  return fmt::format("{:.4g} %", share * 100);
}

/// Text for the page, in which a percentage keeps its sign on its line.
std::string prose(const std::string& text) {
  std::string html = html_escape(text);
  for (auto at = html.find(" %"); at != std::string::npos; at = html.find(" %", at)) {
    html.replace(at, 1, "&nbsp;");
  }
  return html;
}

std::string added(double latency_us) {
  return latency_us == 0 ? "+0" : fmt::format("+{:.4g} us", latency_us);
}

/// Numbers along one axis, and their places.
class Axis {
 public:
  Axis(double least, double most, double from, double to, bool logarithmic)
      : logarithmic_(logarithmic), from_(from), to_(to) {
    least_ = map(least);
    most_ = map(most);
    if (most_ <= least_) most_ = least_ + 1;
  }
  double operator()(double value) const {
    return from_ + (map(value) - least_) / (most_ - least_) * (to_ - from_);
  }

 private:
  double map(double value) const { return logarithmic_ ? std::log(value) : value; }

  bool logarithmic_;
  double from_, to_;
  double least_, most_;
};

/// Round numbers from one value to another, about five of them.
std::vector<double> ticks(double least, double most, bool logarithmic) {
  std::vector<double> values;
  if (logarithmic) {
    for (double power = std::pow(10, std::floor(std::log10(least))); power <= most; power *= 10) {
      for (const double digit : {1, 2, 5}) {
        const double value = power * digit;
        if (value >= least * 0.999 && value <= most * 1.001) values.push_back(value);
      }
    }
    return values;
  }
  const double span = most - least;
  double step = std::pow(10, std::floor(std::log10(span)));
  if (span / step < 2.5) step /= 5;
  if (span / step < 5) step /= 2;
  for (double k = std::ceil(least / step); k * step <= most * (1 + 1e-9); ++k) {
    values.push_back(k * step);
  }
  return values;
}

/// One curve: its points, and the network's other coordinate that they share.
struct Curve {
  std::string name;
  std::vector<std::pair<double, const SweepPagePoint*>> points;  // by place along x
  std::function<double(double)> model;                           // of x
};

struct Chart {
  std::string title;
  std::string x_title;
  std::function<std::string(double)> x_label;
  bool x_logarithmic = false;
  std::vector<Curve> curves;
};

class Drawing {
 public:
  Drawing(Page& page, const Chart& chart, const SweepRecord& record)
      : page_(page), chart_(chart), record_(record) {
    std::set<double> places;
    double least = record.points.front().low, most = record.points.front().high;
    for (const Curve& curve : chart.curves) {
      for (const auto& [x, point] : curve.points) {
        places.insert(x);
        least = std::min(least, point->low);
        most = std::max(most, point->high);
      }
    }
    xs_.assign(places.begin(), places.end());
    y_logarithmic_ = least > 0 && most / least > linear_up_to;
    least_ = y_logarithmic_ ? least / 1.1 : 0;
    most_ = y_logarithmic_ ? most * 1.1 : most * 1.06;
  }

  void draw() {
    page_.add("<div class=\"panel\"><h3>{}</h3>\n", html_escape(chart_.title));
    add_key();
    page_.add(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" aria-label=\"{2}\" "
        "style=\"display:block;width:100%;max-width:42rem;height:auto\" font-size=\"12\" "
        "fill=\"currentColor\" "
        "stroke=\"none\">\n",
        plot_width, plot_height, html_escape(chart_.title));
    const Axis x(xs_.front(), xs_.back(), margin_left + 10, plot_width - margin_right - 10,
                 chart_.x_logarithmic);
    const Axis y(least_, most_, plot_height - margin_bottom, margin_top, y_logarithmic_);
    add_grid(x, y);
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) {
      // Intervals at the same place lie beside each other, where each can be told.
      const auto count = static_cast<double>(chart_.curves.size());
      const double step = std::min(5.0, 24 / count);
      add_curve(chart_.curves[i], x, y, fmt::format("var(--run-{})", i % colours),
                (static_cast<double>(i) - (count - 1) / 2) * step);
    }
    page_.raw("</svg></div>\n");
  }

 private:
  void add_key() {
    page_.raw("<ul class=\"key\">");
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) {
      page_.add("<li><span class=\"sign shape-0 colour-{}\"></span>{}</li>", i % colours,
                html_escape(chart_.curves[i].name));
    }
    page_.raw(
        "<li><svg width=\"22\" height=\"8\"><line x1=\"0\" x2=\"22\" y1=\"4\" y2=\"4\" "
        "stroke=\"currentColor\" stroke-dasharray=\"4 3\"/></svg>model</li></ul>\n");
  }

  void add_grid(const Axis& x, const Axis& y) {
    for (const double value : ticks(least_, most_, y_logarithmic_)) {
      page_.add(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"var(--line)\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
          margin_left, plot_width - margin_right, y(value), margin_left - 8, y(value) + 4, value);
    }
    double last = -1e9;
    for (const double value : xs_) {
      page_.add(
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--line)\"/>\n",
          x(value), margin_top, plot_height - margin_bottom);
      // Labels of neighbours that are close would run into each other.
      if (x(value) - last < 40) continue;
      last = x(value);
      page_.add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(value),
                plot_height - margin_bottom + 18, html_escape(chart_.x_label(value)));
    }
    page_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", plot_width - margin_right,
              plot_height - 8, html_escape(chart_.x_title));
    page_.add(
        "<text x=\"14\" y=\"{0}\" text-anchor=\"middle\" "
        "transform=\"rotate(-90 14 {0})\">{1}</text>\n",
        (plot_height - margin_bottom + margin_top) / 2,
        html_escape(
            fmt::format("{} [{}]", record_.metric == "time" ? "time" : "metric", record_.unit)));
  }

  /// `beside`: how far its points are moved to the right.
  void add_curve(const Curve& curve, const Axis& x, const Axis& y, const std::string& colour,
                 double beside) {
    std::string line;
    for (int i = 0; xs_.size() > 1 && i <= model_samples; ++i) {
      const double share = static_cast<double>(i) / model_samples;
      const double at = chart_.x_logarithmic
                            ? xs_.front() * std::pow(xs_.back() / xs_.front(), share)
                            : xs_.front() + (xs_.back() - xs_.front()) * share;
      const double value = curve.model(at);
      if (!std::isfinite(value)) continue;
      line += fmt::format("{:.1f},{:.1f} ", x(at), y(std::clamp(value, least_, most_)));
    }
    page_.add("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-dasharray=\"4 3\"/>\n",
              line, colour);
    for (const auto& [place, point] : curve.points) {
      page_.add(
          "<g stroke=\"{0}\"><title>{1}, {2}: {3:.5g} {4}, {5:.5g} to {6:.5g}</title>"
          "<path d=\"M{7:.1f} {8:.1f}V{9:.1f}M{10:.1f} {8:.1f}h8M{10:.1f} {9:.1f}h8\" "
          "fill=\"none\"/><circle cx=\"{7:.1f}\" cy=\"{11:.1f}\" r=\"3.5\" fill=\"{0}\"/></g>\n",
          colour, added(point->latency_us), share_text(point->bandwidth), point->median,
          html_escape(record_.unit), point->low, point->high, x(place) + beside, y(point->low),
          y(point->high), x(place) + beside - 4, y(point->median));
    }
  }

  Page& page_;
  const Chart& chart_;
  const SweepRecord& record_;
  std::vector<double> xs_;
  double least_ = 0, most_ = 1;
  bool y_logarithmic_ = false;
};

struct Grid {
  std::vector<double> latencies;   // ascending
  std::vector<double> bandwidths;  // descending
};

Grid grid_of(const SweepRecord& record) {
  std::set<double> latencies;
  std::set<double, std::greater<>> bandwidths;
  for (const SweepPagePoint& point : record.points) {
    latencies.insert(point.latency_us);
    bandwidths.insert(point.bandwidth);
  }
  return {{latencies.begin(), latencies.end()}, {bandwidths.begin(), bandwidths.end()}};
}

Chart by_latency(const SweepRecord& record, const Grid& grid) {
  Chart chart{.title = "Against latency",
              .x_title = "latency added, one way",
              .x_label = [](double us) { return added(us); }};
  for (const double bandwidth : grid.bandwidths) {
    Curve curve{.name = share_text(bandwidth) + " bandwidth", .points = {}, .model = {}};
    for (const SweepPagePoint& p : record.points) {
      if (p.bandwidth == bandwidth) curve.points.emplace_back(p.latency_us, &p);
    }
    curve.model = [&record, bandwidth](double us) { return record.model(us, bandwidth); };
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

/// Against the inverse of the bandwidth: both charts are slower to the margin_right.
Chart by_bandwidth(const SweepRecord& record, const Grid& grid) {
  Chart chart{.title = "Against bandwidth",
              .x_title = "bandwidth, logarithmic",
              .x_label = [](double inverse) { return share_text(1 / inverse); },
              .x_logarithmic = true};
  for (const double latency_us : grid.latencies) {
    Curve curve{.name = added(latency_us), .points = {}, .model = {}};
    for (const SweepPagePoint& p : record.points) {
      if (p.latency_us == latency_us) curve.points.emplace_back(1 / p.bandwidth, &p);
    }
    curve.model = [&record, latency_us](double g) { return record.model(latency_us, 1 / g); };
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

/// The slow-down of each network, darker with its logarithm.
void add_heat_map(Page& page, const SweepRecord& record, const Grid& grid) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<double>> values;
  double worst = 1.1;
  for (const double latency_us : grid.latencies) {
    std::vector<std::string> row{added(latency_us)};
    std::vector<double> of_row{1};
    for (const double bandwidth : grid.bandwidths) {
      for (const SweepPagePoint& p : record.points) {
        if (p.latency_us != latency_us || p.bandwidth != bandwidth) continue;
        row.push_back(fmt::format("{:.{}f}×", p.slow_down, p.slow_down < 9.995 ? 2 : 1));
        of_row.push_back(p.slow_down);
        worst = std::max(worst, p.slow_down);
      }
    }
    rows.push_back(std::move(row));
    values.push_back(std::move(of_row));
  }
  std::vector<std::string> head{"latency \\ bandwidth"};
  for (const double bandwidth : grid.bandwidths) head.push_back(share_text(bandwidth));
  page.raw(
      "<section><h2>Slow-down on each network</h2>\n<p class=\"reading\">Times as slow as on "
      "the fastest network that was tried.</p>\n");
  add_table(page, head, rows, [&](std::size_t r, std::size_t c) {
    const double share = std::log(std::max(values[r][c], 1.0)) / std::log(worst);
    return fmt::format(
        "background:color-mix(in srgb, var(--run-1) {:.0f}%, "
        "var(--surface))",
        share * 45);
  });
  page.raw("</section>\n");
}

void add_needs(Page& page, const SweepRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const SweepNeed& need : record.rows) {
    rows.push_back({need.slow_down, need.latency, need.bandwidth});
  }
  page.raw("<section><h2>What it tolerates</h2>\n");
  add_table(page, {"slow-down", "latency it tolerates", "bandwidth it needs"}, rows);
  page.raw("</section>\n");
  if (record.predictions.empty()) return;
  rows.clear();
  for (const auto& [network, value] : record.predictions) rows.push_back({network, value});
  page.raw(
      "<section><h2>Predictions of the model</h2>\n<p class=\"reading\">On a faster network "
      "the true time is at least the predicted one.</p>\n");
  add_table(page, {"network", "predicted"}, rows);
  page.raw("</section>\n");
}

void add_points(Page& page, const SweepRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const SweepPagePoint& p : record.points) {
    rows.push_back({added(p.latency_us) + ", " + share_text(p.bandwidth),
                    fmt::format("{:.5g}", p.median), fmt::format("{:.5g}", p.low),
                    fmt::format("{:.5g}", p.high),
                    fmt::format("± {:.1f} %{}", (p.high - p.low) / 2 / p.median * 100,
                                p.is_precise ? "" : " (uncertain)"),
                    fmt::format("{:.5g}", record.model(p.latency_us, p.bandwidth)),
                    fmt::format("{}", p.runs), fmt::format("{}", p.rejected)});
  }
  page.raw(
      "<section><h2>Measured</h2>\n<p class=\"reading\">Medians of the runs beside which "
      "nothing else used the machine, and the interval that covers the true median with 95 % "
      "confidence from six runs on.</p>\n");
  const std::string unit = fmt::format("median [{}]", record.unit);
  add_table(page, {"network", unit, "low", "high", "known to", "model", "runs", "rejected"}, rows);
  page.raw("</section>\n");
}

}  // namespace

std::string sweep_page(const SweepRecord& record) {
  const Grid grid = grid_of(record);
  Page page;
  begin_page(page, "Sensitivity of " + record.program);
  page.add("<h1>Sensitivity of {}</h1>\n<p class=\"summary\">{}</p>\n", html_escape(record.program),
           prose(record.needs));
  for (const std::string& warning : record.warnings) {
    page.add("<p><span class=\"verdict bad\">{}</span></p>\n", prose(warning));
  }
  page.raw("</header>\n<main>\n<section><dl class=\"facts\">\n");
  for (const auto& [name, value] : record.facts) add_fact(page, html_escape(name), value);
  page.raw("</dl></section>\n<section><div class=\"charts panels\">\n");
  const Chart latency = by_latency(record, grid);
  const Chart bandwidth = by_bandwidth(record, grid);
  if (grid.latencies.size() > 1) Drawing(page, latency, record).draw();
  if (grid.bandwidths.size() > 1) Drawing(page, bandwidth, record).draw();
  page.raw("</div></section>\n");
  add_heat_map(page, record, grid);
  add_needs(page, record);
  add_points(page, record);
  return end_page(page, record.command);
}

}  // namespace weft::report
