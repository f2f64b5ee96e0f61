// SPDX-License-Identifier: Apache-2.0
// weft odp: the pitfalls of on-demand paging, reproduced on modelled adapters.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/make_error.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/odp_options.hpp"
#include "cli/odp_report.hpp"
#include "cli/output_directory.hpp"
#include "cli/output_files.hpp"
#include "cli/parsed_option.hpp"
#include "rdma/benchmark.hpp"
#include "rdma/packet_file.hpp"
#include "report/run_record.hpp"

namespace weft::cli {
namespace {

using rdma::BenchmarkOptions;
using rdma::BenchmarkResult;

struct SimulateCommand {
  BenchmarkOptions options;
  std::uint32_t trials = 1;
  std::string capture;
  std::string out;
  bool replaces = false;
  bool json = false;
};

struct Outcomes {
  BenchmarkResult first;
  std::uint32_t with_timeout = 0;
  std::vector<double> executions_us;
  OdpRecorder recorder;  ///< of the first run
};

nlohmann::ordered_json to_json(const SimulateCommand& command, const Outcomes& outcomes) {
  const BenchmarkResult& r = outcomes.first;
  nlohmann::ordered_json json = {{"execution_us", r.execution.to_microseconds()},
                                 {"timeouts", r.timeouts},
                                 {"rnr_naks", r.rnr_naks},
                                 {"sequence_naks", r.sequence_naks},
                                 {"packets", r.packets},
                                 {"retransmissions", r.retransmissions},
                                 {"page_faults", r.page_faults},
                                 {"damming", r.damming()},
                                 {"flood", r.flood()},
                                 {"failed", r.failed},
                                 {"stuck", r.stuck},
                                 {"device", command.options.profile.name},
                                 {"odp", to_text(command.options.paged)},
                                 {"seed", command.options.seed}};
  if (command.trials > 1) {
    json["trials"] = command.trials;
    json["timeout_probability"] = static_cast<double>(outcomes.with_timeout) / command.trials;
  }
  return json;
}

/// "1 READ", "2 READs".
std::string counted(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// "1 READ and 3 SENDs".
std::string operations_text(const BenchmarkOptions& o) {
  using net::rc::Verb;
  if (o.second_verb == Verb::read || o.operations == 1) return counted(o.operations, "READ");
  const char* const then = o.second_verb == Verb::send ? "SEND" : "WRITE";
  return fmt::format("1 READ and {}", counted(o.operations - 1, then));
}

void print_text(const SimulateCommand& command, const Outcomes& outcomes) {
  const BenchmarkOptions& o = command.options;
  const BenchmarkResult& r = outcomes.first;
  fmt::print("{} of {} over {}, {}, paged: {}\n", operations_text(o), to_text(ByteCount(o.size)),
             counted(o.queue_pairs, "queue pair"), o.profile.name, to_text(o.paged));
  fmt::print("execution    {}{}\n", to_text(r.execution),
             r.failed > 0
                 ? fmt::format(", {} failed: retries exceeded", counted(r.failed, "operation"))
                 : "");
  if (r.stuck > 0) {
    fmt::print("stuck        {} without an end: --ack-timeout 0 sets no timeout\n",
               counted(r.stuck, "operation"));
  }
  fmt::print("packets      {}, {} of them sent again\n", r.packets, r.retransmissions);
  fmt::print("recovery     {}, {}, {}\n", counted(r.timeouts, "timeout"),
             counted(r.rnr_naks, "RNR NAK"), counted(r.sequence_naks, "sequence NAK"));
  fmt::print("page faults  {}\n", r.page_faults);
  if (r.dammed > 0) {
    fmt::print("damming      {} of requests lost in a wait\n", counted(r.dammed, "timeout"));
  }
  if (r.flood()) {
    fmt::print("flood        {} sent again and again\n", counted(r.flooded, "request"));
  }
  if (command.trials > 1) {
    fmt::print("trials       {} of {} with a timeout\n", outcomes.with_timeout, command.trials);
  }
}

Result<void> check(const BenchmarkOptions& o) {
  if (o.paged != rdma::PagedSide::none && !o.profile.has_paging) {
    return invalid("--device: {} has no on-demand paging; use --odp none, or connectx-4",
                   o.profile.name);
  }
  const double posting = (o.interval.to_seconds() + o.jitter.to_seconds()) * o.operations;
  if (posting > rdma::longest_posting.to_seconds()) {
    return invalid("--interval: {} operations take {:.0f} s to post; {:.0f} s is the most",
                   o.operations, posting, rdma::longest_posting.to_seconds());
  }
  return {};
}

Result<Outcomes> run(const SimulateCommand& command) {
  Outcomes outcomes;
  std::optional<rdma::PacketFile> file;
  if (!command.capture.empty()) {
    auto created = rdma::PacketFile::create(
        command.capture, command.replaces ? Existing::replace : Existing::refuse);
    if (!created) {
      return Error{created.error().code, fmt::format("--capture: {}", created.error().message)};
    }
    file.emplace(std::move(created).value());
  }
  BenchmarkOptions options = command.options;
  for (std::uint32_t trial = 0; trial < command.trials; ++trial, ++options.seed) {
    const bool is_first = trial == 0;
    std::function<void(const rdma::TappedPacket&)> tap;
    if (is_first && (file || !command.out.empty())) {
      tap = [&](const rdma::TappedPacket& tapped) {
        if (file) file->write(tapped.at, tapped.packet, rdma::ends_of(tapped));
        if (!command.out.empty()) outcomes.recorder.add(tapped);
      };
    }
    const BenchmarkResult result = rdma::run_benchmark(options, tap);
    outcomes.executions_us.push_back(result.execution.to_microseconds());
    if (result.timeouts > 0) ++outcomes.with_timeout;
    if (is_first) outcomes.first = result;
  }
  if (file) {
    if (auto good = file->commit(); !good) return std::move(good).error();
  }
  return outcomes;
}

Result<void> write_report(const SimulateCommand& command, const Outcomes& outcomes,
                          const std::string& command_line) {
  report::OdpRecord record = odp_record(command.options, outcomes.first, command_line);
  record.executions_us = outcomes.executions_us;
  outcomes.recorder.finish(record);
  const std::filesystem::path out(command.out);
  const std::string json = to_json(command, outcomes).dump() + "\n";
  if (auto good = report::write_file_whole((out / "odp.json").string(), json); !good) return good;
  const std::string page = (out / "odp.html").string();
  if (auto good = report::write_file_whole(page, odp_page(record)); !good) return good;
  if (!command.json) fmt::print("report: {}\n", page);
  return {};
}

Result<void> run_simulate(const SimulateCommand& command, Outcome& outcome) {
  if (auto good = check(command.options); !good) return good.error();
  if (!command.capture.empty()) {
    auto good = refuse_other_files("--capture", command.capture, {.directories = {command.out}});
    if (!good) return good.error();
  }
  if (auto good = prepare_directory(command.out, command.replaces); !good) return good.error();
  const auto outcomes = run(command);
  if (!outcomes) return outcomes.error();
  if (!command.out.empty()) {
    if (auto good = write_report(command, *outcomes, outcome.command_line); !good) {
      return Error{ErrorCode::io, "--out: " + good.error().message};
    }
  }
  if (command.json) {
    fmt::print("{}\n", to_json(command, *outcomes).dump());
  } else {
    print_text(command, *outcomes);
  }
  return {};
}

Result<net::rc::Verb> parse_verb(const std::string& text) {
  if (text == "read") return net::rc::Verb::read;
  if (text == "write") return net::rc::Verb::write;
  if (text == "send") return net::rc::Verb::send;
  return invalid("'{}' is no operation: use read, write or send", text);
}

Result<std::string> parse_directory_name(const std::string& text) {
  if (!text.empty()) return text;
  return Error{ErrorCode::invalid_argument, "'' is no directory; name one, as . for this one"};
}

/// "smallest-rnr,dummy,reissue,prefetch,bound" or "all".
Result<rdma::Avoidance> parse_avoidance(const std::string& text) {
  rdma::Avoidance avoidance;
  bool has_none = false;
  std::set<std::string_view> seen;
  for (const std::string_view word : split(text, ',')) {
    const bool all = word == "all";
    const bool known = all || word == "smallest-rnr" || word == "dummy" || word == "reissue" ||
                       word == "prefetch" || word == "bound" || word == "none";
    if (!known) {
      return invalid(
          "'{}' avoids nothing: use smallest-rnr, dummy, reissue, prefetch, bound, all or none",
          word);
    }
    if (!seen.insert(word).second) {
      return invalid("'{}' is there twice; leave one out", word);
    }
    has_none = has_none || word == "none";
    if (has_none && text != "none") {
      return invalid("'{}' has none beside others; leave one out", text);
    }
    if (all || word == "smallest-rnr") avoidance.smallest_rnr_delay = true;
    if (all || word == "dummy") avoidance.dummy_after = rdma::dummy_after;
    if (all || word == "reissue") avoidance.reissue_after = rdma::reissue_after;
    if (all || word == "prefetch") avoidance.prefetch = true;
    if (all || word == "bound") avoidance.queue_pairs_per_page = rdma::bound_per_page;
  }
  return avoidance;
}

void add_load_options(CLI::App& simulate, SimulateCommand& s) {
  simulate.add_option("--size", s.options.size, "bytes of each operation")
      ->check(CLI::Range(1U, 1U << 24))
      ->capture_default_str();
  simulate.add_option("--num-ops", s.options.operations, "number of operations")
      ->check(CLI::Range(1U, 1U << 22))
      ->capture_default_str();
  simulate.add_option("--num-qps", s.options.queue_pairs, "queue pairs that take turns")
      ->check(CLI::Range(1U, 16'384U))
      ->capture_default_str();
  add_parsed(simulate, "--interval", s.options.interval, parse_duration,
             "time between two operations", "0s");
  add_parsed(simulate, "--jitter", s.options.jitter, parse_duration,
             "mean of a random time that is added to each interval", "0s");
  add_parsed(simulate, "--then", s.options.second_verb, parse_verb,
             "operation after the first READ: read, write or send", "read")
      ->type_name("WORD");
}

void add_simulate(CLI::App& odp, Outcome& outcome) {
  auto* simulate =
      odp.add_subcommand("simulate", "Run the paper's micro-benchmark on two modelled adapters");
  auto state = std::make_shared<SimulateCommand>();
  SimulateCommand& s = *state;
  s.options.profile = *net::rc::device_profile("connectx-4");
  add_parsed(*simulate, "--device", s.options.profile, net::rc::device_profile,
             "adapter: connectx-3, connectx-4, connectx-5, connectx-6, adaptive or ideal",
             "connectx-4")
      ->type_name("NAME");
  add_parsed(*simulate, "--odp", s.options.paged, rdma::parse_paged_side,
             "side whose memory is paged: none, client, server or both", "both")
      ->type_name("SIDE");
  add_load_options(*simulate, s);
  add_parsed(*simulate, "--rnr-delay", s.options.rnr_timer, parse_rnr_delay,
             "minimal RNR NAK delay, rounded up to one of InfiniBand's 32", "1.28ms")
      ->type_name("TIME");
  simulate->add_option("--ack-timeout", s.options.ack_timeout, "code C of 4.096us * 2^C; 0: none")
      ->check(CLI::Range(0, 31))
      ->default_str(std::to_string(s.options.ack_timeout));
  simulate->add_option("--retries", s.options.retry_count, "timeouts until an operation fails")
      ->check(CLI::Range(0, 7))
      ->default_str(std::to_string(s.options.retry_count));
  add_parsed(*simulate, "--avoid", s.options.avoidance, parse_avoidance,
             "remedies: smallest-rnr, dummy, reissue, prefetch, bound, or all", "none")
      ->type_name("LIST");
  simulate->add_option("--trials", s.trials, "number of runs, each with the next seed")
      ->check(CLI::Range(1U, 100'000U))
      ->capture_default_str();
  simulate->add_option("--seed", s.options.seed, "seed of all random numbers")
      ->capture_default_str();
  add_parsed(*simulate, "--capture", s.capture, parse_capture_name,
             "write the client's packets to this .pcap, .pcapng or .erf file")
      ->type_name("FILE");
  add_parsed(*simulate, "--out", s.out, parse_directory_name,
             "directory for odp.json and the report odp.html")
      ->type_name("DIR");
  add_force_option(*simulate, s.replaces);
  simulate->add_flag("--json", s.json, "print one JSON object");
  simulate->footer(
      "Examples:\n"
      "  weft odp simulate --device connectx-4 --odp server --num-ops 2 --interval 1ms --json\n"
      "  weft odp simulate --odp client --num-qps 128 --num-ops 128 --size 32\n"
      "  weft odp simulate --interval 1ms --capture damming.pcap");
  simulate->callback([state, &outcome] { report_failure(run_simulate(*state, outcome), outcome); });
}

}  // namespace

void add_odp_command(CLI::App& root, Outcome& outcome) {
  auto* odp =
      root.add_subcommand("odp", "Model, measure and find the pitfalls of RDMA's on-demand paging");
  odp->require_subcommand(1);
  add_simulate(*odp, outcome);
  add_odp_bench_command(*odp, outcome);
  add_odp_diagnose_command(*odp, outcome);
  odp->footer(
      "Examples:\n"
      "  weft odp simulate --odp server --interval 1ms\n"
      "  weft odp simulate --interval 6ms --capture quiet.pcap\n"
      "  weft odp diagnose quiet.pcap");
}

}  // namespace weft::cli
