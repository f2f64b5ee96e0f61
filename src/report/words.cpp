// SPDX-License-Identifier: Apache-2.0
#include "report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "base/units.hpp"

namespace weft::report {
namespace {

std::string parameter(const RunRecord& run, const std::string& name) {
  for (const auto& [key, value] : run.parameters) {
    if (key == name) return value;
  }
  return {};
}

/// Indices of runs that share a label, for the labels that several runs have.
std::vector<std::vector<std::size_t>> clashes(const std::vector<std::string>& labels) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < labels.size(); ++i) groups[labels[i]].push_back(i);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [label, members] : groups) {
    if (members.size() > 1) out.push_back(std::move(members));
  }
  return out;
}

/// Appends ", value" to labels that clash, when the value differs between them.
template <class Value>
void tell_apart(std::vector<std::string>& labels, Value value) {
  for (const std::vector<std::size_t>& group : clashes(labels)) {
    const bool differ = std::any_of(group.begin(), group.end(), [&](std::size_t i) {
      return value(i) != value(group.front());
    });
    if (!differ) continue;
    for (const std::size_t i : group) {
      const std::string text = value(i);
      if (!text.empty()) labels[i] += ", " + text;
    }
  }
}

std::string shape_of(const RunRecord& run) {
  return fmt::format("{} × {}", run.inputs, run.computes);
}

/// True when all runs give the same for `value`.
template <class Value>
bool agree(std::span<const RunRecord> runs, Value value) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunRecord& r) { return value(r) == value(runs.front()); });
}

/// "11.6 MB/s (97.3 % of the limit)".
std::string goodput_words(const RunRecord& run) {
  std::string text = as_rate(run.goodput_bytes_per_s);
  if (run.goodput_of_limit) {
    text += fmt::format(" ({} of the limit)", as_percent(*run.goodput_of_limit));
  }
  return text;
}

/// Over shaped links all contributions of a timeslice may arrive in one moment.
bool arrives_at_once(const RunRecord& run) {
  return std::llround(run.spread_us->median * 1e3) == 0;  // nanoseconds, as as_time tells them
}

/// "within 8 ms (1.07 times the floor)", or "at once" where that time is 0.
std::string spread_words(const RunRecord& run) {
  if (arrives_at_once(run)) return "at once";
  std::string text = "within " + as_time(run.spread_us->median);
  if (const auto factor = times_floor(run, run.spread_us->median)) {
    text += fmt::format(" ({:.3g} times the floor)", *factor);
  }
  return text;
}

/// A run and its label.
struct Named {
  const RunRecord* run;
  std::string label;
};

/// "4 input nodes streamed to 4 compute nodes over tcp, in 3 runs side by side. "
std::string setting_words(const std::vector<Named>& runs) {
  const RunRecord& first = *runs.front().run;
  const bool same_place = std::all_of(runs.begin(), runs.end(), [&](const Named& n) {
    return std::tie(n.run->inputs, n.run->computes, n.run->fabric) ==
           std::tie(first.inputs, first.computes, first.fabric);
  });
  if (!same_place) return fmt::format("{} runs side by side. ", runs.size());
  return fmt::format("{} streamed to {} over {}{}. ",
                     counted(first.inputs, "input node", "input nodes"),
                     counted(first.computes, "compute node", "compute nodes"), first.fabric,
                     runs.size() > 1 ? fmt::format(", in {} runs", runs.size()) : "");
}

std::string stream_summary(const std::vector<Named>& runs) {
  const std::string setting = setting_words(runs);
  std::vector<Named> measured;
  for (const Named& named : runs) {
    if (named.run->spread_us) measured.push_back(named);
  }
  if (measured.empty()) {
    return setting + fmt::format("The goodput was {}.", goodput_words(*runs.front().run));
  }
  const auto [best, worst] =
      std::minmax_element(measured.begin(), measured.end(), [](const Named& a, const Named& b) {
        return a.run->spread_us->median < b.run->spread_us->median;
      });
  const bool at_once = arrives_at_once(*best->run);
  const std::string text = fmt::format(
      "{}With {}, {}, at a goodput of {}", setting, best->label,
      at_once ? "all contributions of half of the timeslices arrived at once"
              : fmt::format("half of the timeslices were complete {} of their first contribution",
                            spread_words(*best->run)),
      goodput_words(*best->run));
  if (best == worst) return text + ".";
  return fmt::format("{}; with {}, {}{}, at {}.", text, worst->label,
                     arrives_at_once(*worst->run) ? "also " : "", spread_words(*worst->run),
                     goodput_words(*worst->run));
}

/// "4.751 GB/s over tcp (messages of 1 MiB)".
std::string best_limit(const RunRecord& run) {
  const auto best = std::max_element(run.limit.begin(), run.limit.end(),
                                     [](const LimitRow& a, const LimitRow& b) {
                                       return a.aggregate_bytes_per_s < b.aggregate_bytes_per_s;
                                     });
  return fmt::format("{} over {} (messages of {})", as_rate(best->aggregate_bytes_per_s),
                     run.fabric, to_text(ByteCount(best->message_bytes)));
}

std::string limit_summary(const std::vector<Named>& runs) {
  std::vector<std::string> parts;
  for (const Named& named : runs) {
    parts.push_back(fmt::format(
        "{} writing to {} reached at most {}", counted(named.run->inputs, "sender", "senders"),
        counted(named.run->computes, "receiver", "receivers"), best_limit(*named.run)));
  }
  return fmt::format("Without any schedule or credit, {}.", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::string> run_labels(std::span<const RunRecord> runs) {
  std::vector<std::string> labels;
  std::vector<std::string> names;
  const bool only_limits = std::all_of(runs.begin(), runs.end(), is_limit_run);
  for (const RunRecord& run : runs) {
    labels.push_back(!run.job.empty()    ? run.job
                     : only_limits       ? run.fabric
                     : is_limit_run(run) ? "limit"
                                         : run.schedule);
    for (const auto& [name, value] : run.parameters) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  tell_apart(labels, [&](std::size_t i) { return runs[i].fabric; });
  tell_apart(labels, [&](std::size_t i) { return shape_of(runs[i]); });
  for (const std::string& name : names) {
    tell_apart(labels, [&](std::size_t i) {
      const std::string value = parameter(runs[i], name);
      return value.empty() ? value : name + " " + value;
    });
  }
  for (const std::vector<std::size_t>& group : clashes(labels)) {
    for (std::size_t n = 0; n < group.size(); ++n) labels[group[n]] += fmt::format(" #{}", n + 1);
  }
  return labels;
}

std::string title_of(std::span<const RunRecord> runs) {
  WEFT_CHECK(!runs.empty());
  const RunRecord& first = runs.front();
  std::string where;
  if (agree(runs, [](const RunRecord& r) { return r.fabric; })) where += " on " + first.fabric;
  if (agree(runs, shape_of)) where += ", " + shape_of(first);
  if (std::all_of(runs.begin(), runs.end(), is_limit_run)) return "Many-to-many limit" + where;
  if (runs.size() == 1) return first.schedule + where;
  const bool are_jobs =
      std::none_of(runs.begin(), runs.end(), [](const RunRecord& r) { return r.job.empty(); });
  if (are_jobs) return "Jobs side by side" + where;
  const bool schedules_differ = !agree(runs, [](const RunRecord& r) { return r.schedule; });
  return (schedules_differ ? "Schedules compared" : first.schedule + " compared") + where;
}

std::string summary_of(std::span<const RunRecord> runs) {
  const std::vector<std::string> labels = run_labels(runs);
  std::vector<Named> streams;
  std::vector<Named> limits;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    (is_limit_run(runs[i]) ? limits : streams).push_back({&runs[i], labels[i]});
  }
  if (limits.empty()) return stream_summary(streams);
  if (streams.empty()) return limit_summary(limits);
  return stream_summary(streams) + " " + limit_summary(limits);
}

namespace {

bool has_sink(const RunRecord& run, std::string_view kind) {
  return std::any_of(run.parameters.begin(), run.parameters.end(), [&](const auto& p) {
    return p.first == "sink" && p.second.starts_with(kind);
  });
}

}  // namespace

bool checks_contents(const RunRecord& run) {
  return has_sink(run, "check:");
}

bool was_checked(const RunRecord& run) {
  return checks_contents(run) || has_sink(run, "exec:");
}

std::string dropped_text(std::uint64_t timeslices) {
  return counted(timeslices, "timeslice", "timeslices") +
         " dropped: the sink was too slow, or no consumer took them";
}

namespace {

Verdict verdict_without_drops(std::span<const RunRecord> runs) {
  std::uint64_t lost = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t complete = 0;
  std::uint64_t errors = 0;
  std::string first_error;
  for (const RunRecord& run : runs) {
    lost += run.timeslices_lost;
    incomplete += run.timeslices_incomplete;
    complete += run.timeslices_complete;
    errors += run.checks.errors;
    if (first_error.empty()) first_error = run.checks.first_error;
  }
  if (lost + incomplete + errors == 0) {
    if (complete == 0) return {};
    const bool checked = std::all_of(runs.begin(), runs.end(), [](const RunRecord& run) {
      return is_limit_run(run) || was_checked(run);
    });
    return {true, fmt::format("{} arrived complete{}",
                              complete == 1 ? "The one timeslice"
                                            : fmt::format("All {}", counted(complete, "timeslice",
                                                                            "timeslices")),
                              checked ? ", and no check failed." : ". Contents were not checked.")};
  }
  std::vector<std::string> parts;
  if (lost > 0) parts.push_back(counted(lost, "timeslice", "timeslices") + " lost");
  if (incomplete > 0)
    parts.push_back(counted(incomplete, "timeslice", "timeslices") + " incomplete");
  if (errors > 0) parts.push_back(counted(errors, "check", "checks") + " failed");
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  text += first_error.empty() ? "." : fmt::format("; the first error: {}", first_error);
  return {lost + errors == 0, std::move(text)};
}

}  // namespace

Verdict verdict_of(std::span<const RunRecord> runs) {
  Verdict verdict = verdict_without_drops(runs);
  std::uint64_t dropped = 0;
  for (const RunRecord& run : runs) {
    dropped += run.checks.dropped;
    if (!run.interrupted) continue;
    // Its figures do not compare with those of others.
    verdict.good = verdict.good && runs.size() == 1;
    verdict.sentence = fmt::format("A signal ended {} early. {}", run.schedule, verdict.sentence);
  }
  if (dropped == 0) return verdict;
  if (!verdict.sentence.empty()) verdict.sentence += verdict.sentence.ends_with('.') ? " " : ". ";
  verdict.sentence += dropped_text(dropped) + ".";
  return verdict;
}

std::optional<double> times_floor(const RunRecord& run, double spread_us) {
  if (!run.spread_floor_us || *run.spread_floor_us <= 0) return std::nullopt;
  return spread_us / *run.spread_floor_us;
}

std::string with_thousands(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ',');
  return digits;
}

std::string as_percent(double fraction) {
  return fmt::format("{:.1f} %", fraction * 100);
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", with_thousands(n), n == 1 ? one : many);
}

std::string as_change(double fraction) {
  return fmt::format("{:+.1f} %", fraction * 100);
}

std::string as_rate(double bytes_per_s) {
  if (!std::isfinite(bytes_per_s)) return "–";
  if (bytes_per_s < 0 || bytes_per_s > 1e18) {
    return fmt::format("{:.3g} B/s", bytes_per_s);
  }
  return to_text(Bandwidth::bytes_per_second(static_cast<std::uint64_t>(bytes_per_s)));
}

std::string as_time(double microseconds) {
  if (!std::isfinite(microseconds)) return "–";
  if (std::abs(microseconds) > 1e15) {
    return fmt::format("{:.3g} µs", microseconds);
  }
  std::string text = to_text(Duration(static_cast<std::int64_t>(std::llround(microseconds * 1e3))));
  if (text.ends_with(" us")) text.replace(text.size() - 2, 2, "µs");
  return text;
}

std::string as_times(double factor) {
  return fmt::format("{:.{}f}×", factor, factor < 10 ? 2 : 1);
}

}  // namespace weft::report
