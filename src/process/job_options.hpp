// SPDX-License-Identifier: Apache-2.0
// The options of processes' message layers, from a job's description.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/message/machine.hpp"
#include "process/job_link.hpp"
#include "process/keeping_watch.hpp"
#include "process/spill_memory.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// Returns how long a host may answer nothing until it counts as gone: as `asked`; when that is
/// zero, as long as a process may be gone, or 10 s where that is for ever. At least the second that
/// fabrics want.
Duration peer_timeout_of(Duration asked, Duration timeout);
constexpr Duration shortest_peer_timeout = Duration::seconds(1);

/// Checks whether a connection is proved alive (`heartbeat`; zero: as the fabric does by itself)
/// in time for a host to count as gone. Errors name `asked_by`: the option, or the file and its
/// key.
Result<void> check_heartbeat(std::string_view asked_by, Duration heartbeat, Duration peer_timeout,
                             std::string_view fabric);

message::MessageOptions message_options(const JobDescription& job);
/// What keeping messages may take a process whose lives repeat themselves, before all ranks are
/// started anew in place of one. None: it keeps none, or all of them whatever it takes.
std::optional<KeepingWatch::Limits> keeping_limits(const JobDescription& job);
/// Room for the messages that the process keeps for others. Errors: a directory that one cannot
/// write to.
Result<std::unique_ptr<SpillMemory>> open_spill(const JobDescription& job);
/// `spill` outlives it.
message::OutboxRoom outbox_room(const JobDescription& job, SpillMemory& spill);

}  // namespace weft
