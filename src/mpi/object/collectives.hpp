// SPDX-License-Identifier: Apache-2.0
// Collective operations: plans of core/collective, run on messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/collective/collective.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// inout = in ∘ inout, of so many bytes.
using FoldBytes = std::function<void(const std::byte* in, std::byte* inout, std::uint64_t bytes)>;

/// This member's part. Input and output are those of the request; `fold` is for those that fold.
/// Returns when it is done; early when the transfer has failed.
void run_collective(Transfer& transfer, const Group& group, collective::Request request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold = {});

}  // namespace weft::mpi
