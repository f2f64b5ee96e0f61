// SPDX-License-Identifier: Apache-2.0
// Runs tracks on several threads. A window is a simulation of its own, which the levels and its
// number decide. So threads simulate windows of one track at once, and complete them in their
// order: while a controller searches, one at a time; once it has settled, ahead of it. Windows
// ahead are dropped when the levels change nevertheless. The result is the same with any number of
// threads.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "qos/track.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// Completes all windows of tracks that have begun. Calls `may_continue` after each one, from
/// several threads, and stops when it returns false. Tracks at the front come first; a window that
/// a controller waits for comes before all that nobody waits for. The first error that is no
/// cancellation, else that.
Result<void> run_tracks(std::span<Track* const> tracks, unsigned threads,
                        const std::function<bool()>& may_continue);

}  // namespace weft::qos
