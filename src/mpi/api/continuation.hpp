// SPDX-License-Identifier: Apache-2.0
// Continuation: the rest of an MPI call, which the transfer carries on after the call has returned.
#pragma once

#include <functional>
#include <utility>

#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// Calls `step` at every turn of the transfer. `step` works as far as it can without waiting, and
/// returns true when all is done.
class Continuation final : public Task {
 public:
  explicit Continuation(std::function<bool()> step) : step_(std::move(step)) {}
  bool advance() override { return step_(); }

 private:
  std::function<bool()> step_;
};

}  // namespace weft::mpi
