// SPDX-License-Identifier: Apache-2.0
// The page about a simulated network. All text and tables are plain HTML, readable without scripts;
// web/network.js fills the chart boxes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "base/check.hpp"
#include "report/assets.hpp"
#include "report/html.hpp"
#include "report/network_drawing.hpp"
#include "report/page_parts.hpp"
#include "report/report.hpp"
#include "report/words.hpp"

namespace weft::report {
namespace {

constexpr std::size_t most_listed_links = 12;

std::string as_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit > 0 && bytes < 100 ? 1 : 0, units[unit]);
}

std::string run_name(const NetworkRecord& record, const NetworkRun& run) {
  return record.runs.size() > 1 && !run.name.empty() ? run.name : std::string();
}

template <class Value>
std::uint32_t greatest(const NetworkRun& run, Value value) {
  std::uint32_t best = 0;
  for (std::uint32_t l = 1; l < run.links.size(); ++l) {
    if (value(l) > value(best)) best = l;
  }
  return best;
}

/// One line about a run.
std::string line_of(const NetworkRecord& record, const NetworkRun& run) {
  const NetworkTopology& t = record.topology;
  const std::uint32_t busiest =
      greatest(run, [&](std::uint32_t l) { return run.links[l].utilisation; });
  // Packets that wait at a host are in its memory, not in a buffer of the network.
  const std::uint32_t awaited = greatest(run, [&](std::uint32_t l) {
    return t.vertices[t.links[l].from].host ? -1.0 : run.links[l].queue_mean_bytes;
  });
  const std::string name = run_name(record, run);
  std::string text = name.empty() ? "" : name + ": ";
  text += fmt::format("{} simulated; busiest link {}, {}", as_time(run.end_us),
                      link_name(t, busiest), as_percent(run.links[busiest].utilisation));
  const LinkLoad& queue = run.links[awaited];
  if (t.vertices[t.links[awaited].from].host || queue.queue_peak_bytes == 0) {
    text += "; no packet waited in a switch";
  } else {
    text += fmt::format("; longest queue for {}, {} on average", link_name(t, awaited),
                        as_bytes(queue.queue_mean_bytes));
  }
  return text;
}

std::string title_of(const NetworkTopology& t) {
  const char* shape = t.shape == "star"        ? "star"
                      : t.shape == "fat-tree"  ? "fat tree"
                      : t.shape == "dragonfly" ? "dragonfly"
                      : t.shape == "torus"     ? "torus"
                                               : "network";
  return fmt::format("A {} of {}, simulated", shape, counted(host_count(t), "host", "hosts"));
}

void add_summary(Page& page, const NetworkRecord& record, const std::string& title) {
  const NetworkTopology& t = record.topology;
  const std::size_t hosts = host_count(t);
  page.add("<h1>{}</h1>\n<p class=\"summary\">{}: {}, {} and {}, routed by {}.", html_escape(title),
           html_escape(t.name), counted(hosts, "host", "hosts"),
           counted(t.vertices.size() - hosts, "switch", "switches"),
           counted(t.links.size() / 2, "cable", "cables"), html_escape(t.router));
  page.raw("</p>\n<ul class=\"summary\">\n");
  for (const NetworkRun& run : record.runs) {
    if (!run.links.empty()) page.add("<li>{}</li>\n", html_escape(line_of(record, run)));
  }
  page.raw("</ul>\n</header>\n<main>\n");
}

void add_messages(Page& page, const NetworkRecord& record) {
  page.raw(R"(<section aria-labelledby="messages-title">
<h2 id="messages-title">Messages</h2>
<p class="reading">From a message's posting at its host to the arrival of its last byte (flow
completion time); quantiles to within 6 %. A stream's numbers include its schedule's own messages,
such as grants.</p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="messages-title">
<table class="runs">
<thead><tr><th scope="col">Messages of</th><th scope="col">Arrived</th><th scope="col">Bytes</th>
<th scope="col">Shortest</th><th scope="col">Median</th><th scope="col">90 %</th>
<th scope="col">99 %</th><th scope="col">Longest</th></tr></thead>
<tbody>
)");
  for (const NetworkRun& run : record.runs) {
    const std::string of = run_name(record, run);
    for (const MessageFigures& m : run.messages) {
      page.add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
               html_escape(of.empty() ? m.name : of + ": " + m.name), with_thousands(m.messages),
               as_bytes(static_cast<double>(m.bytes)));
      const LatencyQuantiles& q = m.latency_us;
      for (const double value : {q.min, q.median, q.p90, q.p99, q.max}) {
        page.add("<td>{}</td>", as_time(value));
      }
      page.raw("</tr>\n");
    }
  }
  page.raw("</tbody>\n</table>\n</div>\n</section>\n");
}

void add_links(Page& page, const NetworkRecord& record, const NetworkRun& run, std::size_t number) {
  const std::string name = run_name(record, run);
  std::vector<std::uint32_t> order(run.links.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t shown = std::min(order.size(), most_listed_links);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      const double x = run.links[a].utilisation, y = run.links[b].utilisation;
                      return x != y ? x > y : a < b;
                    });
  page.add(
      "<h3 id=\"links-{0}\">{1}</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-labelledby=\"links-{0}\">\n<table>\n<thead><tr><th scope=\"col\">Link</th>"
      "<th scope=\"col\">Rate</th><th scope=\"col\">Busy</th><th scope=\"col\">Packets</th>"
      "<th scope=\"col\">Bytes</th><th scope=\"col\">Queue, mean</th>"
      "<th scope=\"col\">Queue, peak</th></tr></thead>\n<tbody>\n",
      number,
      name.empty() ? std::string("The busiest links") : "The busiest links, " + html_escape(name));
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkLoad& l = run.links[order[i]];
    page.add(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        html_escape(link_name(record.topology, order[i])),
        as_rate(record.topology.links[order[i]].rate_bytes_per_s), as_percent(l.utilisation),
        with_thousands(l.packets), as_bytes(static_cast<double>(l.bytes)),
        as_bytes(l.queue_mean_bytes), as_bytes(static_cast<double>(l.queue_peak_bytes)));
  }
  page.raw("</tbody>\n</table>\n</div>\n");
}

/// The load of one service level on all links.
struct LevelTotals {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  double waited_us = 0;
  std::uint32_t busiest = 0;  ///< the link with most bytes of it
  std::uint64_t most_bytes = 0;
};

std::map<std::uint8_t, LevelTotals> level_totals(const NetworkRun& run) {
  std::map<std::uint8_t, LevelTotals> totals;
  for (std::uint32_t l = 0; l < run.links.size(); ++l) {
    for (const LevelLoad& v : run.links[l].levels) {
      LevelTotals& of = totals[v.level];
      of.packets += v.packets;
      of.bytes += v.bytes;
      of.waited_us += v.waited_us;
      if (v.bytes <= of.most_bytes) continue;
      of.most_bytes = v.bytes;
      of.busiest = l;
    }
  }
  return totals;
}

/// Only where there are several: of one, the table of links says it all.
void add_levels(Page& page, const NetworkRecord& record) {
  const auto several = [](const NetworkRun& run) { return level_totals(run).size() > 1; };
  if (std::none_of(record.runs.begin(), record.runs.end(), several)) return;
  page.raw(R"(<section aria-labelledby="levels-title">
<h2 id="levels-title">Service levels</h2>
<p class="reading">What all links did for each level. A packet waits at its host from the posting of
its message, and in the buffers of every switch that it crosses.</p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="levels-title">
<table class="levels">
<thead><tr><th scope="col">Level</th><th scope="col">Packets, over all links</th>
<th scope="col">Bytes, over all links</th><th scope="col">Wait of a packet for a link, mean</th>
<th scope="col">Most used link</th><th scope="col">Bytes there</th></tr></thead>
<tbody>
)");
  for (const NetworkRun& run : record.runs) {
    const std::string of = run_name(record, run);
    for (const auto& [level, t] : level_totals(run)) {
      page.add(
          "<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "</tr>\n",
          of.empty() ? "" : html_escape(of) + ": ", level, with_thousands(t.packets),
          as_bytes(static_cast<double>(t.bytes)),
          as_time(t.packets == 0 ? 0 : t.waited_us / static_cast<double>(t.packets)),
          html_escape(link_name(record.topology, t.busiest)),
          as_bytes(static_cast<double>(t.most_bytes)));
    }
  }
  page.raw("</tbody>\n</table>\n</div>\n</section>\n");
}

struct NetworkFigure {
  const char* id;
  const char* title;
  const char* reading;
  bool (*applies)(const NetworkRecord& record);
};

bool any_series(const NetworkRecord& record, bool from_host) {
  for (const NetworkRun& run : record.runs) {
    for (const LinkSeries& s : run.series) {
      const bool host = record.topology.vertices[record.topology.links[s.link].from].host;
      if (host == from_host && run.links[s.link].queue_mean_bytes > 0) return true;
    }
  }
  return false;
}
template <class Test>
bool any_messages(const NetworkRecord& record, Test test) {
  return std::any_of(record.runs.begin(), record.runs.end(), [&](const NetworkRun& run) {
    return std::any_of(run.messages.begin(), run.messages.end(), test);
  });
}

constexpr NetworkFigure network_figures[] = {
    {"topology", "The network and the load of its links",
     "Each half of a line is one direction, away from the vertex that it touches: its colour says "
     "for which share of the time that direction was busy. Parallel cables are one line with the "
     "load of the busiest.",
     [](const NetworkRecord& r) { return !r.topology.links.empty(); }},
    {"load", "How the load is spread over the links",
     "All links of a kind, the busiest first. A level line means that the load is shared evenly; a "
     "steep beginning that a few links carry most of it.",
     [](const NetworkRecord& r) { return !r.topology.links.empty(); }},
    {"queues", "What waits in switches, over time",
     "Bytes in buffers of switches that wait for a link, on average within each step; the links "
     "with most of it. Where it stays strong a link was asked for more than it could carry.",
     [](const NetworkRecord& r) { return any_series(r, false); }},
    {"busy", "How busy links are, over time", "The busiest links, and their share of each step.",
     [](const NetworkRecord& r) {
       return std::any_of(r.runs.begin(), r.runs.end(), [](const NetworkRun& run) {
         return std::any_of(run.links.begin(), run.links.end(),
                            [](const LinkLoad& l) { return l.utilisation > 0; });
       });
     }},
    {"backlog", "What waits at hosts, over time",
     "Bytes of messages that have been posted and not yet sent; the hosts with most of it. It is "
     "memory of the hosts, not of the network.",
     [](const NetworkRecord& r) { return any_series(r, true); }},
    {"latency", "How long messages take",
     "The share of messages that had arrived after so long. Steeper and further to the left is "
     "better.",
     [](const NetworkRecord& r) {
       return any_messages(r, [](const MessageFigures& m) { return !m.buckets.empty(); });
     }},
    {"sizes", "How long messages of each size take",
     "By size, in powers of two: a thin line from the shortest to the longest time, a bar from the "
     "10th to the 90th percentile, a mark at the median.",
     [](const NetworkRecord& r) {
       return any_messages(r, [](const MessageFigures& m) { return m.sizes.size() > 1; });
     }},
    {"flows", "Messages, one by one",
     "A sample of the messages: when each was posted, and how long "
     "it took.",
     [](const NetworkRecord& r) {
       return any_messages(r, [](const MessageFigures& m) { return !m.flows.empty(); });
     }},
};

/// The text about parts that a picture of the topology leaves out.
std::string left_out(const NetworkTopology& t) {
  std::string text;
  if (host_count(t) > most_drawn_hosts) text += " Only switches: there are too many hosts to draw.";
  if (t.links.size() > 2 * most_drawn_cables) {
    text += fmt::format(" At most {} cables, the busiest.", with_thousands(most_drawn_cables));
  }
  return text;
}

/// The text about short names at the axes of `figure`, if there are any.
std::string short_names(const NetworkTopology& t, std::string_view figure) {
  if (figure != "queues" && figure != "busy" && figure != "backlog") return {};
  const auto is_short = [](const NetworkVertex& v) { return short_name(v) != v.name; };
  if (std::none_of(t.vertices.begin(), t.vertices.end(), is_short)) return {};
  return " At the axis, h3 is host 3 and s12 is switch 12.";
}

void add_figures(Page& page, const NetworkRecord& record) {
  for (const NetworkFigure& figure : network_figures) {
    if (!figure.applies(record)) continue;
    page.add(
        "<section class=\"figure\" id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 "
        "id=\"{0}-title\">{1}</h2>\n<p class=\"reading\">{2}{3}</p>\n<div class=\"charts\"></div>\n"
        "</section>\n",
        figure.id, figure.title, figure.reading,
        std::string_view(figure.id) == "topology" ? left_out(record.topology)
                                                  : short_names(record.topology, figure.id));
  }
}

void add_origin(Page& page, const NetworkRecord& record) {
  page.raw(
      "<section aria-labelledby=\"origin-title\">\n<h2 id=\"origin-title\">How it was "
      "simulated</h2>\n");
  if (!record.command.empty()) add_command(page, record.command, "This command runs it again:");
  page.raw("<h3>The same again?</h3>\n<dl class=\"facts\">\n");
  add_fact(page, "Version", "weft " + record.version);
  add_fact(page, "Seed", fmt::format("{}", record.seed));
  for (const NetworkRun& run : record.runs) {
    const std::string name = run_name(record, run);
    add_fact(page, name.empty() ? "Trace hash" : "Trace hash, " + html_escape(name),
             run.trace_hash);
  }
  page.raw("</dl>\n");
  if (!record.parameters.empty()) {
    page.raw(R"(<h3 id="parameters-title">Parameters</h3>
<div class="scroll" tabindex="0" role="region" aria-labelledby="parameters-title">
<table class="parameters">
<tbody>
)");
    for (const auto& [name, value] : record.parameters) {
      page.add("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_escape(name),
               html_escape(value));
    }
    page.raw("</tbody>\n</table>\n</div>\n");
  }
  page.raw("</section>\n");
}

}  // namespace

std::string network_page(const NetworkRecord& record) {
  WEFT_CHECK(!record.runs.empty(), "a report is about at least one run");
  const std::string title = title_of(record.topology);
  Page page;
  begin_page(page, title);
  add_summary(page, record, title);
  add_messages(page, record);
  add_levels(page, record);
  add_figures(page, record);
  page.raw(
      "<section aria-labelledby=\"links-title\">\n<h2 id=\"links-title\">Links in figures</h2>"
      "\n");
  for (std::size_t i = 0; i < record.runs.size(); ++i) {
    add_links(page, record, record.runs[i], i);
  }
  page.raw("</section>\n");
  add_origin(page, record);
  page.raw("</main>\n<script type=\"application/json\" id=\"data\">");
  page.raw(json_for_script(drawing_of(record)));
  page.raw("</script>\n");
  add_charts(page, {chart_script(), page_script(), network_script()});
  return page.take();
}

}  // namespace weft::report
