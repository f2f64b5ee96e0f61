// SPDX-License-Identifier: Apache-2.0
// The page's parts, in the order a reader meets them. Everything that can be said without a chart
// is plain HTML, readable without scripts; web/charts.js fills the chart boxes.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "base/units.hpp"
#include "report/assets.hpp"
#include "report/html.hpp"
#include "report/page_parts.hpp"
#include "report/published.hpp"
#include "report/report.hpp"
#include "report/words.hpp"

namespace weft::report {
namespace {

using Runs = std::span<const RunRecord>;
using Labels = std::span<const std::string>;

constexpr std::string_view no_value = R"(<td class="none" title="not measured">–</td>)";

void add_cell(Page& page, const std::string& text) {
  page.add("<td>{}</td>", html_escape(text));
}

void add_optional_cell(Page& page, const std::optional<std::string>& text) {
  if (text) {
    add_cell(page, *text);
  } else {
    page.raw(no_value);
  }
}

/// Counts that ought to be 0 stand out when they are not.
void add_bad_count_cell(Page& page, std::uint64_t n) {
  page.add("<td{}>{}</td>", n == 0 ? "" : R"( class="bad")", with_thousands(n));
}

template <class T, class Format>
std::optional<std::string> formatted(const std::optional<T>& value, Format format) {
  if (!value) return std::nullopt;
  return format(*value);
}

void add_intro(Page& page, Runs runs, const std::string& title) {
  const Verdict verdict = verdict_of(runs);
  page.add("<h1>{}</h1>\n<p class=\"summary\">{}</p>\n", html_escape(title),
           html_escape(summary_of(runs)));
  if (!verdict.sentence.empty()) {
    page.add("<p class=\"verdict {}\"><span aria-hidden=\"true\">{}</span> {}</p>\n",
             verdict.good ? "good" : "bad", verdict.good ? "✓" : "✗",
             html_escape(verdict.sentence));
  }
  page.raw("</header>\n<main>\n");
}

/// The sign that stands for run number `i` in tables and keys; coloured and shaped by the style
/// sheet, so that neither colour nor shape alone has to tell. web/charts.js counts the same way.
std::string run_sign(std::size_t i) {
  return fmt::format(R"(<span class="sign colour-{} shape-{}" aria-hidden="true"></span>)", i % 8,
                     (i + i / 8) % 8);
}

void add_run_row(Page& page, const RunRecord& run, const std::string& label, std::size_t i) {
  page.add("<tr><th scope=\"row\">{}{}</th>", run_sign(i), html_escape(label));
  const auto& spread = run.spread_us;
  std::optional<double> factor;
  if (spread) factor = times_floor(run, spread->median);
  add_cell(page, as_rate(run.goodput_bytes_per_s));
  add_optional_cell(page, formatted(run.goodput_of_limit, as_percent));
  add_optional_cell(page, formatted(spread, [](const Quantiles& q) { return as_time(q.median); }));
  add_optional_cell(page, formatted(spread, [](const Quantiles& q) { return as_time(q.p90); }));
  add_optional_cell(page, formatted(factor, as_times));
  add_optional_cell(
      page, formatted(run.buffer_fill, [](const Quantiles& q) { return as_percent(q.median); }));
  add_cell(page, with_thousands(run.credit_waits));
  add_cell(page, with_thousands(run.timeslices_complete));
  add_bad_count_cell(page, run.timeslices_incomplete);
  add_bad_count_cell(page, run.timeslices_lost);
  add_bad_count_cell(page, run.checks.errors);
  page.raw("</tr>\n");
}

void add_run_table(Page& page, Runs runs, Labels labels) {
  page.add(R"(<section aria-labelledby="runs-title">
<h2 id="runs-title">{}</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="runs-title">
<table class="runs">
)",
           runs.size() > 1 ? "The runs side by side" : "The run in figures");
  page.raw(run_columns());
  page.raw("<tbody>\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!is_limit_run(runs[i])) add_run_row(page, runs[i], labels[i], i);
  }
  page.raw("</tbody>\n</table>\n</div>\n</section>\n");
}

/// The faults of a compute node: "kill host5 at 2 s".
std::string faults_of(const RunRecord& run, std::uint32_t compute) {
  const std::string host = fmt::format("host{}", run.inputs + compute);
  std::string text;
  for (const FaultMark& fault : run.faults) {
    const std::size_t at = fault.what.find(host);
    const std::size_t end = at + host.size();
    const bool is_its =
        at != std::string::npos && (end == fault.what.size() || std::isdigit(fault.what[end]) == 0);
    if (!is_its) continue;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", fault.what, as_time(fault.t_us));
  }
  return text;
}

/// Returns whether compute nodes came and went, or built timeslices again.
bool has_rebuilt(const RunRecord& run) {
  return !run.by_compute.empty() &&
         (!run.faults.empty() ||
          std::any_of(run.by_compute.begin(), run.by_compute.end(),
                      [](const ComputeRow& row) { return row.repeated > 0 || !row.reported; }));
}

void add_compute_row(Page& page, const RunRecord& run, const ComputeRow& row) {
  page.add("<tr><th scope=\"row\">compute {}, host{}</th>", row.compute, run.inputs + row.compute);
  add_cell(page, with_thousands(row.timeslices));
  std::uint64_t all = 0;
  for (const ComputeRow& other : run.by_compute) all += other.timeslices;
  add_optional_cell(page, all == 0 ? std::nullopt
                                   : std::optional(as_percent(static_cast<double>(row.timeslices) /
                                                              static_cast<double>(all))));
  add_cell(page, with_thousands(row.repeated));
  std::string story = faults_of(run, row.compute);
  if (!row.reported) story += story.empty() ? "did not live to the end" : "; gone at the end";
  page.add("<td class=\"words\">{}</td></tr>\n", story.empty() ? "–" : html_escape(story));
}

/// After a fault: which compute nodes built the timeslices, and which of them again.
void add_rebuilt(Page& page, Runs runs, Labels labels) {
  if (std::none_of(runs.begin(), runs.end(), has_rebuilt)) return;
  page.raw(R"(<section aria-labelledby="rebuilt-title">
<h2 id="rebuilt-title">What was built where</h2>
<p class="reading">Timeslices of a compute node that dies are built by the others. “Again” counts
timeslices that were flagged as repeated: a node that died may have delivered them already.</p>
)");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!has_rebuilt(runs[i])) continue;
    if (runs.size() > 1) page.add("<h3>{}{}</h3>\n", run_sign(i), html_escape(labels[i]));
    page.raw(R"(<div class="scroll" tabindex="0" role="region" aria-labelledby="rebuilt-title">
<table class="rebuilt">
<thead><tr><th scope="col">Compute node</th><th scope="col">Timeslices</th><th scope="col">Share</th>
<th scope="col">Again</th><th scope="col">What happened to it</th></tr></thead>
<tbody>
)");
    for (const ComputeRow& row : runs[i].by_compute) add_compute_row(page, runs[i], row);
    page.raw("</tbody>\n</table>\n</div>\n");
  }
  page.raw("</section>\n");
}

/// A section that web/charts.js fills: boxes for its charts and a table of the same numbers.
struct Figure {
  const char* id;
  const char* title;
  const char* paper;  ///< "Fig. 6", or empty
  const char* reading;
  bool (*applies)(const RunRecord& run);
};

constexpr Figure figures[] = {
    {"spread", "How long a timeslice takes to arrive", "Fig. 6",
     "Time from the first to the last contribution of a timeslice, as the run went on and in "
     "summary: a thin line from minimum to maximum, a bar from the 10th to the 90th percentile, a "
     "mark at the median. The dashed line is the floor: what contributions that come one by one "
     "at the full rate need. Lower and tighter is better.",
     [](const RunRecord& r) { return r.spread_us.has_value() || !r.series.timeslices.empty(); }},
    {"goodput", "Goodput against the limit", "Fig. 7",
     "Content of delivered timeslices per second, all compute nodes together. The upright mark is "
     "the limit: what plain one-sided writes reach without any schedule or credit (weft stream "
     "limit), or the best schedule's goodput, if that is more.",
     [](const RunRecord& r) { return !is_limit_run(r); }},
    {"progress", "Goodput over time", "",
     "The same, as each run went on. A steady line means that nobody had to wait for long.",
     [](const RunRecord& r) { return !r.series.goodput.empty(); }},
    {"intervals", "Proposed and actual intervals", "Fig. 8",
     "The schedule proposes how long the next interval should take; the input nodes report how "
     "long "
     "it took. After a disturbance the two must find back to each other.",
     [](const RunRecord& r) { return !r.intervals.empty(); }},
    {"fill", "How full the buffers are", "Fig. 9",
     "At every sample the buffers are put in order, fullest first; each column shows one place in "
     "that order over the whole run: minimum to maximum, 10th to 90th percentile, and median. "
     "Full buffers make input nodes wait.",
     [](const RunRecord& r) { return r.buffer_fill.has_value() || !r.series.buffer_fill.empty(); }},
    {"round", "Duration of a round", "Fig. 3",
     "In a round each sender writes one message to each receiver, without schedule or credits.",
     is_limit_run},
    {"sender", "Bandwidth per sender", "Fig. 4", "What one sender gets through, by message size.",
     is_limit_run},
    {"aggregate", "Aggregate bandwidth, with and without small messages", "Fig. 5",
     "All senders together. “Mix” adds one message of 16 bytes and two of 64 bytes to each large "
     "one, as descriptors and synchronisation do.",
     is_limit_run},
};

/// True when the record of the buffers' fill lacks some of the buffers of a moment: it is thinned
/// out, and of large runs only a few rings of each moment are left. Which of all was the fullest is
/// not known then.
bool is_sample_of_buffers(const RunRecord& run) {
  const std::vector<FillSample>& fills = run.series.buffer_fill;
  const bool rings = std::any_of(fills.begin(), fills.end(),
                                 [](const FillSample& s) { return s.input.has_value(); });
  std::map<std::pair<double, std::uint32_t>, std::size_t> moments;  // as charts.js groups them
  for (const FillSample& s : fills) ++moments[{s.t_us, rings ? s.compute : 0}];
  return std::any_of(moments.begin(), moments.end(), [&](const auto& moment) {
    return moment.second < (rings ? run.inputs : run.computes);
  });
}

bool any_is_sample_of_buffers(Runs runs) {
  return std::any_of(runs.begin(), runs.end(), is_sample_of_buffers);
}

constexpr const char* reading_of_sampled_fill =
    "Each box is one run from beginning to end: minimum to maximum, 10th to 90th percentile, and "
    "median. A ring is the part of a compute node's buffer that belongs to one input node, and a "
    "record does not hold all rings of each moment: the boxes show a sample of them, and nothing "
    "tells which ring was the fullest. Full buffers make input nodes wait.";

void add_figures(Page& page, Runs runs) {
  for (const Figure& figure : figures) {
    if (!std::any_of(runs.begin(), runs.end(), figure.applies)) continue;
    page.add(
        "<section class=\"figure\" id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 "
        "id=\"{0}-title\">{1}",
        figure.id, figure.title);
    if (*figure.paper != '\0') {
      page.add(R"( <a class="paper" href="#paper">{}</a>)", figure.paper);
    }
    const bool sampled = std::string_view(figure.id) == "fill" && any_is_sample_of_buffers(runs);
    page.add("</h2>\n<p class=\"reading\">{}</p>\n<div class=\"charts\"></div>\n</section>\n",
             sampled ? reading_of_sampled_fill : figure.reading);
  }
}

/// Names of all parameters, in the order in which runs mention them.
std::vector<std::string> parameter_names(Runs runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    for (const auto& entry : run.parameters) {
      if (std::find(names.begin(), names.end(), entry.first) == names.end()) {
        names.push_back(entry.first);
      }
    }
  }
  return names;
}

void add_parameter_row(Page& page, Runs runs, Labels labels, const std::string& name) {
  std::vector<std::string> values;
  for (const RunRecord& run : runs) {
    const auto it = std::find_if(run.parameters.begin(), run.parameters.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    values.push_back(it == run.parameters.end() ? std::string("–") : it->second);
  }
  page.add("<tr><th scope=\"row\">{}</th>", html_escape(name));
  const bool same = std::all_of(values.begin(), values.end(),
                                [&](const std::string& v) { return v == values.front(); });
  if (same) {
    page.add("<td colspan=\"{}\">{}</td>", runs.size(), html_escape(values.front()));
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      page.add("<td data-run=\"{}\">{}</td>", html_escape(labels[i]), html_escape(values[i]));
    }
  }
  page.raw("</tr>\n");
}

void add_parameters(Page& page, Runs runs, Labels labels) {
  const std::vector<std::string> names = parameter_names(runs);
  if (names.empty()) return;
  page.raw(R"(<h3 id="parameters-title">Parameters</h3>
<div class="scroll" tabindex="0" role="region" aria-labelledby="parameters-title">
<table class="parameters">
)");
  if (runs.size() > 1) {
    page.raw("<thead><tr><th scope=\"col\">Option</th>");
    for (std::size_t i = 0; i < runs.size(); ++i) {
      page.add("<th scope=\"col\">{}{}</th>", run_sign(i), html_escape(labels[i]));
    }
    page.raw("</tr></thead>\n");
  }
  page.raw("<tbody>\n");
  for (const std::string& name : names) add_parameter_row(page, runs, labels, name);
  page.raw("</tbody>\n</table>\n</div>\n");
}

void add_commands(Page& page, Runs runs, Labels labels) {
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string& command = runs[i].command;
    if (command.empty() || std::find(seen.begin(), seen.end(), command) != seen.end()) continue;
    seen.push_back(command);
    const bool shared = std::all_of(runs.begin(), runs.end(),
                                    [&](const RunRecord& r) { return r.command == command; });
    add_command(page, command,
                shared ? std::string("This command runs it again:")
                       : fmt::format("Runs {} again:", labels[i]));
  }
}

void add_machine(Page& page, const Machine& machine, const std::string& heading) {
  page.add("<h3>{}</h3>\n<dl class=\"facts\">\n", html_escape(heading));
  const auto fact = [&](const char* name, const std::string& value) {
    page.add("<div><dt>{}</dt><dd>{}</dd></div>\n", name,
             value.empty() ? std::string("unknown") : html_escape(value));
  };
  fact("Host", machine.host);
  fact("Processors", machine.cpus == 0 ? std::string() : fmt::format("{}", machine.cpus));
  fact("Model", machine.model);
  fact("Memory",
       machine.memory_bytes == 0 ? std::string() : to_text(ByteCount(machine.memory_bytes)));
  fact("Kernel", machine.kernel);
  page.raw("</dl>\n");
}

void add_versions(Page& page, Runs runs, Labels labels) {
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const RunRecord& r) {
    return r.version == runs.front().version && r.seed == runs.front().seed;
  });
  page.raw("<h3>Version and seed</h3>\n<dl class=\"facts\">\n");
  for (std::size_t i = 0; i < (same ? 1 : runs.size()); ++i) {
    page.add("<div><dt>{}</dt><dd>weft {}, seed {}</dd></div>\n",
             same && runs.size() > 1 ? std::string("All runs") : html_escape(labels[i]),
             html_escape(runs[i].version), runs[i].seed);
  }
  page.raw("</dl>\n");
}

void add_origin(Page& page, Runs runs, Labels labels) {
  page.raw(R"(<section aria-labelledby="origin-title">
<h2 id="origin-title">How it was measured</h2>
)");
  add_commands(page, runs, labels);
  add_parameters(page, runs, labels);
  const bool one_machine = std::all_of(runs.begin(), runs.end(), [&](const RunRecord& r) {
    return r.machine == runs.front().machine;
  });
  if (one_machine) {
    add_machine(page, runs.front().machine, "Machine");
  } else {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      add_machine(page, runs[i].machine, "Machine of " + labels[i]);
    }
  }
  add_versions(page, runs, labels);
  page.raw("</section>\n");
}

void add_scripts(Page& page, Runs runs, Labels labels) {
  page.raw("</main>\n<script type=\"application/json\" id=\"data\">{\"runs\":[");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) page.raw(",\n");
    page.raw(json_for_script(to_json(runs[i], RecordForm::full)));
  }
  page.raw("],\"labels\":");
  page.raw(json_for_script(json_text_array(labels)));
  page.add(",\"fill_is_sample\":{}}}</script>\n", any_is_sample_of_buffers(runs));
  add_charts(page, {chart_script(), limit_script(), page_script()});
}

}  // namespace

std::string report_page(std::span<const RunRecord> runs, bool with_network) {
  WEFT_CHECK(!runs.empty(), "a report is about at least one run");
  const std::vector<std::string> labels = run_labels(runs);
  const std::string title = title_of(runs);
  Page page;
  begin_page(page, title);
  add_intro(page, runs, title);
  if (with_network) {
    page.raw(
        "<p><a href=\"network.html\">What the network did</a>: the load of its links, its "
        "queues, how long messages took.</p>\n");
  }
  if (!std::all_of(runs.begin(), runs.end(), is_limit_run)) add_run_table(page, runs, labels);
  page.raw(published_section(runs, labels));
  add_rebuilt(page, runs, labels);
  add_figures(page, runs);
  add_origin(page, runs, labels);
  page.raw(page_terms());
  add_scripts(page, runs, labels);
  return page.take();
}

}  // namespace weft::report
