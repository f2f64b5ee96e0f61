// SPDX-License-Identifier: Apache-2.0
// Addresses of libfabric and the ranks that they are: each process tells the others its endpoints'.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include "emulate/libfabric/process.hpp"

namespace weft::emulate::libfabric {

// Not thread-safe, beside `rank_of`.
/// The endpoint is enabled: tells the others its address.
void publish_address(fid_ep* endpoint);
/// The endpoint finds its peers there.
void note_addresses(const fid* endpoint, fid_av* addresses);
void forget_endpoint(const fid* endpoint);

/// The rank of a peer; kMostRanks: it is none of this run's, or nobody has told.
unsigned rank_of(const fid_ep* endpoint, fi_addr_t to);

}  // namespace weft::emulate::libfabric
