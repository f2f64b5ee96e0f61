// SPDX-License-Identifier: Apache-2.0
#include "emulate/run.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/make_error.hpp"
#include "base/module_loader.hpp"
#include "emulate/block_file.hpp"
#include "emulate/calibration.hpp"
#include "emulate/command.hpp"
#include "emulate/links_file.hpp"
#include "emulate/listable_path.hpp"
#include "emulate/setting.hpp"
#include "emulate/sockets.hpp"
#include "emulate/verdict.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

/// Variables of ranks, and the files that they name, for as long as the ranks run.
struct RankEnvironment {
  Variables variables;
  std::vector<ListablePath> files;
};

/// Sets a variable to the paths, in front of those that the user has there.
Result<void> set_list(RankEnvironment& all, const char* variable,
                      const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    auto listable = ListablePath::of(path);
    if (!listable) return listable.error();
    if (!list.empty()) list += ':';
    list += listable->text();
    all.files.push_back(std::move(*listable));
  }
  const char* own = std::getenv(variable);
  if (own != nullptr && *own != '\0') list += fmt::format(":{}", own);
  all.variables.emplace_back(variable, list);
  return {};
}

/// The variables that name the block and load the modules.
Result<RankEnvironment> environment_of_ranks(const BlockFile& block) {
  auto module = find_module("libweft_emulate_ucx.so");
  if (!module) {
    return Error{module.error().code,
                 fmt::format("{}; build weft with libucx-dev", module.error().message)};
  }
  RankEnvironment all;
  all.variables.emplace_back(kBlockVariable, block.path());
  std::vector<std::string> preloaded{*module};
  if (const auto verbs = find_module("libweft_emulate_verbs.so")) preloaded.push_back(*verbs);
  if (auto set = set_list(all, "LD_PRELOAD", preloaded); !set) return set.error();
  // Programs on libfabric load theirs by themselves, as a provider that hooks others.
  const std::filesystem::path providers =
      std::filesystem::path(*module).parent_path() / "weft-providers";
  if (std::filesystem::exists(providers)) {
    if (auto set = set_list(all, "FI_PROVIDER_PATH", {providers.string()}); !set) {
      return set.error();
    }
    all.variables.emplace_back("FI_HOOK", "weft");
  }
  return all;
}

unsigned cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

Result<EmulatedRun> run_unix_sockets(const EmulationRequest& request) {
  if (request.latency.in_all || request.bandwidth.fraction.value_or(1) < 1) {
    return Error{ErrorCode::invalid_argument,
                 "--latency =…, --bandwidth …%: {socket} is for Unix sockets, which are not "
                 "calibrated; ask for +50us and 100MB/s instead"};
  }
  const LinkShape shape{.rate = request.bandwidth.rate.value_or(Bandwidth{}),
                        .latency = request.latency.value};
  auto ran = run_with_unix_server(request, shape);
  if (ran && request.bandwidth.rate) {
    ran->bandwidth_bytes_per_s.asked = static_cast<double>(shape.rate.bytes_per_second());
  }
  return ran;
}

/// A server and a client behind one link.
Result<EmulatedRun> run_sockets(const EmulationRequest& request) {
  for (const auto& [given, option] : {std::pair{!request.links.empty(), "--links"},
                                      {request.use_ucx, "--ucx"},
                                      {request.method == Method::spin, "--method spin"},
                                      {request.padding, "--method padding"}}) {
    if (given) {
      return invalid("{}: is for MPI programs; leave it or --server out", option);
    }
  }
  if (is_for_unix_socket(request)) return run_unix_sockets(request);
  auto calibration = load_calibration();
  if (!calibration) return calibration.error();
  Knobs knobs;
  const auto setting = set_knobs(request, kSocketsLayer, *calibration, knobs);
  if (!setting) return setting.error();
  auto ran = run_with_server(request, {.latency = Duration::nanoseconds(knobs.latency / 1'000),
                                       .rate = Bandwidth::bytes_per_second(knobs.rate)});
  if (!ran) return ran;
  ran->latency_ns = setting->latency_ns;
  ran->bandwidth_bytes_per_s = setting->bandwidth;
  return ran;
}

/// Checks that each operation passed the links between its two ranks.
Result<void> check_places(const EmulationRequest& request, const ControlBlock& block) {
  std::uint64_t unplaced = 0;
  for (const ProcessRecord& process : block.process) unplaced += process.unplaced.load();
  if (request.links.empty() || unplaced == 0) return {};
  return invalid(
      "--links: of {} operations nobody knows between which ranks they were, so they passed no "
      "link; ask for --latency and --bandwidth instead",
      unplaced);
}

/// Checks that the layer, known only now, supports the requested options.
Result<void> check_layer(const EmulationRequest& request, const std::string& layer) {
  const bool is_part = request.bandwidth.fraction.value_or(1) < 1 && !request.padding;
  if (layer != "ucx" && (request.latency.in_all || is_part)) {
    return invalid(
        "--latency =…, --bandwidth …%: the program uses {}, which is not calibrated; ask for +2us "
        "and 100MB/s instead",
        layer);
  }
  return {};
}

}  // namespace

Result<EmulatedRun> run(const EmulationRequest& request) {
  if (!request.server.empty()) return run_sockets(request);
  auto command = inspect_command(request.command);
  if (!command) return command.error();
  auto calibration = load_calibration();
  if (!calibration) return calibration.error();
  auto block = BlockFile::make();
  if (!block) return block.error();
  const std::string layer = command->layer();
  if (!request.links.empty()) {
    if (request.bandwidth.rate || request.bandwidth.fraction.value_or(1) < 1) {
      return Error{ErrorCode::invalid_argument,
                   "--bandwidth: the links of --links have their own; leave one of them out"};
    }
    if (request.padding) {
      return Error{ErrorCode::invalid_argument,
                   "--method padding: the links of --links are token buckets; ask for --bandwidth "
                   "instead of --links"};
    }
    if (auto loaded = load_links(request.links, **block); !loaded) return loaded.error();
  }
  // Before the run, which may take long, where the command says how many ranks there will be.
  if (auto good = check_ranks(**block, ranks_asked(*command)); !good) return good.error();
  auto setting = set_knobs(request, layer, *calibration, (*block)->knobs);
  if (!setting) return setting.error();
  auto environment = environment_of_ranks(*block);
  if (!environment) return environment.error();
  Variables& variables = environment->variables;
  if (request.use_ucx && command->mpi == "openmpi") {
    for (auto& variable : ucx_variables()) variables.push_back(std::move(variable));
  } else {
    auto one_sided = one_sided_variables(*command);
    if (!one_sided) return one_sided.error();
    for (auto& variable : *one_sided) variables.push_back(std::move(variable));
  }
  auto ended = run_command(*command, variables, request.capture_stdout, &**block);
  if (!ended) return ended.error();
  if (StopSignals::number() != 0) return stopped();
  auto judged = judge(**block, *command, *ended);
  if (!judged) return judged;
  if (auto good = check_places(request, **block); !good) return good.error();
  if (auto good = check_layer(request, judged->interposer); !good) return good.error();
  if (judged->interposer != "ucx") {
    setting->latency_ns = {};
    setting->bandwidth.native.reset();
  }
  judged->latency_ns = setting->latency_ns;
  judged->bandwidth_bytes_per_s = setting->bandwidth;
  judged->stdout_text = std::move(ended->stdout_text);
  judged->stdout_is_cut = ended->stdout_is_cut;
  if (judged->ranks > cores_here()) {
    judged->warnings.push_back(
        fmt::format("{} ranks poll on {} cores: they wait for each other's time slices, and the "
                    "times measured mean nothing; run at most one rank a core",
                    judged->ranks, cores_here()));
  }
  return judged;
}

}  // namespace weft::emulate
