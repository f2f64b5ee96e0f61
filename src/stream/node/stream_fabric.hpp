// SPDX-License-Identifier: Apache-2.0
// The fabric that a stream's options ask for.
#pragma once

#include "fabric/choice/fabric_choice.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// A contribution's writes are small in number; so many outstanding keep many peers' links busy.
inline FabricChoice fabric_choice(const StreamOptions& options) {
  FabricChoice choice{.name = options.fabric,
                      .peer_timeout = options.peer_timeout,
                      .service_level = options.data_level,
                      .max_outstanding = 4096};
  if (options.link) choice.shape = symmetric_shape(options.link->rate, options.link->latency);
  return choice;
}

}  // namespace weft::stream
