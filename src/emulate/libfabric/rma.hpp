// SPDX-License-Identifier: Apache-2.0
// The program's calls that write to a peer's memory and read from it.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

namespace weft::emulate::libfabric {

/// Takes over an endpoint that was enabled: its writes and reads pass links from now on. Not
/// thread-safe.
void take_over_rma(fid_ep* endpoint);

}  // namespace weft::emulate::libfabric
