// SPDX-License-Identifier: Apache-2.0
#include "emulate/run.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/module_loader.hpp"
#include "emulate/block_file.hpp"
#include "emulate/calibration.hpp"
#include "emulate/command.hpp"
#include "emulate/links_file.hpp"
#include "emulate/verdict.hpp"

namespace weft::emulate {
namespace {

constexpr double kPicosecondsPerNanosecond = 1e3;

/// The knobs that are asked for, and what they are measured against.
struct Setting {
  NativeAndAsked<double> latency_ns;
  NativeAndAsked<double> bandwidth;
};

Error uncalibrated(std::string_view option, const std::string& layer) {
  return {
      ErrorCode::not_found,
      fmt::format("{}: needs the native figures of {}, and {} has none: run weft calibrate once",
                  option, layer, calibration_path())};
}

Result<double> rate_of(const BandwidthAsked& asked, const std::string& layer,
                       const Calibration& calibration) {
  if (asked.rate) return static_cast<double>(asked.rate->bytes_per_second());
  if (asked.fraction.value_or(1) == 1) return 0.0;
  const auto found = calibration.find(layer);
  if (found == calibration.end()) return uncalibrated("--bandwidth", layer);
  return *asked.fraction * found->second.bandwidth_bytes_per_s;
}

Result<Setting> set_knobs(const EmulationRequest& request, const std::string& layer,
                          const Calibration& calibration, Knobs& knobs) {
  Setting setting;
  const auto found = calibration.find(layer);
  const bool known = found != calibration.end();
  double added = static_cast<double>(request.latency.value.to_nanoseconds());
  if (known) {
    setting.latency_ns.native = found->second.latency_ns;
    setting.bandwidth.native = found->second.bandwidth_bytes_per_s;
    if (request.subtract_overhead) {
      knobs.overhead = static_cast<Picoseconds>(found->second.overhead_ns * 1e3);
    }
  }
  if (request.latency.in_all) {
    if (!known) return uncalibrated("--latency", layer);
    if (added < found->second.latency_ns) {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("--latency ={} ns: is below the native {:.0f} ns of {}; ask for more", added,
                      found->second.latency_ns, layer)};
    }
    setting.latency_ns.asked = added;
    added -= found->second.latency_ns;
  } else if (known && added > 0) {
    setting.latency_ns.asked = added + found->second.latency_ns;
  }
  knobs.latency = static_cast<Picoseconds>(added * kPicosecondsPerNanosecond);
  const auto rate = rate_of(request.bandwidth, layer, calibration);
  if (!rate) return rate.error();
  if (*rate > 0) setting.bandwidth.asked = *rate;
  knobs.rate = static_cast<std::uint64_t>(*rate);
  knobs.method = static_cast<std::uint32_t>(request.method);
  return setting;
}

/// The module, in front of what the user loads.
Result<Variables> variables_for_ranks(const BlockFile& block) {
  auto module = find_module("libweft_emulate_ucx.so");
  if (!module) {
    return Error{module.error().code,
                 fmt::format("{}; build weft with libucx-dev", module.error().message)};
  }
  const char* preloaded = std::getenv("LD_PRELOAD");
  std::string preload = *module;
  if (preloaded != nullptr && *preloaded != '\0') preload += fmt::format(":{}", preloaded);
  Variables variables{{kBlockVariable, block.path()}, {"LD_PRELOAD", preload}};
  // Programs on libfabric load theirs by themselves, as a provider that hooks others.
  const std::filesystem::path providers =
      std::filesystem::path(*module).parent_path() / "weft-providers";
  if (std::filesystem::exists(providers)) {
    const char* path = std::getenv("FI_PROVIDER_PATH");
    std::string all = providers.string();
    if (path != nullptr && *path != '\0') all += fmt::format(":{}", path);
    variables.insert(variables.end(), {{"FI_PROVIDER_PATH", all}, {"FI_HOOK", "weft"}});
  }
  return variables;
}

unsigned cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

}  // namespace

Result<double> asked_rate(const EmulationRequest& request, const std::string& layer) {
  auto calibration = load_calibration(calibration_path());
  if (!calibration) return calibration.error();
  return rate_of(request.bandwidth, layer, *calibration);
}

Result<EmulatedRun> run(const EmulationRequest& request) {
  auto command = inspect_command(request.command);
  if (!command) return command.error();
  auto calibration = load_calibration(calibration_path());
  if (!calibration) return calibration.error();
  auto block = BlockFile::make();
  if (!block) return block.error();
  const std::string layer = command->mpi.empty() ? "ucx-mpich" : "ucx-" + command->mpi;
  if (!request.links.empty()) {
    if (request.bandwidth.rate || request.bandwidth.fraction.value_or(1) < 1) {
      return Error{ErrorCode::invalid_argument,
                   "--bandwidth: the links of --links have their own; leave one of them out"};
    }
    if (auto loaded = load_links(request.links, **block); !loaded) return loaded.error();
  }
  auto setting = set_knobs(request, layer, *calibration, (*block)->knobs);
  if (!setting) return setting.error();
  auto variables = variables_for_ranks(*block);
  if (!variables) return variables.error();
  if (request.use_ucx && command->mpi == "openmpi") {
    for (auto& variable : ucx_variables()) variables->push_back(std::move(variable));
  }
  auto ended = run_command(*command, *variables, request.capture_stdout);
  if (!ended) return ended.error();
  auto judged = judge(**block, *command, *ended);
  if (!judged) return judged;
  if (judged->interposer == "libfabric") {
    // Which layer a program uses is known only now.
    if (request.latency.in_all || request.bandwidth.fraction.value_or(1) < 1) {
      return Error{ErrorCode::invalid_argument,
                   "--latency =…, --bandwidth …%: the program uses libfabric, which is not "
                   "calibrated; ask for +2us and 100MB/s instead"};
    }
    setting->latency_ns = {};
    setting->bandwidth.native.reset();
  }
  judged->latency_ns = setting->latency_ns;
  judged->bandwidth_bytes_per_s = setting->bandwidth;
  judged->stdout_text = std::move(ended->stdout_text);
  if (judged->ranks > cores_here()) {
    judged->warnings.push_back(
        fmt::format("{} ranks poll on {} cores: they wait for each other's time slices, and the "
                    "times measured mean nothing; run at most one rank a core",
                    judged->ranks, cores_here()));
  }
  return judged;
}

}  // namespace weft::emulate
