// SPDX-License-Identifier: Apache-2.0
// Emulation for programs that use sockets: a server and a client, each in a namespace of its own,
// joined by one link of the requested latency and rate. Coarse: the kernel's own timers
// and wake-ups are in every message's way.
#pragma once

#include <functional>
#include <string>

#include "emulate/calibration.hpp"
#include "emulate/run.hpp"
#include "net/link_shape.hpp"
#include "testbed/linked_hosts.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::emulate {

/// The layer's name in a calibration.
inline constexpr char kSocketsLayer[] = "sockets";
/// The error of a latency of this layer.
inline constexpr Duration kSocketsError = Duration::microseconds(20);

/// Starts `server` in host 0, waits until it listens, and runs `client` in host 1; returns when the
/// client has ended, and ends the server then. The run's error cases are those of `run`.
Result<EmulatedRun> run_with_server(const EmulationRequest& request,
                                    const testbed::LinkOptions& link);

/// Returns whether the server listens at {socket}, a Unix-domain socket.
bool is_for_unix_socket(const EmulationRequest& request);
/// Likewise for such a server; client and server stay on this host, and a relay is between their
/// sockets. `client`'s {socket} is the relay's.
Result<EmulatedRun> run_with_unix_server(const EmulationRequest& request, const LinkShape& shape);

/// Measures a link of these options by TCP between two processes of its own: for a second at most.
struct LinkMeasured {
  double one_way_ns = 0;             ///< half a round trip of 8 bytes, median
  double bandwidth_bytes_per_s = 0;  ///< of a stream; 0: not requested
};
Result<LinkMeasured> measure_link(const testbed::LinkOptions& link, bool with_bandwidth);

/// Measures the layer on this machine, for a few seconds. Calls `on_measured` after each of
/// `kSocketRepetitions` measurements.
inline constexpr int kSocketRepetitions = 5;
Result<LayerCalibration> calibrate_sockets(const std::function<void()>& on_measured);

}  // namespace weft::emulate
