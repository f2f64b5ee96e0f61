// SPDX-License-Identifier: Apache-2.0
// Fences of other processes, for those who seldom need one: those who often would need one of
// their own then need none.
#pragma once

namespace weft {

/// From now on other processes' `fence_others` are for this one, too. False: the system has no such
/// fences.
bool accept_fences();

/// A full fence in each thread of each process that accepts them, this one included: what such a
/// thread has stored before is visible when this returns, and what it loads later is up to date.
/// Takes some microseconds. The process accepts fences.
void fence_others();

}  // namespace weft
