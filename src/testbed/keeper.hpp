// SPDX-License-Identifier: Apache-2.0
// The keeper: a process that does nothing but hold a testbed's namespaces. Everything a testbed is
// made of lives in namespaces that nobody else holds, so when the keeper ends, for any reason, the
// kernel takes interfaces, bridges, queues, names and processes away with it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::testbed {

/// The directory of the keeper's named network namespaces, inside its own mount namespace.
inline constexpr const char* kNamespaceDirectory = "/run/netns";

/// "sw": the switch. "h0", "h1", …: the hosts.
std::string host_namespace(std::uint32_t host);
inline constexpr const char* kSwitchNamespace = "sw";

struct KeeperOptions {
  std::uint32_t hosts = 1;
  /// Make a user namespace first; needed by callers without root rights.
  bool user_namespace = false;
  /// End when the caller's `alive` descriptor is closed, that is, when the caller is gone too.
  bool end_with_caller = true;
  /// End after this long in any case.
  Duration lifetime = Duration::seconds(12 * 3600);
};

/// A running keeper. It is process 1 of a PID namespace of its own: processes put into that end
/// with it. A child of the process that started it, of the kind that only __WCLONE waits for.
struct Keeper {
  pid_t pid = 0;
  Descriptor handle;  ///< pidfd
  Descriptor alive;   ///< of end_with_caller; inherited by forks, closed by exec
};

/// Starts a keeper whose namespaces exist when this returns. Errors name the step that the kernel
/// refused and the fix. Forks: not for use with threads that hold locks a fork needs.
Result<Keeper> start_keeper(const KeeperOptions& options);

/// Ends a keeper and waits until it is gone, at most five seconds.
Result<void> end_keeper(const Descriptor& handle, pid_t pid);

/// The kernel's start time of a process in clock ticks since boot; with it a recorded process id is
/// told from a later process of the same number. One that has ended is not found, reaped or not.
Result<std::uint64_t> start_time_of(pid_t pid);

}  // namespace weft::testbed
