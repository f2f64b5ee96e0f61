// SPDX-License-Identifier: Apache-2.0
// The probe: two ranks of an MPI that measure the network between them, with or without emulation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emulate/run.hpp"

namespace weft::emulate {

struct Probe {
  std::string mpi;
  std::vector<std::string> launcher;  ///< with the words that make it start two ranks
  std::string program;
};

/// Error (not_found): the MPI's launcher or the program is not there; says which.
Result<Probe> find_probe(const std::string& mpi);

struct ProbeRun {
  bool emulated = false;     ///< with the module; implied where `request` asks for something
  bool calibrated = false;   ///< take the stored overhead off
  EmulationRequest request;  ///< its command is filled in
};

/// Runs it once and returns its lines, by name ("latency_min", …). Errors as `run`.
Result<std::map<std::string, double>> run_probe(const Probe& probe, const ProbeRun& how,
                                                const std::vector<std::string>& arguments);

}  // namespace weft::emulate
