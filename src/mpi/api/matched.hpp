// SPDX-License-Identifier: Apache-2.0
// Messages that a probe took, for a receive of just them.
#pragma once

#include <cstddef>
#include <vector>

#include "mpi/api/library.hpp"

namespace weft::mpi {

struct MatchedMessage {
  Request request;
  std::vector<std::byte> memory;
};

}  // namespace weft::mpi
