// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/units.hpp"
#include "report/published.hpp"
#include "report/report.hpp"

namespace weft::cli {
namespace {

std::string in_ms(double us) {
  return fmt::format("{:.3g} ms", us / 1000);
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", fraction * 100);
}

/// Published figures beside those of the runs, where there are any.
void print_published(std::span<const report::RunRecord> runs) {
  bool first = true;
  for (const report::RunRecord& run : runs) {
    for (const report::PublishedFigure& figure : run.published) {
      if (first) {
        fmt::print("\n{:<12} {:<42} {:>9} {:>15}  {}\n", "schedule", "figure", "here", "published",
                   "source");
      }
      first = false;
      fmt::print("{:<12} {:<42} {:>9} {:>15}  {}\n", run.schedule,
                 report::metric_words(figure.metric),
                 figure.ours ? report::metric_text(figure.metric, *figure.ours) : "-",
                 report::published_text(figure), figure.source);
    }
  }
}

}  // namespace

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(const StreamProgress& p) {
  shown_ = true;
  const auto rate = Bandwidth::bytes_per_second(static_cast<std::uint64_t>(p.goodput_bytes_per_s));
  // Simulated jobs are milliseconds long.
  const std::string elapsed = p.elapsed < Duration::seconds(1)
                                  ? to_text(p.elapsed)
                                  : fmt::format("{:.0f} s", p.elapsed.to_seconds());
  fmt::print(stderr, "\r\033[K{}: {}, {} timeslices, {}, spread {}, buffers {}", label_, elapsed,
             p.timeslices, to_text(rate), in_ms(p.spread_us), percent(p.buffer_fill));
  std::fflush(stderr);
}

void print_table(std::span<const report::RunRecord> runs) {
  fmt::print("{:<12} {:>12} {:>9} {:>12} {:>12} {:>9} {:>8} {:>9} {:>10} {:>5}\n",
             runs.empty() || runs[0].job.empty() ? "schedule" : "job", "goodput", "of limit",
             "spread", "p90", "x floor", "buffers", "complete", "incomplete", "lost");
  for (const auto& r : runs) {
    const std::string& name = r.job.empty() ? r.schedule : r.job;
    const auto rate =
        Bandwidth::bytes_per_second(static_cast<std::uint64_t>(r.goodput_bytes_per_s));
    const bool floor = r.spread_us && r.spread_floor_us && *r.spread_floor_us > 0;
    fmt::print("{:<12} {:>12} {:>9} {:>12} {:>12} {:>9} {:>8} {:>9} {:>10} {:>5}\n", name,
               to_text(rate), r.goodput_of_limit ? percent(*r.goodput_of_limit) : "-",
               r.spread_us ? in_ms(r.spread_us->median) : "-",
               r.spread_us ? in_ms(r.spread_us->p90) : "-",
               floor ? fmt::format("{:.2f}", r.spread_us->median / *r.spread_floor_us) : "-",
               r.buffer_fill ? percent(r.buffer_fill->median) : "-", r.timeslices_complete,
               r.timeslices_incomplete, r.timeslices_lost);
    if (r.checks.errors > 0) {
      fmt::print(stderr, "weft: {}: {} check{} failed; first: {}\n", name, r.checks.errors,
                 r.checks.errors == 1 ? "" : "s", r.checks.first_error);
    }
    if (r.quorum_wait_s > 0) {
      fmt::print(stderr,
                 "weft: {}: input nodes without a majority waited for {:.1f} s (--quorum)\n", name,
                 r.quorum_wait_s);
    }
    if (r.timeslices_lost > 0) {
      fmt::print(stderr, "weft: {}: {} timeslices were sent and never built\n", name,
                 r.timeslices_lost);
    }
  }
  print_published(runs);
}

void print_limit_row(const report::LimitRow& row, bool with_header) {
  if (with_header) {
    fmt::print("{:>10} {:>5} {:>12} {:>14} {:>14} {:>14}\n", "message", "mix", "round",
               "per sender", "aggregate", "limit");
  }
  const auto rate = [](double bytes_per_s) {
    return to_text(Bandwidth::bytes_per_second(static_cast<std::uint64_t>(bytes_per_s)));
  };
  fmt::print("{:>10} {:>5} {:>12} {:>14} {:>14} {:>14}\n", to_text(ByteCount(row.message_bytes)),
             row.mix ? "yes" : "no", in_ms(row.round_us),
             rate(row.bandwidth_per_sender_bytes_per_s), rate(row.aggregate_bytes_per_s),
             rate(row.limit_bytes_per_s.value_or(row.aggregate_bytes_per_s)));
}

std::string runs_as_json(std::span<const report::RunRecord> runs) {
  std::string text = "{\"runs\": [";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) text += ", ";
    text += report::to_json(runs[i], report::RecordForm::summary);
  }
  return text + "]}";
}

void forget_record(const std::string& directory, const char* file) {
  std::error_code ignored;  // usually there is none
  std::filesystem::remove(std::filesystem::path(directory) / file, ignored);
}

void announce_report(const std::string& directory, bool quiet, Outcome& outcome) {
  auto path = report::write_report(directory);
  if (!path) return report_error(path.error(), outcome);
  if (!quiet) fmt::print("report: {}\n", *path);
}

}  // namespace weft::cli
