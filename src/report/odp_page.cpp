// SPDX-License-Identifier: Apache-2.0
#include "report/odp_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.hpp"
#include "report/page_parts.hpp"

namespace weft::report {
namespace {

constexpr double width = 640, height = 240, frame_left = 88, right = 48, top = 10,
                 frame_bottom = 40;
constexpr const char* ink = "#2563eb";
constexpr const char* warm = "#c2410c";
// Pictures fill the page, so that nothing that matters is out of sight; as they shrink and grow
// with the screen, letters do the opposite.
constexpr const char* letters =
    "<style>.drawn{display:block;width:100%;height:auto;font-size:8px}"
    "@media(max-width:60rem){.drawn{font-size:11px}}"
    "@media(max-width:32rem){.drawn{font-size:17px}}</style>\n";

std::string time_text(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.4g} ms", us / 1e3);
  return fmt::format("{:.3g} us", us);
}

/// A chart with both axes from zero; values beyond the axes are the caller's mistake.
class StepChart {
 public:
  StepChart(Page& page, const std::string& title, const std::string& x_name,
            const std::string& y_name, double x_most, double y_most)
      : page_(page), x_most_(std::max(x_most, 1e-9)), y_most_(std::max(y_most, 1e-9)) {
    page_.add(
        "<figure style=\"margin-inline:0\"><figcaption>{0}</figcaption>\n<div class=\"scroll\" "
        "tabindex=\"0\"><svg "
        "viewBox=\"0 0 {1} {2}\" class=\"drawn\" role=\"img\" aria-label=\"{0}\" "
        "fill=\"currentColor\" stroke=\"none\">\n",
        html_escape(title), width, height);
    page_.add("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", width - right, height - 6,
              html_escape(x_name));
    page_.add("<text x=\"4\" y=\"{}\">{}</text>\n", height - 6, html_escape(y_name));
  }
  ~StepChart() { page_.raw("</svg></div></figure>\n"); }
  StepChart(const StepChart&) = delete;
  StepChart& operator=(const StepChart&) = delete;

  double x(double value) const {
    return frame_left + value / x_most_ * (width - frame_left - right);
  }
  double y(double value) const {
    return height - frame_bottom - value / y_most_ * (height - top - frame_bottom);
  }
  template <class Text>
  void x_mark(double value, Text&& text) {
    page_.add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(value),
              height - frame_bottom + 16, html_escape(text));
  }
  void y_mark(double value, const std::string& text) {
    page_.add(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\"0.2\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        frame_left, width - right, y(value), frame_left - 6, y(value) + 4, html_escape(text));
  }
  void times_below() {
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      x_mark(share * x_most_, time_text(share * x_most_));
    }
  }
  void counts_beside() {
    const double most = y_most_ / 1.05;
    for (const double share : {0.0, 0.5, 1.0})
      y_mark(share * most, fmt::format("{:.4g}", share * most));
  }
  Page& page() { return page_; }

 private:
  Page& page_;
  double x_most_;
  double y_most_;
};

void add_completions(Page& page, const OdpRecord& record) {
  if (record.completed_us.size() < 2) return;
  const double last = *std::max_element(record.completed_us.begin(), record.completed_us.end());
  const auto count = static_cast<double>(record.completed_us.size());
  StepChart chart(page, "When each operation completed", "time", "operation", last, count);
  chart.times_below();
  for (const double share : {0.0, 0.5, 1.0}) {
    chart.y_mark(share * count, fmt::format("{:.0f}", share * count));
  }
  // More points than pixels tell nothing.
  const std::size_t each = record.completed_us.size() / 2'000 + 1;
  for (std::size_t i = 0; i < record.completed_us.size(); i += each) {
    page.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>\n",
             chart.x(record.completed_us[i]), chart.y(static_cast<double>(i) + 0.5), ink);
  }
}

void add_line(StepChart& chart, const std::vector<std::uint64_t>& values, double step,
              const char* colour) {
  std::string points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double from = static_cast<double>(i) * step;
    const double y = chart.y(static_cast<double>(values[i]));
    points +=
        fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", chart.x(from), y, chart.x(from + step), y);
  }
  chart.page().add("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                   points, colour);
}

void add_packets(Page& page, const OdpRecord& record) {
  if (record.requests.empty()) return;
  std::uint64_t most = 1;
  for (const auto* of : {&record.requests, &record.responses}) {
    for (const std::uint64_t n : *of) most = std::max(most, n);
  }
  StepChart chart(page,
                  fmt::format("Packets in each {}: requests (blue), responses (orange)",
                              time_text(record.step_us)),
                  "time", "packets", record.step_us * static_cast<double>(record.requests.size()),
                  static_cast<double>(most) * 1.05);
  chart.times_below();
  chart.counts_beside();
  add_line(chart, record.requests, record.step_us, ink);
  add_line(chart, record.responses, record.step_us, warm);
}

void add_trials(Page& page, const OdpRecord& record) {
  if (record.executions_us.size() < 2) return;
  constexpr std::size_t bins = 40;
  const double longest =
      *std::max_element(record.executions_us.begin(), record.executions_us.end());
  std::vector<std::uint64_t> counts(bins);
  for (const double us : record.executions_us) {
    const auto bin = static_cast<std::size_t>(us / std::max(longest, 1e-9) * (bins - 1e-6));
    ++counts[std::min(bin, bins - 1)];
  }
  const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
  StepChart chart(page, "Execution times of the trials", "execution time", "trials", longest,
                  static_cast<double>(most) * 1.05);
  chart.times_below();
  chart.counts_beside();
  for (std::size_t i = 0; i < bins; ++i) {
    if (counts[i] == 0) continue;
    const double step = longest / bins;
    const double from = chart.x(static_cast<double>(i) * step);
    const double y = chart.y(static_cast<double>(counts[i]));
    page.add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
             from, y, std::max(2.0, chart.x(static_cast<double>(i + 1) * step) - from - 1),
             chart.y(0) - y, ink);
  }
}

void add_arrow(Page& page, const OdpArrow& arrow, double y, double client, double server) {
  const double from = arrow.from_client ? client : server;
  double to = arrow.from_client ? server : client;
  if (arrow.is_lost) to = from + (to - from) * 0.15;
  const double back = to > from ? -7 : 7;
  const char* colour = arrow.is_lost || arrow.is_nak ? warm : ink;
  page.add("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", client - 10, y + 4,
           html_escape(time_text(arrow.at_us)));
  page.add(
      "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
      "stroke-width=\"1.5\"{4}/><path d=\"M{1:.1f} {2:.1f} l{5} -4 v8 z\" fill=\"{3}\"/>",
      from, to, y, colour, arrow.is_again ? " stroke-dasharray=\"5 3\"" : "", back);
  if (arrow.is_lost) {
    page.add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}, lost at the port</text>\n", to + 8, y + 4,
             html_escape(arrow.text));
  } else {
    page.add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
             (client + server) / 2, y - 4, html_escape(arrow.text));
  }
}

/// In front of an arrow: "12 packets left out, 3 ms later".
std::string gap_text(const OdpRecord& record, std::size_t i) {
  const OdpArrow& arrow = record.arrows[i];
  std::string text;
  if (arrow.left_out_before > 0) {
    text = fmt::format("{} packet{} left out", arrow.left_out_before,
                       arrow.left_out_before == 1 ? "" : "s");
  }
  if (i == 0) return text;
  const double later = arrow.at_us - record.arrows[i - 1].at_us;
  return fmt::format("{}{}{} later", text, text.empty() ? "" : ", ", time_text(later));
}

/// Pauses that matter, and packets that are left out, are told in a gap.
void add_sequence(Page& page, const OdpRecord& record) {
  if (record.arrows.empty()) return;
  constexpr double row = 24, client = 120, server = 520, pause_us = 100;
  const auto is_pause = [&](std::size_t i) {
    return i > 0 && record.arrows[i].at_us - record.arrows[i - 1].at_us >= pause_us;
  };
  const auto has_gap = [&](std::size_t i) {
    return is_pause(i) || record.arrows[i].left_out_before > 0;
  };
  double rows = 2;
  for (std::size_t i = 0; i < record.arrows.size(); ++i) rows += has_gap(i) ? 2 : 1;
  const double tall = rows * row;
  page.add(
      "<section><h2>Workflow</h2>\n<p>Packets at the client's port; dashed ones had been sent "
      "before.{}</p>\n<div class=\"scroll\" tabindex=\"0\"><svg viewBox=\"0 0 {} {}\" "
      "class=\"drawn\" role=\"img\" aria-label=\"Sequence diagram of the packets\" "
      "fill=\"currentColor\" stroke=\"none\">\n",
      record.arrows_left_out > 0
          ? fmt::format(" {} packets are left out, where a gap says so and behind the last one.",
                        record.arrows_left_out)
          : "",
      width, tall);
  for (const auto& [x, name] : {std::pair(client, "client"), std::pair(server, "server")}) {
    page.add(
        "<text x=\"{0}\" y=\"14\" text-anchor=\"middle\" font-weight=\"bold\">{1}</text><line "
        "x1=\"{0}\" x2=\"{0}\" y1=\"20\" y2=\"{2}\" stroke=\"currentColor\"/>\n",
        x, name, tall);
  }
  double y = row * 1.75;
  for (std::size_t i = 0; i < record.arrows.size(); ++i) {
    if (has_gap(i)) {
      page.add(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
          "font-style=\"italic\">{}</text>\n",
          (client + server) / 2, y + 4, html_escape(gap_text(record, i)));
      y += row;
    }
    add_arrow(page, record.arrows[i], y, client, server);
    y += row;
  }
  page.raw("</svg></div></section>\n");
}

}  // namespace

std::string odp_page(const OdpRecord& record) {
  Page page;
  begin_page(page, "On-demand paging");
  page.add("<h1>{}</h1>\n<p class=\"summary\">{}</p>\n</header>\n<main>\n",
           html_escape(record.title), html_escape(record.summary));
  page.raw(letters);
  page.raw("<section>\n");
  add_trials(page, record);
  add_completions(page, record);
  add_packets(page, record);
  page.raw("</section>\n");
  page.raw("<section><h2>Figures</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<tbody>\n");
  for (const auto& [name, value] : record.facts) {
    page.add("<tr><th scope=\"row\" {2}>{0}</th><td {2}>{1}</td></tr>\n", html_escape(name),
             html_escape(value), "style=\"white-space:normal\"");
  }
  page.raw("</tbody>\n</table></div></section>\n");
  add_sequence(page, record);
  return end_page(page, record.command);
}

}  // namespace weft::report
