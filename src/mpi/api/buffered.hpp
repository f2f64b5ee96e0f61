// SPDX-License-Identifier: Apache-2.0
// Buffered sends.
#pragma once

#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {

/// Sends a copy of a message that was checked. Errors: the attached buffer has no room for it.
int send_buffered(Message& message);

}  // namespace weft::mpi
