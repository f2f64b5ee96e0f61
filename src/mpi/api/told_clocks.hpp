// SPDX-License-Identifier: Apache-2.0
// The C library's clocks of a program that may be started anew, where their module is loaded.
#pragma once

#include "mpi/object/questions.hpp"

namespace weft::mpi {

/// From now on this thread reads again what an earlier life has read. The questions outlive it.
void tell_clocks(Questions& questions);

}  // namespace weft::mpi
