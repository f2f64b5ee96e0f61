// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/regions.hpp"

#include <algorithm>

#include "fabric/libfabric/frame_key.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t kMaxKnownRegions = std::size_t{1} << 20;

bool inside(std::uint64_t length, std::uint64_t offset, std::uint64_t size) {
  return offset <= length && size <= length - offset;
}

}  // namespace

Result<Region> LocalRegions::expose(Endpoint& endpoint, std::span<std::byte> memory) {
  const Traits& traits = endpoint.traits();
  std::uint64_t key = fresh_key();
  Entry entry;
  if (traits.native_write && !memory.empty()) {
    auto registration = endpoint.register_memory(memory, FI_REMOTE_WRITE);
    if (!registration) return std::move(registration).error();
    entry.registration = std::move(*registration);
    key = fi_mr_key(entry.registration.get());
  }
  const std::uint64_t base =
      traits.virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0;
  entry.region = {memory, {key, base, memory.size()}};
  const Region region = entry.region;
  regions_.insert_or_assign(key, std::move(entry));
  newest_[exposed_++ % kAnnounced] = key;
  return region;
}

std::vector<RegionGrant> LocalRegions::exposed_since(std::uint64_t count) const {
  std::vector<RegionGrant> grants;
  const std::uint64_t oldest = exposed_ - std::min<std::uint64_t>(exposed_, kAnnounced);
  for (std::uint64_t number = std::max(count, oldest); number < exposed_; ++number) {
    if (const auto known = grant(newest_[number % kAnnounced])) grants.push_back(*known);
  }
  return grants;
}

bool LocalRegions::retract(std::uint64_t key) {
  return regions_.erase(key) == 1;
}

std::optional<RegionGrant> LocalRegions::grant(std::uint64_t key) const {
  const auto found = regions_.find(key);
  if (found == regions_.end()) return std::nullopt;
  const RemoteRegion& remote = found->second.region.remote;
  return RegionGrant{remote.key, remote.base, remote.length};
}

std::optional<std::span<std::byte>> LocalRegions::resolve(std::uint64_t key, std::uint64_t offset,
                                                          std::size_t size) const {
  const auto found = regions_.find(key);
  if (found == regions_.end()) return std::nullopt;
  const std::span<std::byte> memory = found->second.region.memory;
  if (!inside(memory.size(), offset, size)) return std::nullopt;
  return memory.subspan(offset, size);
}

Permission PeerRegions::permission(std::uint64_t key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? Permission::unknown : found->second.permission;
}

bool PeerRegions::allows(const RemoteRegion& region, std::uint64_t offset, std::size_t size) const {
  const auto found = known_.find(region.key);
  return found != known_.end() && found->second.permission == Permission::open &&
         found->second.grant.base == region.base &&
         inside(found->second.grant.length, offset, size);
}

bool PeerRegions::note_asked(std::uint64_t key) {
  if (known_.size() >= kMaxKnownRegions) return false;
  known_.insert_or_assign(key, Known{});
  return true;
}

void PeerRegions::note_open(const RegionGrant& grant) {
  const auto found = known_.find(grant.key);
  if (found != known_.end()) {
    found->second = {Permission::open, grant};
  } else if (known_.size() < kMaxKnownRegions) {
    known_.emplace(grant.key, Known{Permission::open, grant});
  }
}

void PeerRegions::note_closed(std::uint64_t key) {
  known_.erase(key);
}

void PeerRegions::note_refused(std::uint64_t key) {
  const auto found = known_.find(key);
  if (found != known_.end()) found->second.permission = Permission::refused;
}

}  // namespace weft::ofi
