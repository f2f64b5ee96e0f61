// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/addresses.hpp"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <string.h>
#include <sys/socket.h>

namespace weft::emulate::libfabric {
namespace {

constexpr std::size_t kMostBytes = 256;

struct Address {
  alignas(sockaddr_in6) char text[kMostBytes];
  std::size_t bytes;
};

constexpr unsigned kMostEndpoints = 64;
struct AddressesOf {
  std::atomic<const fid*> endpoint;
  fid_av* addresses;
};
AddressesOf all[kMostEndpoints];

std::uint64_t mix(std::uint64_t hash, const char* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(from[i])) * 0x100000001b3;
  }
  return hash;
}

/// Not 0. Of an Internet address only the host and the port: the rest need not be set.
std::uint64_t hash_of(const Address& address) {
  std::uint64_t hash = 0xcbf29ce484222325;
  sockaddr_in6 wide;
  ::memcpy(&wide, address.text, sizeof wide);
  if (wide.sin6_family == AF_INET && address.bytes == sizeof(sockaddr_in)) {
    hash = mix(hash, address.text, offsetof(sockaddr_in, sin_zero));
  } else if (wide.sin6_family == AF_INET6 && address.bytes == sizeof wide) {
    hash = mix(hash, address.text, offsetof(sockaddr_in6, sin6_flowinfo));
    hash = mix(hash, address.text + offsetof(sockaddr_in6, sin6_addr), sizeof wide.sin6_addr);
  } else {
    hash = mix(hash, address.text, address.bytes);
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace

void publish_address(fid_ep* endpoint) {
  Address address = {{}, sizeof address.text};
  if (process.rank >= kMostRanks) return;
  if (fi_getname(&endpoint->fid, address.text, &address.bytes) != 0) return;
  process.block->publish_address(hash_of(address), process.rank);
}

void note_addresses(const fid* endpoint, fid_av* addresses) {
  for (AddressesOf& one : all) {
    if (one.endpoint.load() != nullptr) continue;
    one.addresses = addresses;
    one.endpoint.store(endpoint, std::memory_order_release);
    return;
  }
}

void forget_endpoint(const fid* endpoint) {
  for (AddressesOf& one : all) {
    if (one.endpoint.load() == endpoint) one.endpoint.store(nullptr);
  }
}

unsigned rank_of(const fid_ep* endpoint, fi_addr_t to) {
  for (const AddressesOf& one : all) {
    if (one.endpoint.load(std::memory_order_acquire) != &endpoint->fid) continue;
    Address address = {{}, sizeof address.text};
    if (to == FI_ADDR_UNSPEC ||
        fi_av_lookup(one.addresses, to, address.text, &address.bytes) != 0 ||
        address.bytes > sizeof address.text) {
      return kMostRanks;
    }
    return process.block->rank_at_address(hash_of(address));
  }
  return kMostRanks;
}

}  // namespace weft::emulate::libfabric
