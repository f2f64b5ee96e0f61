// SPDX-License-Identifier: Apache-2.0
// The workloads and traces of a scenario, from the words of its file.
#include "jobs/workload_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "base/nearest.hpp"
#include "jobs/option_text.hpp"

namespace weft::jobs {
namespace {

/// Reads one job's options into it.
class JobReader {
 public:
  explicit JobReader(WorkloadJob& job) : job_(job) {}

  std::uint32_t copies() const { return copies_; }

  Result<void> read(const sim::JobOption& option) {
    if (option.name == "file") {
      job_.files = option.values;
      return {};
    }
    if (option.values.size() != 1) {
      return refuse("it has several values; write one");
    }
    return take(option.name, option.values.front());
  }
  bool is_trace() const { return is_trace_; }
  /// An option of mini-paradis that has no effect on the job's pattern; empty: there is none.
  std::string_view idle_option() const {
    return job_.pattern.pattern == sim::Pattern::mini_paradis ? "" : option_of_mini_paradis_;
  }

 private:
  static constexpr std::string_view of_traces[] = {
      "name", "kind", "file", "copies", "eager", "compute-factor", "noise", "arrives", "leaves"};
  static constexpr std::string_view of_workloads[] = {
      "name",    "kind",  "pattern", "ranks",       "copies",        "messages",
      "message", "eager", "compute", "computation", "least-compute", "one-computes",
      "drift",   "ages",  "noise",   "arrives",     "leaves",        "seed"};

  Result<void> take(const std::string& key, const std::string& text) {
    sim::PatternOptions& p = job_.pattern;
    if (key == "kind") return take_kind(text);
    if (is_trace_ && std::ranges::find(of_traces, key) == std::end(of_traces)) {
      return refuse(unknown_key(key, "a trace", of_traces));
    }
    if (is_trace_ && key == "compute-factor") return take_factor(text);
    if (key == "pattern") return assign(p.pattern, sim::parse_workload_pattern(text));
    if (key == "ranks") return assign(p.ranks, number_of<std::uint32_t>(text));
    if (key == "copies") return assign(copies_, number_of<std::uint32_t>(text));
    if (key == "messages") return assign(p.messages, number_of<std::uint32_t>(text));
    if (key == "message") return take_bytes(p.message_bytes, text);
    if (key == "eager") return take_bytes(job_.eager_bytes, text);
    if (key == "compute") return take_time(p.compute, text);
    if (key == "least-compute") return assign(p.least_compute, number_of<double>(text));
    if (key == "one-computes") return take_flag(p.one_computes, text);
    if (key == "drift" || key == "ages")
      option_of_mini_paradis_ = key == "drift" ? "drift" : "ages";
    if (key == "drift") return assign(p.drift, number_of<double>(text));
    if (key == "noise") return assign(job_.compute_noise, number_of<double>(text));
    if (key == "seed") return assign(p.seed, number_of<std::uint64_t>(text));
    if (key == "computation") return assign(job_.computation, number_of<double>(text));
    if (key == "arrives") return assign(job_.arrives, number_of<std::uint32_t>(text));
    if (key == "leaves") return assign(job_.leaves, number_of<std::uint32_t>(text));
    if (key == "ages") return assign(job_.ages_per_window, number_of<std::uint64_t>(text));
    return refuse(unknown_key(key, "a workload", of_workloads));
  }

  Result<void> take_kind(const std::string& text) {
    is_trace_ = text == "trace";
    if (is_trace_ || text == "workload") return {};
    return refuse("only workloads and traces take part; write workload or trace");
  }
  Result<void> take_factor(const std::string& text) {
    const auto factor = number_of<double>(text);
    if (!factor || !(*factor >= 0 && *factor <= 1e6)) {
      return refuse("write a number of at most 1000000, 1 for as long as was recorded");
    }
    job_.compute_factor = *factor;
    return {};
  }
  static Result<void> take_bytes(std::uint64_t& target, const std::string& text) {
    const auto bytes = parse_byte_count(text);
    if (!bytes) return bytes.error();
    target = bytes->value();
    return {};
  }
  static Result<void> take_time(PicoDuration& target, const std::string& text) {
    const auto time = parse_duration(text);
    if (!time) return time.error();
    target = to_pico(*time);
    return {};
  }
  static Result<void> take_flag(bool& target, const std::string& text) {
    if (text != "true" && text != "false") {
      return refuse("write true or false");
    }
    target = text == "true";
    return {};
  }

  WorkloadJob& job_;
  std::uint32_t copies_ = 1;
  bool is_trace_ = false;
  std::string_view option_of_mini_paradis_;
};

/// The scenario's key of a job's file: those of a list have lines of their own.
std::string key_of_file(const sim::Scenario& scenario, const std::string& job, std::size_t index) {
  const std::string listed = fmt::format("{}.file[{}]", job, index);
  const bool is_listed = std::any_of(scenario.entries.begin(), scenario.entries.end(),
                                     [&](const auto& entry) { return entry.key == listed; });
  return is_listed ? listed : job + ".file";
}

/// Opens and examines one more of the job's traces.
Result<trace::Summary> open_trace(const sim::Scenario& scenario, const std::string& file,
                                  WorkloadJob& job) {
  // Like other files that the scenario names, it is looked for in the scenario's directory.
  const auto path = std::filesystem::path(scenario.name).parent_path() / file;
  auto trace = trace::open_trace(path.string());
  if (!trace) return std::move(trace).error();
  auto summary = (*trace)->examine();
  if (!summary) return summary;
  if (!summary->problem.empty()) return Error{ErrorCode::corrupt, summary->problem};
  if (!job.traces.empty() && summary->ranks != job.pattern.ranks) {
    return refuse(fmt::format("{} has {} ranks and {} {}; traces of one job have the same", file,
                              summary->ranks, job.files.front(), job.pattern.ranks));
  }
  const auto sum = trace::checksum_of_trace(path.string());
  if (!sum) return sum.error();
  // Of the traces in their order: an exchange of two is another job.
  job.traces_checksum = std::rotl(job.traces_checksum, 1) ^ *sum;
  job.traces.push_back(std::move(trace).value());
  return summary;
}

/// All traces of the job, which has the key `key`.
Result<void> open_traces(const sim::Scenario& scenario, const std::string& key, WorkloadJob& job) {
  if (job.files.empty()) {
    return scenario.located(key, refuse("write the trace's file, as in file = \"ring-8.goal\""));
  }
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    const auto summary = open_trace(scenario, job.files[i], job);
    if (!summary) return scenario.located(key_of_file(scenario, key, i), summary.error());
    job.pattern.ranks = summary->ranks;
    messages += summary->messages;
    bytes += summary->bytes;
  }
  job.pattern.message_bytes = messages == 0 ? 0 : bytes / messages;
  return {};
}

bool has_kind(const sim::ScenarioJob& job) {
  for (const sim::JobOption& option : job.options) {
    if (option.name == "kind") return true;
  }
  return false;
}

Result<void> check_ranges(const WorkloadJob& job, std::uint32_t copies) {
  constexpr std::uint32_t most_copies = 1024;
  if (copies == 0 || copies > most_copies) {
    return refuse(fmt::format("copies is {}: use 1 to {}", copies, most_copies));
  }
  if (!(job.compute_noise >= 0 && job.compute_noise < 1)) {
    return refuse(fmt::format("noise is {}: use 0 to 0.99", job.compute_noise));
  }
  if (!(job.computation >= 0 && job.computation <= 0.99)) {
    return refuse(fmt::format("computation is {}: use 0 to 0.99", job.computation));
  }
  if (job.computation > 0 && job.pattern.compute > PicoDuration{}) {
    return refuse("computation and compute both say how long it computes: leave one of them out");
  }
  if (job.leaves <= job.arrives) {
    return refuse(fmt::format("leaves is {}: use a window after it arrives, above {}", job.leaves,
                              job.arrives));
  }
  if (job.is_trace()) return {};
  const auto program = sim::make_pattern(job.pattern);
  return program ? Result<void>() : program.error();
}

}  // namespace

std::string WorkloadJob::what() const {
  if (!is_trace()) return std::string(sim::to_text(pattern.pattern));
  return fmt::format("{}", fmt::join(files, ", "));
}

Result<std::vector<WorkloadJob>> workloads_of(const sim::Scenario& scenario) {
  std::vector<WorkloadJob> jobs;
  for (const sim::ScenarioJob& given : scenario.jobs) {
    if (!has_kind(given)) {
      return scenario.located(
          given.key, refuse("its nodes stream, and only ranks take part here: write kind = "
                            "\"workload\" or \"trace\", or run weft simulate on it"));
    }
    WorkloadJob job{.name = given.name};
    JobReader reader(job);
    // The kind decides which other options there may be.
    std::vector<sim::JobOption> options = given.options;
    std::stable_partition(options.begin(), options.end(),
                          [](const auto& o) { return o.name == "kind"; });
    for (const sim::JobOption& option : options) {
      if (auto read = reader.read(option); !read) {
        return scenario.located(given.key + "." + option.name, read.error());
      }
    }
    if (const std::string_view idle = reader.idle_option(); !idle.empty() && !reader.is_trace()) {
      return scenario.located(
          fmt::format("{}.{}", given.key, idle),
          refuse(fmt::format("only mini-paradis has it, and not {}: leave it out", job.what())));
    }
    if (reader.is_trace()) {
      if (auto opened = open_traces(scenario, given.key, job); !opened) return opened.error();
    } else if (!job.files.empty()) {
      return scenario.located(given.key + ".file", refuse("a workload has none; write kind = "
                                                          "\"trace\""));
    }
    if (auto good = check_ranges(job, reader.copies()); !good) {
      return scenario.located(given.key, good.error());
    }
    for (std::uint32_t i = 0; i < reader.copies(); ++i) {
      WorkloadJob copy = job;
      if (reader.copies() > 1) copy.name = fmt::format("{}-{}", job.name, i + 1);
      copy.pattern.seed = job.pattern.seed + i;
      jobs.push_back(std::move(copy));
    }
  }
  if (jobs.empty())
    return refuse("the scenario has no jobs; add [[jobs]] with kind = \"workload\"");
  return jobs;
}

}  // namespace weft::jobs
