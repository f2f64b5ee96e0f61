// SPDX-License-Identifier: Apache-2.0
// Which fabric a node uses: from the names that users write to an open endpoint.
#pragma once

#include <memory>
#include <string>

#include "fabric/shaped/shaped.hpp"
#include "weft/fabric.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// What a job shares and nobody else knows.
struct JobSecret {
  std::string job_id;
  std::string secret;  ///< at least 16 bytes
};
/// A fresh one, from the system's random numbers.
JobSecret make_job_secret();

struct FabricPlace {
  NodeId self{};
  Incarnation incarnation{};
  std::string listen;     ///< of TCP; empty: loopback, any port
  std::string advertise;  ///< numeric host to tell peers, when not the one listened on
};

/// An endpoint, and the shape around it if there is one.
struct OpenedFabric {
  std::unique_ptr<Fabric> fabric;
  ShapedFabric* shaped = nullptr;
};

/// Does what can be done once for all nodes that a launcher is about to fork. Errors: a library
/// that the fabric needs is not there.
Result<void> prepare_fabric(const StreamOptions& options);

/// Opens `options.fabric` ("tcp", "tcp:unix", "libfabric:PROVIDER"), shaped when `options.link` is
/// set. Errors name --fabric, the value and the choices.
Result<OpenedFabric> open_fabric(const StreamOptions& options, const FabricPlace& place,
                                 const JobSecret& job);

}  // namespace weft::stream
