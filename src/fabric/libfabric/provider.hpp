// SPDX-License-Identifier: Apache-2.0
// The choice of a libfabric provider and its abilities: turns LibfabricOptions into an fi_info that
// promises as much of the fabric contract as the provider can, and reports those promises.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/libfabric/libfabric.hpp"

namespace weft::ofi {

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using InfoPointer = std::unique_ptr<fi_info, InfoDeleter>;

/// The abilities of the chosen provider.
struct Traits {
  bool native_write = false;         ///< one-sided writes, and ordered or completed well enough
  bool delivery_complete = false;    ///< a write's completion can mean that it is in place
  bool send_after_write = false;     ///< a message is received after earlier writes
  bool write_after_write = false;    ///< overlapping writes land in order
  bool local_registration = false;   ///< local buffers must be registered
  bool virtual_addresses = false;    ///< remote addresses are the target's, else offsets
  bool endpoint_regions = false;     ///< regions are bound to the endpoint
  bool hides_connections = false;    ///< connects on demand and does not report lost connections
  bool peeks_at_headers = false;     ///< needs connections.hpp
  bool answers_connections = false;  ///< sends something over each that it accepts from a peer
  bool shared_memory = false;        ///< provider shm: no wait descriptor, no word of dead peers
  std::size_t inject_size = 0;
  std::size_t segments = 1;  ///< local segments per write
  std::size_t key_bytes = 8;
  std::size_t max_write = 0;
};

struct Provider {
  InfoPointer info;
  Traits traits;
};

/// Takes abilities away, so that tests can treat a provider at hand as one that has fewer.
struct Restrictions {
  bool one_segment = false;
  bool unordered = false;           ///< neither sends nor writes wait for earlier writes
  bool local_registration = false;  ///< wants local buffers registered
};

/// `shm_name` names the endpoint of the shm provider; others ignore it.
Result<Provider> choose_provider(const LibfabricOptions& options, const std::string& shm_name);

/// Full names that a user's name may stand for, best first.
std::vector<std::string> full_names(std::string_view name);

}  // namespace weft::ofi
