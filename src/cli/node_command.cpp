// SPDX-License-Identifier: Apache-2.0
// weft stream node: one process of a cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/make_error.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/stream_output.hpp"
#include "cli/stream_settings.hpp"
#include "report/report.hpp"
#include "stream/cluster/cluster_node.hpp"
#include "stream/cluster/join.hpp"

namespace weft::cli {
namespace {

struct NodeCommand {
  StreamSettings settings;
  stream::ClusterConfig cluster;
  stream::ClusterRun run;
};

/// Inputs and computes for so many nodes: by default half of each, or the rest for the one not
/// given.
Result<void> share_out(std::uint32_t nodes, bool inputs_given, bool computes_given,
                       StreamOptions& o) {
  const auto wrong = [&](std::string_view option, std::uint32_t value) {
    return invalid("{} {} leaves nothing for the others of {} nodes; use 1 to {}", option, value,
                   nodes, nodes - 1);
  };
  if (inputs_given && computes_given) {
    if (std::uint64_t{o.inputs} + o.computes == nodes) return {};
    return invalid(
        "--inputs {} and --computes {} make {} nodes, but there are {}; start as many processes, "
        "or leave one of the two options out",
        o.inputs, o.computes, std::uint64_t{o.inputs} + o.computes, nodes);
  }
  if (inputs_given) {
    if (o.inputs == 0 || o.inputs >= nodes) return wrong("--inputs", o.inputs);
    o.computes = nodes - o.inputs;
  } else if (computes_given) {
    if (o.computes == 0 || o.computes >= nodes) return wrong("--computes", o.computes);
    o.inputs = nodes - o.computes;
  } else {
    o.inputs = nodes / 2;
    o.computes = nodes - o.inputs;
  }
  return {};
}

Result<void> settle(const CLI::App& command, std::uint32_t nodes, StreamOptions& options) {
  auto shared =
      share_out(nodes, command.count("--inputs") > 0, command.count("--computes") > 0, options);
  return shared ? check_options(options) : shared;
}

/// Stores and prints the record of node 0, in this order: a reader of the output that is gone costs
/// no record.
void show(const StreamSettings& settings, report::RunRecord record, Outcome& outcome) {
  record.version = WEFT_VERSION;
  record.parameters = parameters_of(settings);
  record.machine = report::this_machine();
  record.command = settings.local.executable_command;
  if (settings.stream.link) record.fabric = fmt::format("shaped({})", record.fabric);
  if (record.checks.errors > 0 || record.timeslices_lost > 0) outcome.code = ExitCode::failed;
  Result<void> written;
  if (!settings.out.empty()) written = report::write_run(settings.out, record);
  if (settings.json) {
    fmt::print("{}\n", report::to_json(record, report::RecordForm::summary));
  } else {
    print_table(std::span(&record, 1));
  }
  if (!written) return report_error(written.error(), outcome);
  if (!settings.out.empty()) announce_report(settings.out, settings.json, outcome);
}

/// The job, with the progress line on a terminal.
Result<stream::ClusterOutcome> take_part(NodeCommand& state, stream::JoinedCluster& joined) {
  ProgressLine line(state.settings.stream.schedule, state.settings.stream);
  if (line.wanted() && !state.settings.json) {
    state.run.on_progress = [&line](const StreamProgress& p) { line.show(p); };
  }
  return stream::run_cluster_node(state.settings.stream, state.run, joined);
}

void run_node(CLI::App& command, NodeCommand& state, Outcome& outcome) {
  StreamSettings& settings = state.settings;
  if (scenario_path(settings.stream)) {
    return report_error(invalid("--fabric {}: a simulation has all nodes of a job in one process; "
                                "use weft stream local",
                                settings.stream.fabric),
                        outcome);
  }
  if (auto checked = stream::check_cluster(state.cluster); !checked) {
    return report_error(checked.error(), outcome);
  }
  complete(settings);
  const std::string& schedule = settings.stream.schedule;
  if (auto good = check_schedule_options(settings, {&schedule, 1}); !good) {
    return report_error(good.error(), outcome);
  }
  if (auto good = prepare_directory(settings.out, settings.stream.replaces_files); !good) {
    return report_error(good.error(), outcome);
  }
  settings.local.executable_command = outcome.command_line;
  state.cluster.peer_timeout = settings.stream.peer_timeout;
  // A list says how many nodes there are before anybody has to be waited for.
  if (const auto nodes = state.cluster.nodes.size(); nodes > 1) {
    auto settled = settle(command, static_cast<std::uint32_t>(nodes), settings.stream);
    if (!settled) return report_error(settled.error(), outcome);
  }
  auto joined = stream::join_cluster(state.cluster);
  if (!joined) return report_error(joined.error(), outcome);
  auto settled = settle(command, joined->nodes, settings.stream);
  if (!settled) return report_error(settled.error(), outcome);
  auto ended = take_part(state, *joined);
  if (!ended) return report_error(ended.error(), outcome);
  for (const std::string& failure : ended->failures) {
    print_error(failure);
    outcome.code = ExitCode::failed;
  }
  if (ended->record) show(settings, std::move(*ended->record), outcome);
  std::fflush(stdout);  // before the session ends, see run_cluster_node
}

void add_cluster_options(CLI::App& node, NodeCommand& state) {
  auto& c = state.cluster;
  const char* group = "Cluster";
  add_words(node, "--nodes", c.nodes, {.known = {}, .may_repeat = true},
            "HOST:PORT of every node, by rank; by default the launcher provides them through PMIx")
      ->group(group);
  node.add_option("--rank", c.rank,
                  "number of this node in --nodes; by default the entry with this host")
      ->group(group);
  node.add_option("--secret-file", c.secret_file, "file with the job's secret, at least 16 bytes")
      ->type_name("FILE")
      ->group(group);
  node.add_option("--network", c.network,
                  "use this machine's address in this network, as 10.1.0.0/16")
      ->group(group);
  node.add_option("--data-port", c.data_port,
                  "rank r listens for data at this port + r; 0: any free port")
      ->group(group)
      ->capture_default_str();
  node.add_option("--metrics", state.run.metrics,
                  "OpenMetrics endpoint of rank 0, as :9100 (this machine only) or 0.0.0.0:9100")
      ->group(group);
  node.add_option("--log", state.run.log_level, "error, warning, info or debug")
      ->group(group)
      ->capture_default_str();
  group = "Output of rank 0";
  for (const char* nodes : {"--inputs", "--computes"}) {
    node.get_option(nodes)->default_str("half of the nodes");
  }
  node.add_flag("--json", state.settings.json, "print one JSON object")->group(group);
  node.add_option("--out", state.settings.out, "directory for the record and the report")
      ->type_name("DIR")
      ->group(group);
}

}  // namespace

void add_node_command(CLI::App& stream, Outcome& outcome) {
  auto* node = stream.add_subcommand("node", "Run one node of a job on a cluster");
  auto state = std::make_shared<NodeCommand>();
  state->settings.stream.quorum = Quorum::majority;  // here networks come apart
  add_job_options(*node, state->settings);
  add_cluster_options(*node, *state);
  node->get_option("--fabric")
      ->description(
          "auto, tcp, tcp:unix, shm, libfabric:tcp, libfabric:shm, libfabric:PROVIDER; auto has "
          "shared memory between nodes of one host");
  node->footer(
      "Examples:\n"
      "  mpirun -n 8 weft stream node --inputs 4 --computes 4 --sink check: --duration 10s\n"
      "  mpirun -n 4 weft stream node --fabric libfabric:tcp --timeslices 1000 --out out\n"
      "  weft stream node --config cluster.toml --rank 3");
  node->callback([node, state, &outcome] {
    run_stoppable(outcome, [&] { run_node(*node, *state, outcome); });
  });
}

}  // namespace weft::cli
