// SPDX-License-Identifier: Apache-2.0
// The number of a process's life, where no launcher counts lives.
#pragma once

#include "weft/ids.hpp"

namespace weft {

/// The life that all endpoints of one process tell their peers. Its first number comes from the
/// time of day, which may have been set back since an earlier life of the process. A peer that
/// knows a life that is not lower says so, and an endpoint then raises the number; every endpoint
/// that shares the object ends its sessions and begins them anew under the new number. One thread.
struct OwnLife {
  Incarnation incarnation{};
  /// Some peer was connected with this process. From then on a peer that is connected with a later
  /// life is believed that this process was replaced: the number is not raised any more.
  bool has_met = false;
};

}  // namespace weft
