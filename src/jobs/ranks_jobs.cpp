// SPDX-License-Identifier: Apache-2.0
#include "jobs/ranks_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/number_text.hpp"
#include "base/units.hpp"
#include "jobs/option_text.hpp"
#include "jobs/workload_job.hpp"
#include "trace/replay/trace_job.hpp"

namespace weft::jobs {
namespace {

using Json = nlohmann::ordered_json;

bool has_option(const sim::ScenarioJob& job, std::string_view name) {
  return std::any_of(job.options.begin(), job.options.end(),
                     [&](const auto& option) { return option.name == name; });
}

/// The only value of an option, which is no option of the job any more; nothing if it has none.
std::optional<std::string> take_option(sim::ScenarioJob& job, std::string_view name) {
  const auto at = std::find_if(job.options.begin(), job.options.end(),
                               [&](const auto& option) { return option.name == name; });
  if (at == job.options.end()) return std::nullopt;
  std::string value = at->values.size() == 1 ? at->values.front() : std::string();
  job.options.erase(at);
  return value;
}

Result<std::uint64_t> count_of(const std::string& text) {
  if (const auto count = parse_number<std::uint64_t>(text)) return *count;
  return refuse("it is not a whole number; write one, 0 for a job without an end");
}

/// Returns when a job is to depart.
Result<PicoInstant> end_of(const std::string& text, Duration start) {
  const auto end = parse_duration(text);
  if (!end) return end.error();
  if (*end <= start) return refuse("it ends before it starts; make end larger than start");
  return PicoInstant() + to_pico(*end);
}

/// Refuses what only experiments with service levels do.
Result<void> refuse_words_of_qos(const sim::Scenario& scenario, const sim::ScenarioJob& job,
                                 const WorkloadJob& workload) {
  for (const std::string_view key : {"arrives", "leaves", "ages"}) {
    if (!has_option(job, key)) continue;
    return scenario.located(fmt::format("{}.{}", job.key, key),
                            refuse("only weft qos has windows; take it out, or write start = "
                                   "\"1ms\" and end = \"10ms\""));
  }
  if (workload.computation > 0) {
    return scenario.located(job.key + ".computation",
                            refuse("only weft qos measures what that takes; write compute = "
                                   "\"20us\""));
  }
  if (workload.files.size() > 1) {
    return scenario.located(job.key + ".file",
                            refuse("only weft qos draws one of several; write one"));
  }
  return {};
}

}  // namespace

/// Returns the streams.
Result<std::vector<sim::ScenarioJob>> RanksJobs::take(const sim::Scenario& scenario) {
  std::vector<sim::ScenarioJob> streams;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    sim::ScenarioJob job = scenario.jobs[i];
    const std::string kind = take_option(job, "kind").value_or("stream");
    if (kind == "stream") {
      streams.push_back(std::move(job));
      continue;
    }
    if (kind != "workload" && kind != "trace") {
      return scenario.located(job.key + ".kind",
                              refuse("write stream, workload or trace; a program runs beside "
                                     "these jobs by weft run --fabric sim:SCENARIO"));
    }
    auto good = add(scenario, scenario.jobs[i],
                    {.position = i, .streams_before = streams.size(), .kind = kind});
    if (!good) return std::move(good).error();
  }
  return streams;
}

Result<void> RanksJobs::take_from(sim::Scenario& scenario) {
  auto streams = take(scenario);
  if (!streams) return std::move(streams).error();
  const bool is_endless = !plans_.empty() && streams->empty() &&
                          std::all_of(plans_.begin(), plans_.end(),
                                      [](const Plan& plan) { return plan.options.is_endless; });
  if (is_endless) {
    return scenario.located(plans_.front().job.key,
                            refuse("none of the jobs ever ends; write iterations = 100 or end = "
                                   "\"10ms\""));
  }
  scenario.jobs = std::move(streams).value();
  return {};
}

Result<void> RanksJobs::take_beside_program(sim::Scenario& scenario) {
  auto streams = take(scenario);
  if (!streams) return std::move(streams).error();
  for (const sim::ScenarioJob& job : *streams) {
    if (job.key == "job") continue;
    return scenario.located(job.key, refuse("a stream does not run beside a program; write kind = "
                                            "\"workload\" or \"trace\", or take it out"));
  }
  scenario.jobs.clear();
  return {};
}

/// All copies of a job.
Result<void> RanksJobs::add(const sim::Scenario& scenario, sim::ScenarioJob job, const Plan& of) {
  std::uint64_t iterations = 0;
  PicoInstant end = PicoInstant::never();
  const bool is_trace = of.kind == "trace";
  // A trace is replayed once.
  if (const auto text = is_trace ? std::nullopt : take_option(job, "iterations")) {
    const auto count = count_of(*text);
    if (!count) return scenario.located(job.key + ".iterations", count.error());
    iterations = *count;
  }
  if (const auto text = take_option(job, "end")) {
    const auto at = end_of(*text, job.start);
    if (!at) return scenario.located(job.key + ".end", at.error());
    end = *at;
  }
  // A trace has the noise of its recording.
  const bool is_exact = is_trace && !has_option(job, "noise");
  sim::Scenario alone = scenario;
  alone.jobs = {job};
  auto workloads = workloads_of(alone);
  if (!workloads) return std::move(workloads).error();
  if (auto good = refuse_words_of_qos(scenario, job, workloads->front()); !good) return good;
  for (WorkloadJob& workload : *workloads) {
    workload.pattern.iterations = iterations;
    auto program = is_trace ? Result<std::unique_ptr<sim::Program>>(nullptr)
                            : sim::make_pattern(workload.pattern);
    if (!program) return scenario.located(job.key, program.error());
    Plan& copy = plans_.emplace_back(of);
    copy.job = job;
    copy.what = workload.what();
    copy.ranks = workload.pattern.ranks;
    copy.program = std::move(program).value();
    copy.trace = is_trace ? workload.traces.front() : nullptr;
    copy.compute_factor = workload.compute_factor;
    copy.options = {.name = workload.name,
                    .ranks = {.eager_bytes = workload.eager_bytes,
                              .header_bytes = scenario.fabric.header_bytes,
                              .compute_noise = is_exact ? 0 : workload.compute_noise,
                              .start = PicoInstant() + to_pico(job.start),
                              .level = job.level,
                              .seed = scenario.seed * 1'000'003 + plans_.size() - 1},
                    .end = end,
                    .is_endless = !is_trace && iterations == 0 && end == PicoInstant::never()};
  }
  return {};
}

Result<std::unique_ptr<sim::Job>> RanksJobs::make(const Plan& plan, sim::World& world,
                                                  std::vector<std::uint32_t> hosts) {
  if (plan.program != nullptr) {
    return std::unique_ptr<sim::Job>(
        std::make_unique<sim::RanksJob>(world, *plan.program, plan.options, std::move(hosts)));
  }
  auto feed = plan.trace->feed(plan.compute_factor);
  if (!feed) return std::move(feed).error();
  return std::unique_ptr<sim::Job>(std::make_unique<trace::TraceJob>(
      world, *plan.trace, std::move(feed).value(), plan.options, std::move(hosts)));
}

std::vector<sim::JobBeside> RanksJobs::beside() {
  runs_.resize(plans_.size());
  std::vector<sim::JobBeside> all;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Plan& plan = plans_[i];
    runs_[i].position = plan.position;
    const auto make_job = [&plan](sim::World& world, std::vector<std::uint32_t> hosts) {
      return make(plan, world, std::move(hosts));
    };
    all.push_back({.key = plan.job.key,
                   .streams_before = plan.streams_before,
                   .hosts = plan.ranks,
                   .placement = plan.job.placement,
                   .make = make_job,
                   .on_concluded = [this, i](const sim::Job& job) {
                     runs_[i].figures = static_cast<const sim::RanksJob&>(job).figures();
                   }});
  }
  return all;
}

const RanksJobs::Plan& RanksJobs::plan_of(const RanksRun& run) const {
  return plans_[static_cast<std::size_t>(&run - runs_.data())];
}

std::string RanksJobs::to_json(const RanksRun& run) const {
  const Plan& plan = plan_of(run);
  const sim::RanksJobFigures& f = run.figures;
  return Json{{"name", f.name},
              {"kind", plan.kind},
              {plan.trace ? "file" : "pattern", plan.what},
              {"level", plan.job.level},
              {"start_s", plan.job.start.to_seconds()},
              {"elapsed_s", f.elapsed_s},
              {"ended", f.ended},
              {"ranks", f.ranks},
              {"least_iterations", f.least_iterations},
              {"most_iterations", f.most_iterations},
              {"messages", f.messages},
              {"bytes", f.bytes},
              {"waited_s", f.waited_s}}
      .dump();
}

}  // namespace weft::jobs
