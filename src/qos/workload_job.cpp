// SPDX-License-Identifier: Apache-2.0
// The workloads of a scenario, from the words of its file.
#include "qos/workload_job.hpp"

#include <fmt/format.h>

#include <utility>

#include "qos/option_text.hpp"

namespace weft::qos {
namespace {

/// Reads one job's options into it.
class JobReader {
 public:
  explicit JobReader(WorkloadJob& job) : job_(job) {}

  std::uint32_t copies() const { return copies_; }

  Result<void> read(const sim::JobOption& option) {
    if (option.values.size() != 1) {
      return refuse("it has several values; write one");
    }
    return take(option.name, option.values.front());
  }

 private:
  Result<void> take(const std::string& key, const std::string& text) {
    sim::PatternOptions& p = job_.pattern;
    if (key == "kind") return take_kind(text);
    if (key == "pattern") return assign(p.pattern, sim::parse_workload_pattern(text));
    if (key == "ranks") return assign(p.ranks, number_of<std::uint32_t>(text));
    if (key == "copies") return assign(copies_, number_of<std::uint32_t>(text));
    if (key == "messages") return assign(p.messages, number_of<std::uint32_t>(text));
    if (key == "message") return take_bytes(p.message_bytes, text);
    if (key == "eager") return take_bytes(job_.eager_bytes, text);
    if (key == "compute") return take_time(p.compute, text);
    if (key == "least-compute") return assign(p.least_compute, number_of<double>(text));
    if (key == "one-computes") return take_flag(p.one_computes, text);
    if (key == "drift") return assign(p.drift, number_of<double>(text));
    if (key == "noise") return assign(job_.compute_noise, number_of<double>(text));
    if (key == "seed") return assign(p.seed, number_of<std::uint64_t>(text));
    if (key == "computation") return assign(job_.computation, number_of<double>(text));
    if (key == "arrives") return assign(job_.arrives, number_of<std::uint32_t>(text));
    if (key == "leaves") return assign(job_.leaves, number_of<std::uint32_t>(text));
    if (key == "ages") return assign(job_.ages_per_window, number_of<std::uint64_t>(text));
    return refuse(fmt::format(
        "a workload has no '{}': it has pattern, ranks, copies, messages, message, eager, compute, "
        "computation, least-compute, one-computes, drift, ages, noise, arrives, leaves and seed",
        key));
  }

  static Result<void> take_kind(const std::string& text) {
    if (text == "workload") return {};
    return refuse("only workloads take part; write workload");
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
};

bool is_workload(const sim::ScenarioJob& job) {
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
    return refuse("computation is the share of what compute says in time: leave one of them out");
  }
  if (job.leaves <= job.arrives) {
    return refuse(fmt::format("leaves is {}: use a window after it arrives, above {}", job.leaves,
                              job.arrives));
  }
  const auto program = sim::make_pattern(job.pattern);
  return program ? Result<void>() : program.error();
}

}  // namespace

Result<std::vector<WorkloadJob>> workloads_of(const sim::Scenario& scenario) {
  std::vector<WorkloadJob> jobs;
  for (const sim::ScenarioJob& given : scenario.jobs) {
    if (!is_workload(given)) {
      return scenario.located(given.key, refuse("it is no workload; write kind = \"workload\""));
    }
    WorkloadJob job{.name = given.name};
    JobReader reader(job);
    for (const sim::JobOption& option : given.options) {
      if (auto read = reader.read(option); !read) {
        return scenario.located(given.key + "." + option.name, read.error());
      }
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

}  // namespace weft::qos
