// SPDX-License-Identifier: Apache-2.0
// The libfabric fabric: reliable-datagram endpoints of any libfabric provider, with one-sided
// writes where the provider has them. docs/libfabric-fabric.md lists the abilities of each
// provider, and the adapter's additions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/fabric.hpp"

namespace weft {

/// How to open an endpoint. Every node of a job uses the same provider, secret and max_message.
struct LibfabricOptions {
  /// "tcp", "shm", "sockets", "net", "verbs", "cxi", "efa", "psm2", "psm3", "psm" (whichever of the
  /// two is there), or a full provider name such as "udp;ofi_rxd". "tcp" and "verbs" stand for
  /// their reliable-datagram layer ofi_rxm.
  std::string provider = "tcp";
  /// Network device ("eth0", "mlx5_0"); empty: the provider's first.
  std::string domain;
  /// Local address ("127.0.0.1", "fd00::3") for providers with socket addresses; empty: the
  /// device's own.
  std::string bind_address;

  NodeId self{};
  Incarnation incarnation{};
  /// A secret that the processes of a job share and nobody else knows. Must not be empty.
  std::string job_secret;

  /// Largest `send`, bytes; 4096 … 65536. With a header of 24 bytes the default is just below the
  /// most that ofi_rxm sends without a rendezvous.
  std::size_t max_message = 16 * 1024 - 64;
  /// Operations posted and not completed; 1 … 65536.
  std::size_t max_outstanding = 1024;
  /// Messages that a peer may have under way to this node; 2 … 4096. Bounds the provider's buffers
  /// on our behalf to max_message × receive_window × peers.
  std::size_t receive_window = 64;
  /// Receive buffers of max_message bytes that are posted at all times; 8 … 65536.
  std::size_t receive_buffers = 128;

  /// The endpoint sends a heartbeat to a peer that was silent for this long.
  Duration heartbeat_interval = Duration::seconds(1);
  /// A peer that was not heard for this long is down. Longer than any pause that shall be harmless.
  Duration peer_timeout = Duration::seconds(10);

  /// Class of everything this endpoint sends: 0 leaves it to the provider, 1 … 15 ask for the DSCP
  /// class selector of half the value (15 → CS7). libfabric knows traffic classes per endpoint, not
  /// per operation, and few providers obey; TxOp::service_level has no effect.
  ServiceLevel service_level{};
  /// prepare_wait never lets the driver sleep: least latency, one busy core.
  bool spin = false;
  /// Send written bytes in messages even when the provider has one-sided writes.
  bool emulate_writes = false;
  /// Whether the destructor tells the peers. Without it they learn it as of a killed process.
  bool farewell = true;
};

/// Opens an endpoint of `options.provider`. Errors name the option, its value and the choices:
/// not_found for a provider that is not there, invalid_argument for a value out of range, io for a
/// refusal of the provider, exhausted for a second "shm" endpoint in one process.
///
/// Threads: one at a time calls into the endpoint; the providers "sockets" and "net" may have
/// threads of their own. Destroying the endpoint may take up to 100 ms to say goodbye.
Result<std::unique_ptr<Fabric>> open_libfabric(const LibfabricOptions& options);

/// Names that `LibfabricOptions::provider` may have on this machine, as libfabric lists them.
std::vector<std::string> libfabric_providers();

}  // namespace weft
