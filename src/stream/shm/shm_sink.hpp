// SPDX-License-Identifier: Apache-2.0
// Sink shm: hands timeslices to consumer processes on this host, in place (weft/consumer.hpp).
#pragma once

#include <memory>
#include <string_view>

#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft {

/// `rest` is the URI after "shm:": NAME?key=value&…, the name as weft::Consumer::attach takes it.
///   groups=GROUP:POLICY[:MEMBERS],…   the stream waits for these consumers (1 each by default)
///   held=64          timeslices that consumers of policy all and one may hold up together
///   consumers=64     processes attached at once
///   copy=64MiB       shared memory per consumer of policy skip, and for data that must be copied
///   wait=30s         how long the first timeslice waits for them; then the run fails (not where it
///                    is ended early: what nobody takes counts as dropped then)
///   linger=10s       how long the end waits for consumers to release what they have
/// Groups not named are made by the consumers that join them and see the stream from then on;
/// timeslices that no consumer was given count as dropped, those a busy one missed too.
Result<std::unique_ptr<Sink>> open_shm_sink(std::string_view rest, const SinkPlace& place);

}  // namespace weft
