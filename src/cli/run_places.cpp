// SPDX-License-Identifier: Apache-2.0
#include "cli/run_places.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/parsed_option.hpp"
#include "launch/launched_job.hpp"
#include "runtime/membership/job_file.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t most_connections = 1u << 20;

template <class Value, class Option>
void take(const CLI::App& command, const char* option, const std::optional<Value>& from,
          Option& into) {
  if (from && command.count(option) == 0) into = *from;
}

Result<void> find_by_file(const CLI::App& command, const std::string& path, LaunchOptions& launch) {
  auto file = read_job_file(path);
  if (!file) return Error{file.error().code, "--config: " + file.error().message};
  auto addresses = RankAddresses().resolve(*file);
  if (!addresses) return std::move(addresses).error();
  if (command.count("--fabric") == 0 && !file->fabric.empty()) launch.fabric = file->fabric;
  const auto fabric = parse_file_fabric(launch.fabric);
  if (!fabric) return invalid("--fabric: {}", fabric.error().message);
  // Each process reads it by itself, wherever it changes to.
  launch.file = std::filesystem::absolute(path).string();
  if (command.count("--processes") == 0) {
    launch.processes = static_cast<std::uint32_t>(ranks_here(*addresses).size());
    if (launch.processes == 0) {
      return invalid(
          "{}: none of its {} addresses is this machine's; start weft run on those that have some",
          path, addresses->size());
    }
  }
  take(command, "--restart", file->retain, launch.restart);
  take(command, "--timeout", file->timeout, launch.timeout);
  take(command, "--peer-timeout", file->peer_timeout, launch.peer_timeout);
  take(command, "--heartbeat", file->heartbeat, launch.heartbeat);
  take(command, "--inbox", file->inbox, launch.inbox);
  take(command, "--outbox", file->outbox, launch.outbox);
  take(command, "--outbox-fails", file->outbox_fails, launch.outbox_fails);
  take(command, "--connections", file->connections, launch.connections);
  if (command.count("--spill") == 0) launch.spill = file->spill;
  return {};
}

Result<void> find_by_hosts(const CLI::App& command, const PlaceOptions& places,
                           LaunchOptions& launch) {
  auto hosts = read_host_file(places.hosts);
  if (!hosts) return std::move(hosts).error();
  const auto slots = std::accumulate(hosts->begin(), hosts->end(), 0u,
                                     [](auto sum, const HostSlots& h) { return sum + h.slots; });
  if (command.count("--processes") == 0) launch.processes = slots;
  if (launch.processes > slots) {
    return invalid("-n: {} processes, but {} has {} slots; add hosts or slots", launch.processes,
                   places.hosts, slots);
  }
  if (launch.fabric.starts_with("sim:")) {
    return invalid("--fabric: '{}' with --hosts: a simulation runs on this host; leave one out",
                   launch.fabric);
  }
  launch.hosts = std::move(hosts).value();
  launch.ssh.clear();
  std::istringstream words(places.ssh);
  for (std::string word; words >> word;) launch.ssh.push_back(word);
  if (launch.ssh.empty()) return invalid("--ssh: is empty; name a command, such as ssh");
  return {};
}

}  // namespace

void add_place_options(CLI::App& command, PlaceOptions& places, LaunchOptions& launch) {
  auto* config =
      command.add_option("--config", places.config,
                         "file with the addresses of all ranks; weft starts this machine's ranks");
  config->type_name("FILE");
  command
      .add_option("--hosts", places.hosts, "file of hosts to run on, a line for each: HOST [SLOTS]")
      ->type_name("FILE")
      ->excludes(config);
  command.add_option("--ssh", places.ssh, "command, with options, that reaches a host")
      ->type_name("COMMAND")
      ->capture_default_str();
  command
      .add_option("--remote-weft", launch.remote_weft,
                  "path of weft on the hosts; by default the same as here")
      ->type_name("PATH");
  command.add_option("--network", launch.network, "network whose addresses processes use")
      ->type_name("ADDRESS/BITS");
  add_parsed(command, "--peer-timeout", launch.peer_timeout, parse_duration,
             "consider a machine dead that does not answer for this long", "as --timeout, or 10s");
  add_parsed(command, "--heartbeat", launch.heartbeat, parse_heartbeat,
             "probe a connection that has been silent for this long, before --peer-timeout",
             "half of --peer-timeout");
  command
      .add_option("--connections", launch.connections,
                  "TCP connections that a process keeps open; it closes the least recently used")
      ->check(CLI::Range(1u, most_connections))
      ->default_str("4096");
}

Result<void> check_times(const CLI::App& command, const PlaceOptions& places,
                         const LaunchOptions& launch) {
  const auto place_of = [&](const std::string& name) {
    return command.count("--" + name) > 0 ? "--" + name : places.config + ": " + name;
  };
  if (launch.timeout && *launch.timeout == Duration{}) {
    return invalid("{}: 0 leaves processes no time to find each other; use more, as 10s",
                   place_of("timeout"));
  }
  if (command.count("--peer-timeout") > 0 || launch.peer_timeout != Duration{}) {
    auto good = check_peer_timeout(place_of("peer-timeout"), launch.peer_timeout);
    if (!good) return good;
  }
  return check_heartbeat(place_of("heartbeat"), launch);
}

Result<void> find_places(const CLI::App& command, const PlaceOptions& places,
                         LaunchOptions& launch) {
  if (!places.config.empty()) return find_by_file(command, places.config, launch);
  if (!places.hosts.empty()) return find_by_hosts(command, places, launch);
  for (const char* option : {"--ssh", "--remote-weft"}) {
    if (command.count(option) > 0) return invalid("{}: needs --hosts FILE", option);
  }
  return {};
}

}  // namespace weft::cli
