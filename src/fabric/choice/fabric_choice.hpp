// SPDX-License-Identifier: Apache-2.0
// Chooses a process's fabric: from the name that users write to an open endpoint.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fabric/shaped/shaped.hpp"
#include "fabric/tcp/own_life.hpp"
#include "weft/fabric.hpp"
#include "weft/result.hpp"

namespace weft {

/// All of them, in the order of help: words in capitals stand for a user's values. `mpi` (programs
/// that mpirun starts) is chosen by WEFT_FABRIC and not among them.
std::span<const std::string_view> fabric_names();

/// Checks whether `open_fabric` knows a fabric of that name. Opening it shows whether the machine
/// has all it needs.
Result<void> check_fabric(const std::string& name);

/// As `check_fabric`, and whether this machine has the library and the provider that it needs. For
/// a launcher that starts programs here: each of them would say the same.
Result<void> check_fabric_here(const std::string& name);

/// A secret that the processes of a job share and nobody else knows.
struct JobSecret {
  std::string job_id;
  std::string secret;  ///< at least 16 bytes
};
/// A fresh one, from the system's random numbers.
JobSecret make_job_secret();

/// The user's choice of a fabric, and the job's settings.
struct FabricChoice {
  std::string name = "tcp";           ///< or "auto", "tcp:unix", "shm", "libfabric:PROVIDER"
  std::optional<ShapeOptions> shape;  ///< around it
  Duration peer_timeout = Duration::seconds(10);
  /// How long a connection may be silent until it is proved alive; zero: the fabric's default.
  Duration heartbeat{};
  ServiceLevel service_level{};        ///< of bulk data, where a fabric asks for it beforehand
  std::size_t max_outstanding = 4096;  ///< operations
  std::size_t max_connections = 4096;  ///< of TCP, at a time; see TcpOptions
  unsigned processes_here = 0;         ///< of the job, on this host; 0: unknown
  /// Processes of the job wait for each other's cores: large writes through shared memory are then
  /// fetched by their receivers, which takes no turns of the two.
  bool shares_cores = false;
};

struct FabricPlace {
  NodeId self{};
  Incarnation incarnation{};
  /// Takes the place of `incarnation` over "tcp", "shm" and "auto", and is raised when a peer knows
  /// a life of this node that is not lower. Null: the number stays.
  std::shared_ptr<OwnLife> life;
  /// The address to listen on with TCP and with libfabric's providers that use the host's network
  /// (`listens_at_address`); empty: loopback, any port.
  std::string listen;
  std::string advertise;  ///< numeric host to tell peers, when not the one listened on
  /// The address by which all peers know this endpoint without a message from it. Those of this
  /// host then work out where its shared memory is (`address_here`). Empty: it tells them.
  std::string known_as;
};

/// An endpoint, and the shape around it if there is one.
struct OpenedFabric {
  std::unique_ptr<Fabric> fabric;
  ShapedFabric* shaped = nullptr;
};

/// Returns whether endpoints of the fabric of that name listen at an address of the host's network,
/// where anybody may knock: "tcp", "auto", "libfabric:tcp", not "libfabric:verbs".
bool listens_at_address(std::string_view fabric);

/// Does the work needed once for all processes that a launcher is about to fork. Errors: a library
/// that the fabric needs is not there.
Result<void> prepare_fabric(const FabricChoice& choice);

/// Returns the address of the endpoint known as `known_as`, on the host of the endpoint with
/// address `own`. It includes a shared-memory address where `own` has one.
std::string address_here(std::string_view own, const std::string& known_as, const JobSecret& job);

/// Errors name --fabric, the value and the choices. Unavailable: an address is taken.
Result<OpenedFabric> open_fabric(const FabricChoice& choice, const FabricPlace& place,
                                 const JobSecret& job);

}  // namespace weft
