// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/job_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/make_error.hpp"
#include "sim/faults/network_faults.hpp"
#include "sim/faults/random_faults.hpp"

namespace weft::stream {
namespace {

/// A fault without the name of its job: "at=1ms kill a:host3" is "at=1ms kill host3" of "a".
struct Owned {
  std::string job;  ///< empty: none is named
  std::string text;
};

Owned take_job(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {.job = "", .text = text};
  const std::size_t space = text.rfind(' ', colon);
  const std::size_t begin = space == std::string::npos ? 0 : space + 1;
  const std::string word = text.substr(begin, text.find(' ', begin) - begin);
  if (word.find("--") != std::string::npos) return {.job = "", .text = text};
  return {.job = text.substr(begin, colon - begin),
          .text = text.substr(0, begin) + text.substr(colon + 1)};
}

class FaultReader {
 public:
  FaultReader(sim::World& world, std::span<const SimulatedJob> jobs,
              const std::vector<std::vector<std::uint32_t>>& hosts)
      : world_(world), jobs_(jobs), hosts_(hosts) {
    faults_.of_jobs.resize(jobs.size());
  }

  Result<JobFaults> read() {
    const sim::Scenario& scenario = world_.scenario();
    if (jobs_.empty() && scenario.random_faults.happen()) {
      return scenario.located(
          "random-faults",
          invalid("random faults happen to the nodes of streams, and no job is one; take "
                  "[random-faults] out, or name cables in faults"));
    }
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const StreamOptions& o = jobs_[j].options;
      faults_.of_jobs[j] = sim::draw_random_faults(scenario, o.inputs, o.computes, number_of(j));
    }
    for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
      if (auto good = take(scenario.faults[i]); !good) {
        return scenario.located(fmt::format("faults[{}]", i), good.error());
      }
    }
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (const std::string& text : jobs_[j].local.faults) {
        if (auto good = take(text, j); !good) return std::move(good).error();
      }
    }
    return std::move(faults_);
  }

 private:
  static std::uint32_t number_of(std::size_t job) { return static_cast<std::uint32_t>(job); }

  static Error refused(const std::string& text, const std::string& why) {
    return invalid("--fault '{}': {}", text, why);
  }

  std::string names() const {
    std::string all;
    for (const SimulatedJob& job : jobs_) all += (all.empty() ? "" : ", ") + job.name;
    return all;
  }

  Result<void> take(const std::string& text) {
    const Owned owned = take_job(text);
    if (owned.job.empty() && jobs_.size() == 1) return take(owned.text, 0);
    if (owned.job.empty()) {
      if (text.find("--") != std::string::npos) return take_cable(text);
      if (jobs_.empty()) return refused(text, "no job has nodes that it could happen to");
      return refused(text, fmt::format("it does not say whose host; write {}:host0, jobs are {}",
                                       jobs_.front().name, names()));
    }
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].name == owned.job) return take(owned.text, j);
    }
    return refused(text, fmt::format("no job is called '{}'; jobs are {}", owned.job, names()));
  }

  Result<void> take(const std::string& text, std::size_t job) {
    const auto nodes = static_cast<std::uint32_t>(hosts_[job].size());
    auto fault = faults::parse_fault(text, nodes, faults::FaultPlaces::hosts_and_cables);
    if (!fault) return std::move(fault).error();
    if (auto good = sim::check_fault(world_, *fault, hosts_[job]); !good) return good;
    faults_.of_jobs[job].push_back(std::move(fault).value());
    return {};
  }

  Result<void> take_cable(const std::string& text) {
    auto fault = faults::parse_fault(text, 1, faults::FaultPlaces::hosts_and_cables);
    if (!fault) return std::move(fault).error();
    if (fault->cable.empty()) return refused(text, "it names no cable; write A--B");
    if (auto good = sim::check_fault(world_, *fault, {}); !good) return good;
    faults_.of_network.push_back(std::move(fault).value());
    return {};
  }

  sim::World& world_;
  std::span<const SimulatedJob> jobs_;
  const std::vector<std::vector<std::uint32_t>>& hosts_;
  JobFaults faults_;
};

}  // namespace

Result<JobFaults> parse_job_faults(sim::World& world, std::span<const SimulatedJob> jobs,
                                   const std::vector<std::vector<std::uint32_t>>& hosts) {
  return FaultReader(world, jobs, hosts).read();
}

}  // namespace weft::stream
