// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/exit_code.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"
#include "cli/config_file.hpp"
#include "cli/parsed_option.hpp"
#include "cli/reference_file.hpp"
#include "cli/suggestions.hpp"
#include "net/link_shape.hpp"
#include "stream/node/admission.hpp"
#include "stream/node/schedules.hpp"

namespace weft::cli {
namespace {

/// Returns how many a stream is to have: at least one.
Result<std::uint64_t> parse_timeslices(const std::string& text) {
  const auto count = parse_number<std::uint64_t>(text);
  if (count && *count > 0) return *count;
  if (!count) return invalid("'{}' is no number of timeslices; write it like 10000", text);
  return invalid(
      "'{}' is no number of timeslices; leave the option out for a stream that ends "
      "with its sources",
      text);
}

Result<Duration> parse_length(const std::string& text) {
  auto length = parse_duration(text);
  if (!length || *length > Duration{}) return length;
  return invalid(
      "'{}' is no time to run for; leave the option out for a stream that ends with its sources",
      text);
}

void add_link_option(CLI::App& command, StreamSettings& s) {
  command
      .add_option_function<std::string>(
          "--link",
          [&s](const std::string& text) {
            if (text.ends_with(",cut-through")) {
              throw CLI::ValidationError(
                  "--link: nodes of a stream have links that do not cut "
                  "through; write RATE,LATENCY");
            }
            const auto shape = parse_link_shape("--link", text);
            if (!shape) throw CLI::ValidationError(shape.error().message);
            s.stream.link = StreamLink{shape->rate, shape->latency};
          },
          "shape every node's link: rate and latency, as 200Mbit,20us")
      ->type_name("RATE[,LATENCY]");
}

/// Adds an option below a heading of the help, which shows its default.
template <class T>
void add_with_default(CLI::App& command, const char* group, const char* name, T& value,
                      const char* text) {
  command.add_option(name, value, text)->group(group)->capture_default_str();
}

void add_schedule_options(CLI::App& command, StreamSettings& s) {
  auto& dfs = s.stream.dfs;
  auto& grant = s.stream.grant;
  const char* group = "Schedule dfs (Salem et al. 2019, Table I)";
  const auto add = [&](const char* name, auto& value, const char* text) {
    add_with_default(command, group, name, value, text);
  };
  add("--timeslices-per-interval", dfs.timeslices_per_interval,
      "ts_per_intvl: timeslices per interval");
  add("--history", dfs.history_length, "hist_cnt: intervals remembered");
  add("--speed-up-threshold", dfs.speed_up_threshold_percent,
      "ssu_TH: largest variance that allows a speed-up, percent");
  add("--speed-up", dfs.speed_up_percent, "ssu_pct: speed-up, percent");
  add("--acknowledgement-threshold", dfs.acknowledgement_threshold_percent,
      "theta: acknowledged share of an interval before the next begins, percent");
  add("--engines", dfs.engines, "compute nodes with an engine; 0: all");
  add("--request-distance", dfs.request_distance, "intervals that are requested in advance");
  group = "Schedule grant";
  add("--grant-min-in-flight", grant.min_in_flight,
      "fewest contributions in flight to a compute node");
  add("--grant-max-in-flight", grant.max_in_flight, "most of them for each of its input nodes");
  add("--grant-late-factor", grant.late_factor,
      "a grant is late after this multiple of the usual time");
  add("--grant-open-timeslices", grant.open_timeslices,
      "most timeslices, besides the rounds in flight, by which inputs may be ahead");
}

void note_schedule_options(const CLI::App& command, StreamSettings& s) {
  constexpr std::string_view groups = "Schedule ";
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    const std::string group = option->get_group();
    if (option->empty() || !group.starts_with(groups)) continue;
    const std::string schedule = group.substr(groups.size());
    s.schedule_options.emplace_back("--" + option->get_lnames().front(),
                                    schedule.substr(0, schedule.find(' ')));
  }
}

void add_data_options(CLI::App& command, StreamSettings& s) {
  auto& o = s.stream;
  const char* group = "Data";
  const auto add = [&](const char* name, auto& value, const char* text) {
    add_with_default(command, group, name, value, text);
  };
  add("--source", o.source, "where microslices come from: pattern:, msa:, tsa:, file:, pcap:");
  command
      .add_option("--sink", o.sinks,
                  "where timeslices go (several allowed): check:, tsa:, file:, null:, exec:, shm:")
      ->group(group);
  command.add_flag("--force", o.replaces_files, "overwrite existing files")->group(group);
  add("--microslices-per-timeslice", o.microslices_per_timeslice,
      "core microslices of a timeslice");
  add("--overlap", o.overlap_microslices,
      "microslices of the next timeslice that each also contains");
  add_parsed(command, "--buffer", o.buffer, parse_byte_count, "size of each pair's ring", "1MiB")
      ->group(group);
  command
      .add_flag("--one-ring", o.one_ring,
                "save memory: the pairs of a node share one ring's memory, so contents are lost "
                "and no sink may read them")
      ->group(group);
  add("--descriptors", o.descriptors, "most contributions that a pair can hold");
  add_parsed(
      command, "--input-buffer", o.input_buffer, parse_byte_count,
      "memory for microslices at each input node, as 64MiB; by default what its pairs can hold")
      ->group(group);
  add("--sink-depth", o.sink_depth, "timeslices that the sink may hold");
  command
      .add_flag("--skip-when-slow", o.skip_when_sink_is_slow,
                "drop and count timeslices when the sink is full, instead of waiting for it")
      ->group(group);
  add_parsed(command, "--late-after", o.late_after, parse_duration,
             "flag timeslices with a contribution that arrives this long after the first, as 5ms")
      ->group(group);
  add_parsed(command, "--give-up-after", o.give_up_after, parse_duration,
             "deliver incomplete timeslices, flagged, this long after their first contribution, as "
             "50ms")
      ->group(group);
}

}  // namespace

void add_job_options(CLI::App& command, StreamSettings& s) {
  auto& o = s.stream;
  const CLI::Range count(1U, stream::most_nodes);
  command.add_option("--inputs", o.inputs, "number of input nodes")
      ->check(count)
      ->capture_default_str();
  command.add_option("--computes", o.computes, "number of compute nodes")
      ->check(count)
      ->capture_default_str();
  command.add_option("--schedule", o.schedule, "rule for the order and time of contributions")
      ->check(CLI::IsMember(std::vector<std::string>(stream::schedule_names().begin(),
                                                     stream::schedule_names().end())))
      ->capture_default_str();
  command
      .add_option("--fabric", o.fabric,
                  fabric_list() +
                      " (a simulation, all nodes local); by default TCP, so that one "
                      "machine shows what a network would; auto is faster")
      ->capture_default_str();
  add_link_option(command, s);
  add_parsed(command, "--timeslices", o.timeslices, parse_timeslices,
             "stop after this many timeslices");
  add_parsed(command, "--duration", o.duration, parse_length, "stop after this time, as 10s");
  command.add_option("--seed", o.seed, "seed of all random numbers")->capture_default_str();
  add_parsed(command, "--peer-timeout", o.peer_timeout, parse_duration,
             "consider a node dead when it cannot be reached for this long", "10s");
  command
      .add_option_function<std::string>(
          "--quorum",
          [&o](const std::string& name) {
            o.quorum = name == "majority" ? Quorum::majority : Quorum::none;
          },
          "majority: a job without more than half of its input nodes waits; none: each part "
          "continues, and flags timeslices that another part may build, too")
      ->check(CLI::IsMember({"majority", "none"}))
      ->default_str(o.quorum == Quorum::majority ? "majority" : "none");
  add_parsed(command, "--stall-timeout", o.stall_timeout, parse_duration,
             "exclude a compute node that takes nothing and does not answer for this long", "30s");
  add_parsed(command, "--start-timeout", o.start_timeout, parse_duration,
             "start without nodes that are missing after this time", "30s");
  add_parsed(command, "--sample-every", s.sample_every, parse_duration,
             "time between samples of the buffers, at least 1us; by default 200 samples of a "
             "simulation, else one each 20ms");
  add_data_options(command, s);
  add_schedule_options(command, s);
  add_config_option(command, [&command, &s] { note_schedule_options(command, s); });
}

Result<void> check_schedule_options(const StreamSettings& settings,
                                    std::span<const std::string> chosen) {
  for (const auto& [option, schedule] : settings.schedule_options) {
    if (std::find(chosen.begin(), chosen.end(), schedule) != chosen.end()) continue;
    return invalid("{}: is of schedule {}, and {} has no use for it; leave it out, or choose {}",
                   option, schedule, fmt::join(chosen, ","), schedule);
  }
  return {};
}

void add_local_options(CLI::App& command, StreamSettings& s) {
  auto& l = s.local;
  const char* group = "This machine";
  command
      .add_option_function<std::string>(
          "--testbed",
          [&s](const std::string& text) {
            const auto comma = text.find(',');
            const auto rate = parse_bandwidth(text.substr(0, comma));
            if (!rate) throw CLI::ValidationError("--testbed", rate.error().message);
            s.local.testbed = true;
            s.local.testbed_link = *rate;
            if (comma == std::string::npos) return;
            const auto queue = parse_byte_count(text.substr(comma + 1));
            if (!queue) throw CLI::ValidationError("--testbed", queue.error().message);
            s.local.testbed_queue = *queue;
          },
          "a network namespace for every node: link rate and queue of the switch ports, as "
          "100Mbit,128KiB")
      ->type_name("RATE[,QUEUE]")
      ->group(group);
  command
      .add_option(
          "--fault", l.faults,
          "a fault to inject (several allowed), as 'at=2s kill host5'; hosts are the nodes, "
          "inputs first")
      ->group(group);
  command
      .add_option("--set", l.scenario_settings,
                  "replace a key of the simulated scenario (several allowed), as "
                  "network.router=minimal or noise.every=1ms")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE")
      ->group(group);
  command.add_flag("--restart", l.restart, "restart killed nodes")->group(group);
  command
      .add_option("--metrics", l.metrics,
                  "OpenMetrics endpoint, as :9100 (this machine only) or 0.0.0.0:9100")
      ->group(group);
  command.add_flag("--no-limit", s.no_limit, "do not measure the limit after the stream")
      ->group(group);
  add_parsed(command, "--limit-duration", s.limit_duration, parse_duration,
             "how long the limit is measured; in a simulation half of --duration or 5ms, else 2s")
      ->group(group);
  command.add_option("--log", l.log_level, "error, warning, info or debug")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->group(group)
      ->capture_default_str();
  group = "Output";
  command.add_flag("--json", s.json, "print one JSON object")->group(group);
  command.add_option("--out", s.out, "directory for the record and the report")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--reference", s.reference,
                  "TOML file of published figures, shown beside those of the runs")
      ->type_name("FILE")
      ->group(group);
}

void complete(StreamSettings& s) {
  StreamOptions& o = s.stream;
  if (!s.reference.empty()) {
    auto references = read_references(s.reference);
    if (!references) {
      throw CLI::FileError("--reference: " + references.error().message,
                           static_cast<int>(exit_code_of(references.error().code)));
    }
    s.references = *std::move(references);
  }
  if (o.late_after != Duration::max() && o.late_after >= o.give_up_after) {
    throw CLI::ValidationError(
        "--late-after",
        o.give_up_after == Duration{}
            ? std::string("with --give-up-after 0 nothing is late; leave one of them out")
            : fmt::format("{} is not before --give-up-after, so nothing would be late; "
                          "use less than {}",
                          to_text(o.late_after), to_text(o.give_up_after)));
  }
  if (o.link && s.local.testbed) {
    throw CLI::ValidationError(
        "--link", "the nodes of --testbed have real links, of its rate; leave one of them out");
  }
  const auto scenario = scenario_path(o);
  if (o.timeslices == 0 && o.duration == Duration{} && o.source.starts_with("pattern:")) {
    o.duration = scenario ? Duration::milliseconds(10) : Duration::seconds(10);
  }
  const bool for_a_time = o.duration != Duration{};
  if (s.sample_every) {
    if (*s.sample_every < Duration::microseconds(1)) {
      throw CLI::ValidationError("--sample-every", fmt::format("{} is too short: use 1us or more",
                                                               to_text(*s.sample_every)));
    }
    o.sample_every = *s.sample_every;
  } else if (scenario) {
    o.sample_every = for_a_time ? std::max(o.duration / 200, Duration::microseconds(1))
                                : Duration::microseconds(100);
  }
  if (s.limit_duration) {
    if (*s.limit_duration == Duration{}) {
      throw CLI::ValidationError("--limit-duration",
                                 "0 leaves no time to measure in; use more, as 2s, or --no-limit");
    }
    s.local.limit_duration = *s.limit_duration;
  } else if (scenario) {
    s.local.limit_duration = for_a_time ? o.duration / 2 : Duration::milliseconds(5);
  }
}

std::optional<std::string> scenario_path(const StreamOptions& o) {
  constexpr std::string_view prefix = "sim:";
  if (!o.fabric.starts_with(prefix)) return std::nullopt;
  return o.fabric.substr(prefix.size());
}

std::vector<std::pair<std::string, std::string>> parameters_of(const StreamSettings& s) {
  const StreamOptions& o = s.stream;
  std::vector<std::pair<std::string, std::string>> p;
  const auto add = [&](std::string name, std::string value) {
    p.emplace_back(std::move(name), std::move(value));
  };
  add("inputs", fmt::format("{}", o.inputs));
  add("computes", fmt::format("{}", o.computes));
  add("fabric", o.fabric);
  if (o.link) add("link", fmt::format("{}, {}", to_text(o.link->rate), to_text(o.link->latency)));
  if (s.local.testbed) {
    add("testbed", fmt::format("{}, ports of {}", to_text(s.local.testbed_link),
                               to_text(s.local.testbed_queue)));
  }
  for (const auto& [name, value] : s.scenario) add(name, value);
  add("source", o.source);
  for (const auto& sink : o.sinks) add("sink", sink);
  for (const auto& fault : s.local.faults) add("fault", fault);
  add("buffer per pair", to_text(o.buffer));
  add("descriptors per pair", fmt::format("{}", o.descriptors));
  if (o.one_ring) add("one ring for all pairs of a compute node", "yes");
  if (o.input_buffer != ByteCount{}) add("input buffer", to_text(o.input_buffer));
  add("sink depth", fmt::format("{}", o.sink_depth));
  if (o.skip_when_sink_is_slow) add("skip when slow", "yes");
  if (o.late_after != Duration::max()) add("late after", to_text(o.late_after));
  if (o.give_up_after != Duration::max()) add("give up after", to_text(o.give_up_after));
  add("microslices per timeslice", fmt::format("{}", o.microslices_per_timeslice));
  if (o.overlap_microslices > 0) add("overlap", fmt::format("{}", o.overlap_microslices));
  if (o.timeslices > 0) add("timeslices", fmt::format("{}", o.timeslices));
  if (o.duration != Duration{}) add("duration", to_text(o.duration));
  if (o.schedule == "dfs") {
    add("timeslices per interval (ts_per_intvl)", fmt::format("{}", o.dfs.timeslices_per_interval));
    add("history (hist_cnt)", fmt::format("{}", o.dfs.history_length));
    add("speed-up threshold (ssu_TH)", fmt::format("{} %", o.dfs.speed_up_threshold_percent));
    add("speed-up (ssu_pct)", fmt::format("{} %", o.dfs.speed_up_percent));
    add("acknowledgement threshold (θ)",
        fmt::format("{} %", o.dfs.acknowledgement_threshold_percent));
  }
  return p;
}

}  // namespace weft::cli
