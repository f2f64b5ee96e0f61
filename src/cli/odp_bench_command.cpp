// SPDX-License-Identifier: Apache-2.0
// weft odp bench: the paper's micro-benchmark and its measurement of timeouts on real adapters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/odp_options.hpp"
#include "cli/parsed_option.hpp"
#include "rdma/verbs/bench.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::cli {
namespace {

using fabric::MemoryMode;
using rdma::BenchOptions;
using rdma::BenchOutcome;
using rdma::TimeoutPoint;

struct BenchCommand {
  BenchOptions options;
  std::string server;
  std::string listen;
  std::vector<std::uint8_t> timeouts;
  bool once = false;
  bool json = false;
};

bool wants_paged_client(const BenchOptions& o) {
  return o.paged == rdma::PagedSide::client || o.paged == rdma::PagedSide::both;
}
bool wants_paged_server(const BenchOptions& o) {
  return o.paged == rdma::PagedSide::server || o.paged == rdma::PagedSide::both;
}

nlohmann::ordered_json to_json(const BenchOptions& o, const BenchOutcome& r) {
  nlohmann::ordered_json json = {{"execution_us", r.execution.to_microseconds()}};
  if (r.counters) {
    json["timeouts"] = r.counters->timeouts;
    json["rnr_naks"] = r.counters->rnr_naks;
    json["sequence_naks"] = r.counters->sequence_naks;
  }
  if (r.packets) json["packets"] = *r.packets;
  if (r.counters) {
    const auto found = rdma::CounterJudge().judge(*r.counters, r.execution);
    const auto has = [&](rdma::FindingClass kind) {
      return std::find(found.begin(), found.end(), kind) != found.end();
    };
    json["damming"] = has(rdma::FindingClass::damming);
    json["flood"] = has(rdma::FindingClass::flood);
  }
  json["failed"] = r.failed;
  if (r.failed > 0) json["failure"] = r.failure;
  json["device"] = r.device;
  json["odp"] = to_text(o.paged);
  json["client_memory"] = to_text(r.client_memory);
  json["server_memory"] = to_text(r.server_memory);
  return json;
}

/// The kind of memory in use, and the reason when it is not the requested one.
std::string memory_line(MemoryMode is, bool wants_paged, bool wants_prefetch) {
  std::string line(to_text(is));
  if (wants_paged && is == MemoryMode::pinned) {
    line += ": its device has no on-demand paging for READs";
  } else if (wants_paged && wants_prefetch && is == MemoryMode::paged) {
    line += ": its device does not prefetch (ibv_advise_mr)";
  }
  return line;
}

void print_text(const BenchOptions& o, const BenchOutcome& r) {
  fmt::print("{} READs of {} over {} queue pairs, {}\n", o.operations, to_text(ByteCount(o.size)),
             o.queue_pairs, r.device);
  fmt::print("client       {}\n", memory_line(r.client_memory, wants_paged_client(o), o.prefetch));
  fmt::print("server       {}\n", memory_line(r.server_memory, wants_paged_server(o), o.prefetch));
  fmt::print("execution    {}{}\n", to_text(r.execution),
             r.failed > 0 ? fmt::format(", {} operations failed: {}", r.failed, r.failure) : "");
  if (r.packets) fmt::print("packets      {}\n", *r.packets);
  if (!r.counters) return fmt::print("recovery     the driver of {} shows no counters\n", r.device);
  fmt::print("recovery     {} timeouts, {} RNR NAKs, {} sequence NAKs\n", r.counters->timeouts,
             r.counters->rnr_naks, r.counters->sequence_naks);
}

void serve(const BenchCommand& command, const rdma::StopCheck& stop, Outcome& outcome) {
  auto place = rdma::parse_place(command.listen);
  if (!place) {
    return report_error({ErrorCode::invalid_argument, "--listen: " + place.error().message},
                        outcome);
  }
  const auto say = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  const auto served =
      rdma::serve_bench({command.options.device, *place, command.once}, stop,
                        {.listens =
                             [&](std::uint16_t port, const std::string& device) {
                               say(fmt::format("{} listens on port {}", device, port));
                             },
                         .client = say});
  if (!served) report_error(served.error(), outcome);
}

void measure_timeouts(const BenchCommand& command, const HostPort& place,
                      const rdma::StopCheck& stop, Outcome& outcome) {
  auto points = nlohmann::ordered_json::array();
  if (!command.json) fmt::print("code  4.096 us * 2^C  until it gave up  timeout\n");
  const auto show = [&](const TimeoutPoint& point) {
    points.push_back({{"ack_timeout", point.ack_timeout},
                      {"nominal_us", point.nominal.to_microseconds()},
                      {"total_us", point.total.to_microseconds()},
                      {"timeout_us", point.timeout.to_microseconds()}});
    if (command.json) return;
    fmt::print("{:<4}  {:<14}  {:<16}  {}\n", point.ack_timeout, to_text(point.nominal),
               to_text(point.total), to_text(point.timeout));
    std::fflush(stdout);
  };
  const auto measured =
      rdma::measure_timeouts(command.options, place, command.timeouts, stop, show);
  if (!measured) return report_error(measured.error(), outcome);
  if (!command.json) return;
  const nlohmann::ordered_json json = {{"retries", command.options.retry_count},
                                       {"timeouts", points}};
  fmt::print("{}\n", json.dump());
}

void bench(const BenchCommand& command, const rdma::StopCheck& stop, Outcome& outcome) {
  const BenchOptions& o = command.options;
  const auto place = rdma::parse_place(command.server);
  if (!place || place->host.empty()) {
    return report_error(
        invalid("HOST:PORT: '{}' is no server; write one such as node1:7000", command.server),
        outcome);
  }
  if (std::uint64_t{o.size} * o.operations > rdma::most_buffer_bytes) {
    return report_error(
        invalid("--size {} and --num-ops {} need {}: 1 GiB is the most", o.size, o.operations,
                to_text(ByteCount(std::uint64_t{o.size} * o.operations))),
        outcome);
  }
  if (!command.timeouts.empty()) return measure_timeouts(command, *place, stop, outcome);
  const auto result = rdma::run_bench(o, *place, stop);
  if (!result) return report_error(result.error(), outcome);
  if (command.json) {
    fmt::print("{}\n", to_json(o, *result).dump());
  } else {
    print_text(o, *result);
  }
  if (result->failed > 0) outcome.code = ExitCode::failed;
}

void run(const BenchCommand& command, Outcome& outcome) {
  if (command.listen.empty() == command.server.empty()) {
    const char* const what =
        command.listen.empty()
            ? "HOST:PORT: is missing: name the server, or give --listen PORT to be it"
            : "--listen: a server takes no HOST:PORT; leave one out";
    return report_error({ErrorCode::invalid_argument, what}, outcome);
  }
  run_stoppable(outcome, [&] {
    const StopSignals signals;
    const rdma::StopCheck stop = [&] { return signals.came(); };
    if (!command.listen.empty()) return serve(command, stop, outcome);
    bench(command, stop, outcome);
  });
}

void add_options(CLI::App& command, BenchCommand& state) {
  BenchOptions& o = state.options;
  command.add_option("--size", o.size, "bytes of each READ")
      ->check(CLI::Range(1U, 1U << 24))
      ->capture_default_str();
  command.add_option("--num-ops", o.operations, "number of READs")
      ->check(CLI::Range(1U, 1U << 22))
      ->capture_default_str();
  command.add_option("--num-qps", o.queue_pairs, "queue pairs that take turns")
      ->check(CLI::Range(1U, rdma::most_queue_pairs))
      ->capture_default_str();
  add_parsed(command, "--interval", o.interval, parse_duration, "time between two READs", "0s");
  add_parsed(command, "--odp", o.paged, rdma::parse_paged_side,
             "side whose memory is paged, if the device supports it: none, client, server or both",
             "both")
      ->type_name("SIDE");
  command.add_flag("--prefetch", o.prefetch, "page memory in first, with ibv_advise_mr");
  add_parsed(command, "--rnr-delay", o.rnr_timer, parse_rnr_delay,
             "minimal RNR NAK delay, rounded up to one of InfiniBand's 32", "1.28ms")
      ->type_name("TIME");
  command.add_option("--ack-timeout", o.ack_timeout, "code C of 4.096us * 2^C; 0: none")
      ->check(CLI::Range(0, 31))
      ->default_str(std::to_string(o.ack_timeout));
  command
      .add_option("--retries", o.retry_count,
                  "timeouts until a READ fails; software RoCE treats 7 as unlimited")
      ->check(CLI::Range(0, 7))
      ->default_str(std::to_string(o.retry_count));
  add_parsed(command, "--timeouts", state.timeouts, parse_timeout_codes,
             "instead measure how long the adapter waits for an answer, for each code C: 1..31")
      ->type_name("LIST");
}

void add_device_options(CLI::App& command, rdma::DeviceChoice& device) {
  command
      .add_option("--device", device.name, "adapter, as mlx5_0; by default the first active one")
      ->type_name("NAME");
  command.add_option("--port", device.port, "port of the adapter")
      ->check(CLI::Range(1, 255))
      ->default_str("1");
  command
      .add_option("--gid-index", device.gid_index,
                  "index in the port's GID table; by default RoCE v2 with IPv4, if there is one")
      ->check(CLI::Range(0, 255))
      ->type_name("NUMBER");
}

}  // namespace

void add_odp_bench_command(CLI::App& odp, Outcome& outcome) {
  auto* bench = odp.add_subcommand(
      "bench", "Run the micro-benchmark between two processes on real RDMA adapters");
  auto state = std::make_shared<BenchCommand>();
  bench
      ->add_option("SERVER", state->server,
                   "address of a process that runs `weft odp bench --listen`")
      ->type_name("HOST:PORT");
  bench->add_option("--listen", state->listen, "run as the server, at this port; 0: a free port")
      ->type_name("[ADDR:]PORT");
  bench->add_flag("--once", state->once, "with --listen: exit after one client");
  add_options(*bench, *state);
  add_device_options(*bench, state->options.device);
  bench->add_flag("--json", state->json, "print one JSON object");
  bench->footer(
      "Any host that reaches the server's port can make it register up to 1 GiB of empty memory.\n"
      "The exit code is 1 when a READ failed.\n"
      "Examples:\n"
      "  weft odp bench --listen 7471\n"
      "  weft odp bench node1:7471 --odp server --num-ops 2 --interval 1ms --json\n"
      "  weft odp bench node1:7471 --timeouts 1..16");
  bench->callback([state, &outcome] { run(*state, outcome); });
}

}  // namespace weft::cli
