// SPDX-License-Identifier: Apache-2.0
// The simulated counterpart of a testbed, which `--twin` runs beside the real thing.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Returns a star of one host per node whose links and packet headers are those of the testbed that
/// `local` asks for. Nothing is ever lost in it: it is the twin of a testbed with ports so deep
/// that they drop nothing. docs/testbed.md says what it models and what not. `local.testbed` must
/// be set, with a rate.
sim::Scenario twin_of_testbed(const StreamOptions& options, const LocalOptions& local);

}  // namespace weft::stream
