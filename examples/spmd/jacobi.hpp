// SPDX-License-Identifier: Apache-2.0
// Jacobi's iteration on a grid of any dimension, shared by jac1d, jac2d and jac3d.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common.hpp"
#include "weft/program.hpp"
#include "weft/spmd.hpp"

namespace weft::examples {

/// Checkpoints, from which processes go on that are started anew: "-c DIR [-e EVERY]".
struct SavedState {
  std::string directory;    ///< empty: none, and they begin anew
  std::int64_t every = 10;  ///< iterations
};
SavedState saved_state(Arguments& arguments);

struct JacobiProblem {
  std::string name;
  spmd::Space space;
  spmd::Partitioning writes;  ///< which elements each rank computes
  spmd::Partitioning reads;   ///< and reads these for it
  std::int64_t iterations;
  SavedState saved{};
  /// Value at the start; elements at the space's edge keep it.
  std::function<double(spmd::Index)> start;
  /// Sets each element of `write` in `inner` from its neighbours in `read`.
  std::function<void(const spmd::View<double>& read, const spmd::View<double>& write,
                     const spmd::Box& inner)>
      update;
};

/// Until the sum of squared changes, looked at every tenth time, is less than 0.001, or for so many
/// iterations. Prints sum and checksum.
void solve(Process& process, const JacobiProblem& problem);

}  // namespace weft::examples
