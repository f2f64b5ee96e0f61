// SPDX-License-Identifier: Apache-2.0
// A fabric made of two: shared memory to the peers on this host, a network to all others. Nobody
// has to say which is which. docs/shm-fabric.md explains how a pair agrees.
#pragma once

#include <memory>
#include <string>

#include "fabric/shm/shm.hpp"
#include "weft/fabric.hpp"

namespace weft {

struct HybridOptions {
  NodeId self{};  ///< as the parts have it
  /// How long shared memory is given to reach a peer whose address says that it might, before the
  /// network is tried as well.
  Duration patience = Duration::seconds(1);
};

/// A fabric over two endpoints of the same node and incarnation. `near` is null where memory cannot
/// be shared: all peers are reached over the network then, even those that can share theirs.
///
/// Contract beyond weft/fabric.hpp:
///  - A peer is reached over one of the parts at a time. Of each pair the lower node decides which:
///    the first over which it reaches the other, shared memory being tried first.
///  - An address holds those of both parts, so that a peer may also be given one part's own.
///  - Regions have the same name in both parts, the network's.
///  - Limits are the smaller of the two.
///  - A driver sleeps on one descriptor; it is an epoll over those of the parts.
///  - The parts' contracts about peers and threads hold here.
///
/// Errors: exhausted without descriptors.
Result<std::unique_ptr<Fabric>> open_hybrid(const HybridOptions& options,
                                            std::unique_ptr<ShmFabric> near,
                                            std::unique_ptr<Fabric> far);

/// The parts of an address that `address()` of such a fabric gave, for callers that look for a
/// network's address in it; the whole of it as `far` when it is something else.
struct HybridAddress {
  std::string near;  ///< empty when there is none
  std::string far;
};
HybridAddress split_address(std::string_view address);

}  // namespace weft
