// SPDX-License-Identifier: Apache-2.0
// The shared-memory fabric: processes of one job, one host and one user. Per ordered pair a ring in
// shared memory; long writes are fetched by the receiver straight from the sender's memory where
// the kernel allows it. docs/shm-fabric.md has the whole of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/tcp/own_life.hpp"
#include "weft/fabric.hpp"

namespace weft {

/// The resources of an endpoint, and the peers that it trusts.
struct ShmOptions {
  NodeId self{};
  Incarnation incarnation{};
  /// Takes the place of `incarnation`, and is raised when a peer knows a life of this node that is
  /// not lower. Null: the number stays.
  std::shared_ptr<OwnLife> life;
  /// Peers of another job are turned away even if they know the secret.
  std::string job_id;
  /// At least 16 bytes, the same in all processes of the job.
  std::vector<std::byte> secret;
  /// The endpoint's name, unique on this host, of at most 64 letters and digits. Processes that
  /// know it derive its address from it (`address_beside`). Empty: a random one.
  std::string name;

  std::size_t max_outstanding = 1024;            ///< operations, all peers together
  std::size_t max_message = 64 * 1024;           ///< bytes, at least 4096
  std::size_t max_write = std::size_t{1} << 30;  ///< bytes
  /// Bytes of the ring for one peer's data to this endpoint, a power of two; more than twice
  /// `max_message`. A pair of processes uses at most two of them and 8 KiB.
  std::size_t ring_size = 256 * 1024;
  /// Writes from this size on are fetched by the receiver from the sender's memory, when the kernel
  /// lets it, instead of being copied through the ring by both; 0 is never. Fetching leaves the
  /// sender free, which need not poll meanwhile, but is slower where entering the kernel and
  /// looking up pages is: docs/shm-fabric.md has figures.
  std::size_t pull_from = 0;
  /// The receiver fetches such writes only while measurements show that to be faster than copying.
  bool pull_when_faster = false;

  /// For connecting and for proving each other; then the attempt starts anew.
  Duration handshake_timeout = Duration::seconds(5);
  /// Between attempts to connect; doubles from the first to the second value.
  Duration retry_first = Duration::milliseconds(5);
  Duration retry_last = Duration::seconds(1);
};

/// A Fabric that can also expose memory under names that another fabric gave.
class ShmFabric : public Fabric {
 public:
  /// As `expose`, but peers use `remote.key`, which must not be in use here; `remote.base` is
  /// ignored. `retract` ends it.
  virtual void expose_as(std::span<std::byte> memory, const RemoteRegion& remote) = 0;
  /// Returns whether `address` is of an endpoint that shared memory may reach: one of this host, of
  /// this user and in the same namespaces. `add_peer` refuses all others.
  virtual bool may_reach(std::string_view address) const = 0;
};

/// Opens an endpoint. Errors name the option, its value and the fix: invalid_argument for options,
/// unavailable when this process cannot share memory at all (no /proc, no memfd) or the name is
/// taken, exhausted without descriptors.
///
/// Contract beyond weft/fabric.hpp:
///  - Nothing has a name in any file system: no end of the processes leaves anything behind.
///  - A process that was killed is down as soon as the kernel has closed its socket; a stopped one
///    is not down. Messages that it had sent before are delivered first.
///  - A peer's messages are read where it put them. It proved that it belongs to the job and to
///    this user, and could change them while they are read; everything that this fabric itself
///    reads is checked.
///  - Service levels mean nothing here.
///  - The endpoint is not its own peer. It does not outlive a fork: use it in one process.
Result<std::unique_ptr<ShmFabric>> open_shm(const ShmOptions& options);

/// The address of an endpoint with the given name on the host of the one whose address is `own`.
/// Empty when that is no address of a shared-memory endpoint.
std::string address_beside(std::string_view own, std::string_view name);

}  // namespace weft
