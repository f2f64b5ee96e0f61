// SPDX-License-Identifier: Apache-2.0
// ProxyFabric: the fabric and the time of a real process whose rank is in a simulation. Another
// process has the simulation (process/simulated/remote_life), and each call asks it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "process/messenger.hpp"
#include "runtime/channel.hpp"
#include "weft/fabric.hpp"
#include "weft/result.hpp"

namespace weft {

/// Introduces no peers: the simulation knows all of them. A write of a peer may appear in a region
/// as late as when that is retracted.
class ProxyFabric final : public Fabric {
 public:
  /// Takes the process's end of a channel to the simulation. Errors: the simulation is gone.
  static Result<std::unique_ptr<ProxyFabric>> open(Channel channel);
  /// Tells the simulation that the process has left.
  ~ProxyFabric() override;

  /// Returns the description of the job, as text (process/job_link.hpp).
  const std::string& job() const { return job_; }
  /// Time, as the simulation lets it pass. Valid as long as this.
  Waiter& waiter() { return waiter_; }
  /// Null: waits have no names. See JobInvitation::waits_in.
  void name_waits(const char* (*waits_in)()) { waits_in_ = waits_in; }

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "sim"; }
  std::string address() const override { return {}; }
  Result<void> add_peer(NodeId, Incarnation, std::string_view) override { return {}; }
  void remove_peer(NodeId) override {}
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant) override { return {}; }

 private:
  class SimulatedTime final : public Waiter {
   public:
    explicit SimulatedTime(ProxyFabric& fabric) : fabric_(fabric) {}
    Instant now() override;
    void busy(Instant) override;
    void idle(Instant now, Fabric& fabric, Instant deadline) override;
    void told_of_wait() override { has_told_of_wait_ = true; }
    int looks_per_turn() const override { return 1; }
    Result<void> news(Instant) override;
    bool is_over() const override { return fabric_.over_; }

   private:
    ProxyFabric& fabric_;
    bool has_told_of_wait_ = false;  // since the last wait
  };

  explicit ProxyFabric(Channel channel) : channel_(std::move(channel)), waiter_(*this) {}
  /// Asks and waits for the answer. Returns what the answer says besides the time; valid until the
  /// next call. Empty once the simulation is gone.
  std::string_view ask(char kind, std::string_view text = {});

  Channel channel_;
  SimulatedTime waiter_;
  FabricLimits limits_;
  std::string job_;
  std::string asked_, answer_, received_;
  std::int64_t computes_from_ns_ = 0;  // of its thread's processor time
  Instant now_{};
  bool over_ = false;
  const char* (*waits_in_)() = nullptr;
};

}  // namespace weft
