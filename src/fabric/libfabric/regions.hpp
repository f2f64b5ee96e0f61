// SPDX-License-Identifier: Apache-2.0
// Regions: memory of this node that peers may write into, and the grants that this node has of
// memory of its peers. A writer asks once per region whether it may write there, so that both sides
// notice a bad write with every provider.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/libfabric/endpoint.hpp"
#include "fabric/libfabric/frame.hpp"
#include "weft/fabric.hpp"

namespace weft::ofi {

/// This node's exposed memory, by key.
class LocalRegions {
 public:
  /// Registers with the provider when it has one-sided writes.
  Result<Region> expose(Endpoint& endpoint, std::span<std::byte> memory);
  /// False when there is no such region.
  bool retract(std::uint64_t key);
  /// The grant for a peer that asks for `key`.
  std::optional<RegionGrant> grant(std::uint64_t key) const;
  /// The memory at [offset, offset + size) of region `key`; empty optional when it is not inside.
  std::optional<std::span<std::byte>> resolve(std::uint64_t key, std::uint64_t offset,
                                              std::size_t size) const;
  /// Releases all registrations.
  void clear() { regions_.clear(); }

  /// Returns how many were ever exposed.
  std::uint64_t exposed() const { return exposed_; }
  /// Regions to announce to a peer unasked: those exposed after the first `count` that are still
  /// there. Of many only the newest: peers ask for the others.
  std::vector<RegionGrant> exposed_since(std::uint64_t count) const;

 private:
  static constexpr std::size_t kAnnounced = 8;
  struct Entry {
    Region region;
    MemoryRegistration registration;
  };
  std::unordered_map<std::uint64_t, Entry> regions_;
  std::uint64_t exposed_ = 0;
  std::array<std::uint64_t, kAnnounced> newest_{};  // their keys, by number
};

enum class Permission : std::uint8_t {
  unknown,  ///< never asked
  asked,    ///< the answer is under way
  open,
  refused,
};

/// The regions of one peer, as it described them in this session.
class PeerRegions {
 public:
  Permission permission(std::uint64_t key) const;
  /// Returns whether a write of `size` bytes at `offset` is inside of the peer's grant for
  /// `region`.
  bool allows(const RemoteRegion& region, std::uint64_t offset, std::size_t size) const;
  /// Returns false when the peer requests more than a sane job has.
  bool note_asked(std::uint64_t key);
  /// Asked for or not.
  void note_open(const RegionGrant& grant);
  void note_refused(std::uint64_t key);
  /// It was withdrawn; forgetting it only saves memory.
  void note_closed(std::uint64_t key);
  void clear() { known_.clear(); }

 private:
  struct Known {
    Permission permission = Permission::asked;
    RegionGrant grant;
  };
  std::unordered_map<std::uint64_t, Known> known_;
};

}  // namespace weft::ofi
