// SPDX-License-Identifier: Apache-2.0
// Conditions that hold for every run that ended well, with any faults.
#pragma once

#include <cstdint>

#include "weft_run.hpp"

namespace weft::e2e {

/// The figures of `--json` that tests look at.
struct Figures {
  bool valid = false;  ///< standard output was one JSON object with all of them
  std::uint64_t sent = 0;
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t lost = 0;
  std::uint64_t errors = 0;
  std::uint64_t dropped = 0;
};
Figures figures_of(const Ended& ended);

/// Ended by itself with exit code 0, left no process behind, and printed one JSON object.
void expect_good_end(const Ended& ended);

/// A good end, and all that was sent is complete.
void expect_all_complete(const Ended& ended);

/// A good end, nothing is lost, and no delivered timeslice is wrong; timeslices may be incomplete,
/// but are flagged.
void expect_nothing_lost(const Ended& ended);

}  // namespace weft::e2e
