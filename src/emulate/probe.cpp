// SPDX-License-Identifier: Apache-2.0
#include "emulate/probe.hpp"

#include <unistd.h>

#include <sstream>

#include "base/make_error.hpp"
#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "emulate/command.hpp"
#include "emulate/verdict.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

/// "mpirun.mpich", or mpirun where that is this MPI's.
std::string launcher_of(const std::string& mpi) {
  for (const std::string& name : {"mpirun." + mpi, std::string("mpirun")}) {
    const auto whose = mpi_of_launcher(name);
    if (whose.ok() && *whose == mpi) return name;
  }
  return {};
}

std::map<std::string, double> lines_of(const std::string& text) {
  std::map<std::string, double> values;
  std::istringstream in(text);
  std::string name;
  for (double value = 0; in >> name >> value;) values[name] = value;
  return values;
}

}  // namespace

Result<Probe> find_probe(const std::string& mpi) {
  const std::string launcher = launcher_of(mpi);
  if (launcher.empty()) {
    return make_error(ErrorCode::not_found, "{}: its mpirun is not installed", mpi);
  }
  auto program = find_module("weft_emulate_probe_" + mpi);
  if (!program) return program.error();
  Probe probe{.mpi = mpi, .launcher = {launcher}, .program = *program};
  if (mpi == "openmpi") {
    probe.launcher.emplace_back("--oversubscribe");
    if (::geteuid() == 0) probe.launcher.emplace_back("--allow-run-as-root");
  }
  probe.launcher.insert(probe.launcher.end(), {"-n", "2"});
  return probe;
}

Result<std::map<std::string, double>> run_probe(const Probe& probe, const ProbeRun& how,
                                                const std::vector<std::string>& arguments) {
  // A launcher that gets the signal while it starts may not end.
  if (StopSignals::number() != 0) return stopped();
  EmulationRequest request = how.request;
  request.command = probe.launcher;
  request.command.push_back(probe.program);
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  request.capture_stdout = true;
  request.use_ucx = probe.mpi == "openmpi";
  std::string text;
  const bool emulated = how.emulated || request.latency.value > Duration{} ||
                        request.bandwidth.rate || request.bandwidth.fraction;
  if (emulated) {
    request.subtract_overhead = how.calibrated;
    auto ran = run(request);
    if (!ran) return ran.error();
    text = std::move(ran->stdout_text);
  } else {
    auto command = inspect_command(request.command);
    if (!command) return command.error();
    auto ended = run_command(*command, request.use_ucx ? ucx_variables() : Variables{}, true);
    if (!ended) return ended.error();
    if (ended->exit_code != 0) {
      return make_error(ErrorCode::unavailable, "{} ended with code {}", probe.program,
                        ended->exit_code);
    }
    text = std::move(ended->stdout_text);
  }
  auto values = lines_of(text);
  if (values.empty()) {
    return make_error(ErrorCode::unavailable, "{} printed no figures", probe.program);
  }
  return values;
}

}  // namespace weft::emulate
