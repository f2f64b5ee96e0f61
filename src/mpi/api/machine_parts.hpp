// SPDX-License-Identifier: Apache-2.0
// Parts of a host that processes share, as the system describes it.
#pragma once

#include <optional>

#include "mpi/abi/machine_part.hpp"

namespace weft::mpi {

/// The number of the part, smaller than a host, to which all processors belong that this process
/// may use: that of its first processor. Nothing: they belong to several, or it is not known.
std::optional<int> own_part(abi::MachinePart part);

}  // namespace weft::mpi
