// SPDX-License-Identifier: Apache-2.0
#include "emulate/run.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/module_loader.hpp"
#include "emulate/block_file.hpp"
#include "emulate/calibration.hpp"
#include "emulate/command.hpp"
#include "emulate/verdict.hpp"

namespace weft::emulate {
namespace {

constexpr double kPicosecondsPerNanosecond = 1e3;

/// The knobs that are asked for, and what they are measured against.
struct Setting {
  NativeAndAsked<double> latency_ns;
  NativeAndAsked<double> bandwidth;
};

Result<Setting> set_knobs(const EmulationRequest& request, const std::string& layer,
                          const Calibration& calibration, Knobs& knobs) {
  Setting setting;
  const auto found = calibration.find(layer);
  const bool known = found != calibration.end();
  const auto uncalibrated = [&](std::string_view option) {
    return Error{ErrorCode::not_found,
                 fmt::format("{}: needs the native figures of {}, and {} has none: run weft "
                             "calibrate once",
                             option, layer, calibration_path())};
  };
  double added = static_cast<double>(request.latency.value.to_nanoseconds());
  if (known) {
    setting.latency_ns.native = found->second.latency_ns;
    setting.bandwidth.native = found->second.bandwidth_bytes_per_s;
    knobs.overhead = static_cast<Picoseconds>(found->second.overhead_ns * 1e3);
    knobs.native = static_cast<Picoseconds>(found->second.latency_ns * 1e3);
  }
  if (request.latency.in_all) {
    if (!known) return uncalibrated("--latency");
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
  double rate = 0;
  if (request.bandwidth.rate) {
    rate = static_cast<double>(request.bandwidth.rate->bytes_per_second());
  } else if (request.bandwidth.fraction.value_or(1) < 1) {
    if (!known) return uncalibrated("--bandwidth");
    rate = *request.bandwidth.fraction * found->second.bandwidth_bytes_per_s;
  }
  if (rate > 0) setting.bandwidth.asked = rate;
  knobs.rate = static_cast<std::uint64_t>(rate);
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
  return Variables{{kBlockVariable, block.path()}, {"LD_PRELOAD", preload}};
}

unsigned cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

}  // namespace

Result<EmulatedRun> run(const EmulationRequest& request) {
  auto command = inspect_command(request.command);
  if (!command) return command.error();
  auto calibration = load_calibration(calibration_path());
  if (!calibration) return calibration.error();
  auto block = BlockFile::make();
  if (!block) return block.error();
  const std::string layer = command->mpi.empty() ? "ucx-mpich" : "ucx-" + command->mpi;
  auto setting = set_knobs(request, layer, *calibration, (*block)->knobs);
  if (!setting) return setting.error();
  auto variables = variables_for_ranks(*block);
  if (!variables) return variables.error();
  auto ended = run_command(*command, *variables, request.capture_stdout);
  if (!ended) return ended.error();
  auto judged = judge(**block, *command, *ended);
  if (!judged) return judged;
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
