// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/units.hpp"
#include "report/published.hpp"
#include "report/report.hpp"
#include "report/words.hpp"

namespace weft::cli {
namespace {

/// Simulated jobs are milliseconds long.
std::string short_time(Duration time) {
  if (time < Duration::seconds(1)) return to_text(time);
  return fmt::format("{:.{}f} s", time.to_seconds(), time < Duration::seconds(10) ? 1 : 0);
}

std::string rate_text(double bytes_per_s) {
  return to_text(Bandwidth::bytes_per_second(static_cast<std::uint64_t>(bytes_per_s)));
}

/// Published figures beside those of the runs, where there are any.
void print_published(std::span<const report::RunRecord> runs) {
  Table table({"schedule", "figure", "here", "published", "source"});
  for (const report::RunRecord& run : runs) {
    for (const report::PublishedFigure& figure : run.published) {
      table.add({run.schedule, std::string(report::metric_words(figure.metric)),
                 figure.ours ? report::metric_text(figure.metric, *figure.ours) : "-",
                 report::published_text(figure), figure.source});
    }
  }
  if (table.empty()) return;
  fmt::print("\n");
  table.print();
}

/// The verdict of sinks that found nothing wrong. Programs of `exec:` may look at contents, or not.
std::string_view good_verdict(const report::RunRecord& r) {
  if (!report::checks_contents(r)) return "every program ended with code 0";
  return r.timeslices_complete + r.timeslices_incomplete == 0
             ? "no timeslice came, so that no contents were checked"
             : "contents checked, nothing wrong";
}

/// The checks' verdict and the run's shortfalls, in words.
void print_findings(const std::string& name, const report::RunRecord& r) {
  if (report::was_checked(r) && r.checks.errors == 0) {
    fmt::print("{}: {}\n", name, good_verdict(r));
  }
  if (r.timeslices_incomplete > 0) {
    fmt::print("{}: {} timeslice{} incomplete\n", name, r.timeslices_incomplete,
               r.timeslices_incomplete == 1 ? "" : "s");
  }
  if (r.checks.dropped > 0) {
    fmt::print("{}: {}\n", name, report::dropped_text(r.checks.dropped));
  }
  if (r.checks.errors > 0) {
    print_error(fmt::format("{}: {} check{} failed; first: {}", name, r.checks.errors,
                            r.checks.errors == 1 ? "" : "s", r.checks.first_error));
  }
  if (r.quorum_wait_s > 0) {
    print_error(fmt::format("{}: input nodes without a majority waited for {:.1f} s (--quorum)",
                            name, r.quorum_wait_s));
  }
  if (r.interrupted) {
    print_error(
        fmt::format("{}: a signal ended it early; its figures are of the time until then", name));
  }
  if (!r.interrupted && r.timeslices_sent == 0 && r.checks.errors == 0) {
    print_error(
        fmt::format("{}: the source gave no data, and no timeslice was built (--source)", name));
  }
  if (r.timeslices_lost > 0) {
    print_error(
        fmt::format("{}: {} timeslices were sent and never built", name, r.timeslices_lost));
  }
}

}  // namespace

std::string milliseconds_text(double us) {
  constexpr double rounds_up = 999.5e3;
  if (us >= rounds_up) return fmt::format("{:.3g} s", us * 1e-6);
  return fmt::format("{:.3g} ms", us * 1e-3);
}

ProgressLine::ProgressLine(std::string label, const StreamOptions& options)
    : label_(std::move(label)), duration_(options.duration), timeslices_(options.timeslices) {}

void ProgressLine::show(const StreamProgress& p) {
  double done = 0;
  std::string time = short_time(p.elapsed);
  std::string built = fmt::format("{} timeslices", p.timeslices);
  if (duration_ != Duration{}) {
    done = p.elapsed.to_seconds() / duration_.to_seconds();
    time += " of " + short_time(duration_);
  }
  if (timeslices_ > 0) {
    done = std::max(done, static_cast<double>(p.timeslices) / static_cast<double>(timeslices_));
    built = fmt::format("{} of {} timeslices", p.timeslices, timeslices_);
  }
  const bool has_total = duration_ != Duration{} || timeslices_ > 0;
  std::vector<std::string> parts{
      fmt::format("{}: {}", label_, timeslices_ > 0 ? built : time),
      has_total ? share_done(done, std::chrono::steady_clock::now() - begun_) : ""};
  // Before the nodes have told of a first timeslice there is no time to take a rate over.
  if (p.timeslices > 0) {
    parts.insert(parts.end(), {rate_text(p.goodput_bytes_per_s),
                               fmt::format("spread {}", milliseconds_text(p.spread_us))});
  }
  parts.insert(parts.end(), {timeslices_ > 0 ? time : built,
                             fmt::format("buffers {}", report::as_percent(p.buffer_fill))});
  line_.show(parts);
}

sim::Progress SimulationLine::progress() {
  if (!line_.wanted()) return {};
  return [this](PicoInstant now, PicoInstant end) {
    const auto ns = [](PicoInstant t) { return Duration((t - PicoInstant()).ticks() / 1'000); };
    const double done = end == PicoInstant() ? 1 : ns(now).to_seconds() / ns(end).to_seconds();
    // The share comes first: narrow terminals lose the end of the line.
    const auto taken = std::chrono::steady_clock::now() - begun_;
    line_.show({"simulated " + share_done(done, taken),
                fmt::format("{} of {}", to_text(ns(now)), to_text(ns(end)))});
  };
}

void print_table(std::span<const report::RunRecord> runs) {
  Table table({runs.empty() || runs[0].job.empty() ? "schedule" : "job", "goodput", "of limit",
               "spread", "p90", "x floor", "buffers", "complete"});
  for (const auto& r : runs) {
    const bool floor = r.spread_us && r.spread_floor_us && *r.spread_floor_us > 0;
    table.add({r.job.empty() ? r.schedule : r.job, rate_text(r.goodput_bytes_per_s),
               r.goodput_of_limit ? report::as_percent(*r.goodput_of_limit) : "-",
               r.spread_us ? milliseconds_text(r.spread_us->median) : "-",
               r.spread_us ? milliseconds_text(r.spread_us->p90) : "-",
               floor ? fmt::format("{:.2f}", r.spread_us->median / *r.spread_floor_us) : "-",
               r.buffer_fill ? report::as_percent(r.buffer_fill->median) : "-",
               fmt::format("{}", r.timeslices_complete)});
  }
  table.print();
  for (const auto& r : runs) print_findings(r.job.empty() ? r.schedule : r.job, r);
  print_published(runs);
}

void print_limit_row(const report::LimitRow& row, bool with_header) {
  // Printed as they are found: widths cannot be those of the longest cell.
  constexpr std::size_t narrowest = 74;
  const std::string cells[] = {
      to_text(ByteCount(row.message_bytes)),
      row.mix ? "yes" : "no",
      milliseconds_text(row.round_us),
      rate_text(row.bandwidth_per_sender_bytes_per_s),
      rate_text(row.aggregate_bytes_per_s),
      rate_text(row.limit_bytes_per_s.value_or(row.aggregate_bytes_per_s))};
  if (columns_of(STDOUT_FILENO) < narrowest) {
    Table table({"message", "mix", "round", "per sender", "aggregate", "limit"});
    table.add({std::begin(cells), std::end(cells)});
    return table.print();
  }
  constexpr const char* line = "{:>10} {:>5} {:>12} {:>14} {:>14} {:>14}\n";
  if (with_header) fmt::print(line, "message", "mix", "round", "per sender", "aggregate", "limit");
  fmt::print(line, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]);
}

std::string runs_as_json(std::span<const report::RunRecord> runs) {
  std::string text = "{\"runs\": [";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) text += ", ";
    text += report::to_json(runs[i], report::RecordForm::summary);
  }
  return text + "]}";
}

void announce_report(const std::string& directory, bool quiet, Outcome& outcome) {
  auto path = report::write_report(directory);
  if (!path) return report_error(path.error(), outcome);
  if (!quiet) fmt::print("report: {}\n", *path);
}

}  // namespace weft::cli
