// SPDX-License-Identifier: Apache-2.0
// AbsentMemory: stands where shared memory would, in a process that cannot share any.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "fabric/shm/shm.hpp"

namespace weft::hybrid {

/// Reaches nobody and limits nothing. Peers whose memory can be shared still have to learn over the
/// network how to reach this process: they speak the hybrid fabric's protocol.
class AbsentMemory final : public ShmFabric {
 public:
  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "no memory"; }
  std::string address() const override { return {}; }
  Result<void> add_peer(NodeId, Incarnation, std::string_view address) override {
    return Error{ErrorCode::unavailable,
                 "peer at '" + std::string(address) + "': this process cannot share memory"};
  }
  void remove_peer(NodeId) override {}
  Result<Region> expose(std::span<std::byte> memory) override { return Region{memory, {}}; }
  void expose_as(std::span<std::byte>, const RemoteRegion&) override {}
  void retract(const Region&) override {}
  bool may_reach(std::string_view) const override { return false; }
  std::size_t post(std::span<const TxOp>) override { return 0; }
  std::size_t poll(Instant, std::span<Completion>) override { return 0; }
  WaitHint prepare_wait(Instant) override { return {}; }

 private:
  static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  FabricLimits limits_{any, any, any, true};
};

}  // namespace weft::hybrid
