// SPDX-License-Identifier: Apache-2.0
// Addresses and endpoints: each address carries its process's rank, so that a sender knows which
// links lie between; interfaces tell the upper layers of as much less room as the stamps take.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {
namespace {

void write_trailer(void* address, std::size_t length) {
  const Trailer trailer{kTrailerMagic, static_cast<std::uint16_t>(process.rank)};
  ::memcpy(static_cast<char*>(address) + length, &trailer, sizeof trailer);
}

/// The rank of an address; kUnknownRank for one without a trailer, of a process without a module.
unsigned rank_of(const void* address, std::size_t length) {
  Trailer trailer;
  ::memcpy(&trailer, static_cast<const char*>(address) + length, sizeof trailer);
  return trailer.magic == kTrailerMagic ? trailer.rank : kUnknownRank;
}

ucs_status_t iface_query(uct_iface_h handle, uct_iface_attr_t* attributes) {
  Interface& interface = *interface_of(handle);
  const ucs_status_t status = interface.real.iface_query(handle, attributes);
  if (status != UCS_OK) return status;
  auto& am = attributes->cap.am;
  for (std::size_t* size : {&am.max_short, &am.max_bcopy, &am.max_zcopy, &am.max_hdr}) {
    *size -= std::min(*size, kStampBytes);
  }
  if (am.max_iov > 1) --am.max_iov;
  am.max_iov = std::min<std::size_t>(am.max_iov, 15);
  std::uint64_t& flags = attributes->cap.flags;
  if (am.max_short < sizeof(std::uint64_t)) flags &= ~UCT_IFACE_FLAG_AM_SHORT;
  // Hardware that matches tags by itself cannot be made to wait.
  flags &= ~(UCT_IFACE_FLAG_TAG_EAGER_SHORT | UCT_IFACE_FLAG_TAG_EAGER_BCOPY |
             UCT_IFACE_FLAG_TAG_EAGER_ZCOPY | UCT_IFACE_FLAG_TAG_RNDV_ZCOPY);
  if (interface.has_address) attributes->iface_addr_len += sizeof(Trailer);
  if (interface.has_endpoint_address) attributes->ep_addr_len += sizeof(Trailer);
  return UCS_OK;
}

ucs_status_t iface_get_address(uct_iface_h handle, uct_iface_addr_t* address) {
  Interface& interface = *interface_of(handle);
  const ucs_status_t status = interface.real.iface_get_address(handle, address);
  if (status == UCS_OK && interface.has_address) write_trailer(address, interface.address_length);
  return status;
}

int iface_is_reachable(const uct_iface_h handle, const uct_device_addr_t* device,
                       const uct_iface_addr_t* address) {
  Interface& interface = *interface_of(handle);
  if (interface.has_address && address != nullptr &&
      rank_of(address, interface.address_length) == kUnknownRank) {
    return 0;
  }
  return interface.real.iface_is_reachable(handle, device, address);
}

ucs_status_t ep_create(const uct_ep_params_t* parameters, uct_ep_h* created) {
  Interface& interface = *interface_of(parameters->iface);
  const ucs_status_t status = interface.real.ep_create(parameters, created);
  if (status != UCS_OK) return status;
  Endpoint& endpoint = endpoint_of(interface, *created);
  endpoint = {};
  endpoint.peer = kUnknownRank;
  if (interface.has_address && (parameters->field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR) != 0 &&
      parameters->iface_addr != nullptr) {
    endpoint.peer = rank_of(parameters->iface_addr, interface.address_length);
  }
  return status;
}

ucs_status_t ep_get_address(uct_ep_h handle, uct_ep_addr_t* address) {
  Interface& interface = interface_of_endpoint(handle);
  const ucs_status_t status = interface.real.ep_get_address(handle, address);
  if (status == UCS_OK && interface.has_endpoint_address) {
    write_trailer(address, interface.endpoint_address_length);
  }
  return status;
}

ucs_status_t ep_connect_to_ep(uct_ep_h handle, const uct_device_addr_t* device,
                              const uct_ep_addr_t* address) {
  Interface& interface = interface_of_endpoint(handle);
  if (interface.has_endpoint_address) {
    endpoint_of(interface, handle).peer = rank_of(address, interface.endpoint_address_length);
  }
  return interface.real.ep_connect_to_ep(handle, device, address);
}

void ep_destroy(uct_ep_h handle) {
  Interface& interface = interface_of_endpoint(handle);
  ::free(interface.endpoints.remove(handle));
  interface.real.ep_destroy(handle);
}

/// A worker that sleeps would not notice when something falls due.
ucs_status_t iface_event_arm(uct_iface_h handle, unsigned events) {
  Interface& interface = *interface_of(handle);
  if (!interface.worker->waiting.empty()) return UCS_ERR_BUSY;
  return interface.real.iface_event_arm(handle, events);
}

}  // namespace

void take_over_connections(uct_iface_ops_t& table) {
  table.iface_query = iface_query;
  table.iface_get_address = iface_get_address;
  table.iface_is_reachable = iface_is_reachable;
  table.ep_create = ep_create;
  table.ep_get_address = ep_get_address;
  table.ep_connect_to_ep = ep_connect_to_ep;
  table.ep_destroy = ep_destroy;
  table.iface_event_arm = iface_event_arm;
}

}  // namespace weft::emulate::ucx
