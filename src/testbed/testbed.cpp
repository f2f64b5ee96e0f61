// SPDX-License-Identifier: Apache-2.0
#include "testbed/testbed.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "testbed/host_settings.hpp"
#include "testbed/keeper.hpp"
#include "testbed/plan.hpp"
#include "testbed/spaces.hpp"
#include "testbed/state_file.hpp"
#include "testbed/tool.hpp"

namespace weft::testbed {
namespace {

const std::vector<std::string> kBatch{"-batch", "-"};

// tc has no words for a kind of queue that the kernel lacks.
Error explained(Error error, const TestbedOptions& options) {
  if (error.message.find("qdisc kind is unknown") == std::string::npos) return error;
  const bool netem = options.delay != Duration{};
  return {ErrorCode::unavailable,
          netem ? fmt::format("--delay {}: this kernel has no netem (module sch_netem); leave "
                              "--delay out, or shape the fabric with --link RATE,LATENCY",
                              to_text(options.delay))
          : options.levels.empty()
              ? std::string("--link: this kernel has no tbf (module sch_tbf); use --link 0")
              : std::string("--levels: this kernel has no htb (module sch_htb); leave --levels "
                            "out")};
}

// The start of a keeper's testbed: the switch and all hosts, wired and shaped.
Result<void> wire(const Spaces& spaces, const TestbedOptions& options) {
  const std::uint32_t sw = spaces.switch_index();
  auto done = run_tool(spaces, sw, kIp, kBatch, switch_links(options));
  std::string ports;
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    if (!done.ok()) return done;
    done = run_tool(spaces, host, kIp, kBatch, host_links(options, host));
    const std::string queue = host_queue(options, options.link);
    if (done.ok() && !queue.empty()) done = run_tool(spaces, host, kTc, kBatch, queue);
    ports += port_queue(options, host, options.link);
  }
  ports += uplink_queues(options);
  if (done.ok() && !ports.empty()) done = run_tool(spaces, sw, kTc, kBatch, ports);
  return done;
}

}  // namespace

struct Testbed::State {
  TestbedOptions options;
  std::string congestion_control;
  Keeper keeper;
  Spaces spaces;
  bool stays = false;
  Drops drops;

  ~State() {
    if (!stays && keeper.handle.open()) (void)end_keeper(keeper.handle, keeper.pid);
  }
};

Testbed::Testbed(std::unique_ptr<State> state) : state_(std::move(state)) {}
Testbed::Testbed(Testbed&&) noexcept = default;
Testbed& Testbed::operator=(Testbed&&) noexcept = default;
Testbed::~Testbed() = default;

Result<std::unique_ptr<Testbed::State>> Testbed::build(const TestbedOptions& options, bool stays) {
  if (auto checked = check(options); !checked.ok()) return std::move(checked).error();
  for (const Tool& tool : {kIp, kTc}) {
    if (auto found = find_tool(tool); !found.ok()) return std::move(found).error();
  }
  auto state = std::make_unique<State>();
  state->options = options;
  state->drops.loss.assign(options.hosts, 0);
  state->drops.island.assign(options.hosts, 0);
  auto keeper = start_keeper({.hosts = options.hosts,
                              .user_namespace = ::geteuid() != 0,
                              .end_with_caller = !stays,
                              .lifetime = options.lifetime});
  if (!keeper.ok()) return std::move(keeper).error();
  state->keeper = std::move(*keeper);
  auto spaces = Spaces::open(state->keeper.pid, options.hosts);
  if (!spaces.ok()) return std::move(spaces).error();
  state->spaces = std::move(*spaces);
  if (auto wired = wire(state->spaces, options); !wired.ok()) {
    return explained(std::move(wired).error(), options);
  }
  auto set = apply_host_settings(state->spaces, options);
  if (!set.ok()) return std::move(set).error();
  state->congestion_control = std::move(*set);
  auto awaited = await_links(state->spaces, 0, options.hosts);
  if (!awaited.ok()) return std::move(awaited).error();
  return state;
}

Result<Testbed> Testbed::up(const TestbedOptions& options) {
  auto state = build(options, false);
  if (!state.ok()) return std::move(state).error();
  return Testbed(std::move(*state));
}

Result<Testbed> Testbed::up_named(const TestbedOptions& options, std::string_view name) {
  if (auto checked = check_name(name); !checked.ok()) return std::move(checked).error();
  if (const auto before = read_record(name); before.ok()) {
    if (is_alive(*before)) {
      return invalid("testbed '{0}' is up already; `weft testbed down --name {0}` ends it", name);
    }
    if (auto removed = remove_record(name); !removed.ok()) return std::move(removed).error();
  }
  auto state = build(options, true);
  if (!state.ok()) return std::move(state).error();
  const pid_t pid = (*state)->keeper.pid;
  const auto start = start_time_of(pid);
  if (!start.ok()) return start.error();
  auto written = write_record(name, {pid, *start, options, (*state)->congestion_control});
  if (!written.ok()) return std::move(written).error();
  (*state)->stays = true;
  return Testbed(std::move(*state));
}

Result<Testbed> Testbed::attach(std::string_view name) {
  auto record = read_record(name);
  if (!record.ok()) return std::move(record).error();
  auto state = std::make_unique<State>();
  state->stays = true;
  state->keeper.pid = record->keeper;
  state->keeper.handle = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, record->keeper, 0)));
  // Looked at with the handle open, so that the number cannot change its owner in between.
  if (!state->keeper.handle.open() || !is_alive(*record)) {
    return make_error(
        ErrorCode::not_found,
        "testbed '{0}' has crashed or ended; `weft testbed down --name {0}` clears its record",
        name);
  }
  auto spaces = Spaces::open(record->keeper, record->options.hosts);
  if (!spaces.ok()) return std::move(spaces).error();
  state->spaces = std::move(*spaces);
  state->drops.loss.assign(record->options.hosts, 0);
  state->drops.island.assign(record->options.hosts, 0);
  state->options = record->options;
  state->congestion_control = record->congestion_control;
  return Testbed(std::move(state));
}

Result<void> Testbed::down(std::string_view name) {
  const auto record = read_record(name);
  if (!record.ok()) return record.error();
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, record->keeper, 0)));
  if (handle.open() && is_alive(*record)) {
    if (auto ended = end_keeper(handle, record->keeper); !ended.ok()) return ended;
  }
  return remove_record(name);
}

std::vector<std::string> Testbed::names() {
  return record_names();
}

const TestbedOptions& Testbed::options() const {
  return state_->options;
}

const std::string& Testbed::congestion_control() const {
  return state_->congestion_control;
}

std::string Testbed::address(std::uint32_t host) const {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  return host_address(host);
}

std::string Testbed::namespace_path(std::uint32_t host) const {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  return fmt::format("/proc/{}/root{}/{}", state_->keeper.pid, kNamespaceDirectory,
                     host_namespace(host));
}

Result<void> Testbed::enter_host(std::uint32_t host) const {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  int error = state_->spaces.enter_user();
  if (error == 0) error = state_->spaces.enter_network(host);
  if (error == 0) return {};
  return make_error(ErrorCode::unavailable, "testbed: enter host{}: {}", host,
                    std::strerror(error));
}

Result<void> Testbed::contain_children() const {
  int error = state_->spaces.enter_user();
  if (error == 0) error = state_->spaces.adopt_children();
  if (error == 0) return {};
  return make_error(ErrorCode::unavailable, "testbed: contain processes: {}", std::strerror(error));
}

Result<void> Testbed::set_link_up(std::uint32_t host, bool up) {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  const std::vector<std::string> arguments{"link", "set", port_name(host), up ? "up" : "down"};
  auto done = run_tool(state_->spaces, state_->spaces.switch_index(), kIp, arguments, {});
  return done.ok() && up ? await_links(state_->spaces, host, host + 1) : done;
}

Result<void> Testbed::set_rate(std::uint32_t host, Bandwidth rate) {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  const Bandwidth wanted = rate == Bandwidth{} ? options().link : rate;
  std::string at_host = host_queue(options(), wanted),
              at_port = port_queue(options(), host, wanted);
  if (wanted == Bandwidth{}) {
    at_host = "qdisc del dev eth0 root\n" + at_host;
    at_port = fmt::format("qdisc del dev {} root\n", port_name(host));
  }
  auto done = run_tool(state_->spaces, host, kTc, kBatch, at_host);
  if (!done.ok()) return done;
  return run_tool(state_->spaces, state_->spaces.switch_index(), kTc, kBatch, at_port);
}

Result<void> Testbed::set_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
  state_->drops.loss[host] = std::min(parts_per_million, 1'000'000u);
  const std::vector<std::string> arguments{"-f", "-"};
  return run_tool(state_->spaces, state_->spaces.switch_index(), kNft, arguments,
                  drop_rules(state_->drops));
}

Result<void> Testbed::set_level_weights(std::span<const std::uint8_t> weights) {
  WEFT_CHECK(weights.size() == options().levels.size(), "{} weights for {} levels", weights.size(),
             options().levels.size());
  const std::string changes = change_weights(options(), weights);
  if (changes.empty()) return {};
  return run_tool(state_->spaces, state_->spaces.switch_index(), kTc, kBatch, changes);
}

Result<void> Testbed::set_partition(const std::vector<std::vector<std::uint32_t>>& groups) {
  if (options().uplink != Bandwidth{}) {
    return Error{ErrorCode::unavailable,
                 "partition: a testbed of two switches (--uplink) has none; leave --uplink out, or "
                 "use link-down"};
  }
  auto& island = state_->drops.island;
  std::ranges::fill(island, 0);
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    for (const std::uint32_t host : groups[group]) {
      WEFT_CHECK(host < hosts(), "host {} of {}", host, hosts());
      island[host] = group + 1;
    }
  }
  const std::vector<std::string> arguments{"-f", "-"};
  return run_tool(state_->spaces, state_->spaces.switch_index(), kNft, arguments,
                  drop_rules(state_->drops));
}

}  // namespace weft::testbed
