// SPDX-License-Identifier: Apache-2.0
// Scenario: everything that a simulation consists of besides its jobs' own options: the network,
// where nodes are, their clocks and noise, background traffic and faults. Plain data, read from
// TOML (scenario_file.hpp) or drawn from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/rc/adapter.hpp"
#include "sim/network/options.hpp"
#include "sim/topology/placement.hpp"
#include "sim/traffic/traffic.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Each node's clock is off by an amount and runs fast or slow, drawn uniformly up to these.
struct ClockOptions {
  Duration offset{};             ///< at most, either way; at least 0
  double drift_per_million = 0;  ///< at most, either way; 0 … 1,000
};

/// Nodes stop for a moment now and then, as processes on busy machines do.
struct NoiseOptions {
  Duration every{};  ///< mean time between pauses of one node, exponential; 0: no noise
  Duration mean{};   ///< mean length of a pause, exponential
};

/// Reliable connections of InfiniBand between the hosts of a job, with modelled adapters.
struct ReliableOptions {
  net::rc::DeviceProfile device;
  net::rc::AdapterOptions adapter;
  bool prefetch = false;     ///< paged memory is there when it is exposed, or sent from
  bool sends_paged = false;  ///< with paged memory: sends leave from a ring that is paged too
  Duration dummy_after{};    ///< zero: stuck requests are left to timeouts
};

/// How a job's operations get into the network and out of it.
struct JobFabricOptions {
  /// Bytes of each one-sided write that are really copied, from its beginning.
  std::uint64_t copied_bytes = ~std::uint64_t{0};
  std::uint32_t header_bytes = 32;  ///< that an operation adds to its own on the network
  Duration acknowledgement = Duration::microseconds(1);
  Duration death_notice = Duration::milliseconds(1);
  Duration notice_spread{};  ///< each process may notice deaths and outages so much later
  std::optional<ReliableOptions> reliable;  ///< none: every message arrives
};

/// Faults that are drawn: on average so many per simulated second and node, until `until`.
struct RandomFaults {
  double links_down_per_s = 0;
  double links_slow_per_s = 0;
  double pauses_per_s = 0;
  double crashes_per_s = 0;  ///< each followed by a restart
  Duration mean_length = Duration::milliseconds(1);
  Duration until{};

  bool happen() const {
    return links_down_per_s + links_slow_per_s + pauses_per_s + crashes_per_s > 0;
  }
};

/// Programs whose processes are simulated (`weft run --fabric sim:`).
struct ProgramOptions {
  ByteCount stack = ByteCount::mib(1);  ///< of a process; memory is taken as it is touched
  std::uint32_t per_host = 1;           ///< processes
  std::uint8_t level = 0;               ///< service level of all that they send
  bool in_turn = false;  ///< ranks go to hosts round robin; else neighbouring ones share a host
  /// Whether the time that the host computes between two calls passes in the simulation as well,
  /// times `compute_scale`. That time varies, so nothing is repeatable then.
  bool measure_compute = false;
  double compute_scale = 1;
  Duration restart_after = Duration::milliseconds(1);  ///< from a process's end to its next life
  std::uint32_t crashes = 0;                           ///< 1 to so many are drawn; 0: none
  Duration crash_within = Duration::milliseconds(1);   ///< from the programs' beginning
  Duration limit = Duration::seconds(3'600);           ///< simulated; a job that takes longer fails
};

/// A value as a file has it: "network.host-link.rate", "traffic[1].load", "job.inputs".
struct ScenarioEntry {
  std::string key;
  std::string value;
  std::uint32_t line = 0;
  std::string setting;  ///< "--set KEY=VALUE" when it is from there, not from the file
};

/// An option of the job, as the command line has it without its dashes; flags have "true".
struct JobOption {
  std::string name;
  std::vector<std::string> values;
  std::uint32_t line = 0;
  std::string setting;  ///< as in ScenarioEntry
};

/// A job: [job], or one of [[jobs]].
struct ScenarioJob {
  std::string name = "job";  ///< letters, digits, - and _; no two jobs have the same
  std::string key = "job";   ///< where it stands: "job", "jobs[2]"
  Duration start{};          ///< of its processes, since the simulation's
  std::uint8_t level = 0;    ///< service level of all it sends
  std::optional<PlacementOptions> placement;  ///< among the hosts that are left; none: as all
  std::vector<JobOption> options;
};

/// A service level is another one from some time on.
struct LevelChange {
  Duration at{};  ///< since the simulation's start
  std::uint8_t level = 0;
  std::optional<std::uint8_t> priority, weight;  ///< none: stays
};

struct Scenario {
  std::string name;  ///< file it came from, for reports and messages; empty: none
  std::string topology = "star:16";
  std::string router;  ///< empty: the topology's default
  PlacementOptions placement;
  NetworkOptions network;
  std::vector<LevelChange> level_changes;  ///< in order of time
  bool all_lossy = false;                  ///< every link may lose packets when a fault says so
  std::vector<std::string> lossy;          ///< or only these, by name: "host3", "switch0--switch4"
  JobFabricOptions fabric;
  ClockOptions clocks;
  NoiseOptions noise;
  std::vector<TrafficOptions> traffic;
  std::vector<std::string> faults;  ///< as `--fault` has them: "at=2s kill host3"
  RandomFaults random_faults;
  ProgramOptions programs;
  Duration duration = Duration::milliseconds(1);  ///< of sending, when there is no job
  std::vector<ScenarioJob> jobs;                  ///< [job] first; empty: there is traffic only
  std::vector<JobOption> qos;  ///< [qos]: of experiments with service levels, which read them
  std::uint64_t seed = 1;
  std::vector<ScenarioEntry> entries;  ///< everything that the file says, in its order of keys

  /// True when there is one job, whose results need no name.
  bool has_single_job() const { return jobs.size() == 1 && jobs[0].key == "job"; }

  /// The error with file and line of `key` in front, and "KEY = VALUE" where it has one; with the
  /// line of its section, or with none, when the file does not say it; as it is when there is no
  /// file. A message that begins with a key below `key` ("load is …") is about that one.
  Error located(std::string_view key, Error error) const;
};

/// Refuses faults, drawn ones too, for simulations that have none, with what to do instead.
Result<void> refuse_faults(const Scenario& scenario, std::string_view fix);

/// The text on one line, without line breaks.
std::string one_line(std::string text);
/// A value for messages: not long, and "" when it is empty.
std::string shown(std::string_view value);

/// Checks ranges that need no topology. Errors name the key, its value and the fix.
Result<void> check_scenario(const Scenario& scenario);

}  // namespace weft::sim
