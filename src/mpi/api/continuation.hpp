// SPDX-License-Identifier: Apache-2.0
// Continuation: the rest of a call, which goes on while the program does something else.
#pragma once

#include <functional>
#include <utility>

#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// `step` goes on as far as it can without waiting, and returns true when all is done.
class Continuation final : public Task {
 public:
  explicit Continuation(std::function<bool()> step) : step_(std::move(step)) {}
  bool advance() override { return step_(); }

 private:
  std::function<bool()> step_;
};

}  // namespace weft::mpi
