// SPDX-License-Identifier: Apache-2.0
// CountedFabric: another fabric, whose messages are counted. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "weft/fabric.hpp"

namespace weft {

class CountedFabric final : public Fabric {
 public:
  struct Counts {
    std::uint64_t posted = 0;    ///< sends and writes
    std::uint64_t bytes = 0;     ///< of these
    std::uint64_t received = 0;  ///< messages
  };

  explicit CountedFabric(std::unique_ptr<Fabric> inner) : inner_(std::move(inner)) {}

  Fabric& inner() { return *inner_; }
  /// Since the last call.
  Counts take_counts() { return std::exchange(counts_, Counts{}); }
  /// Its process is dead: others hear nothing from it any more, not even that it is.
  void silence() { silent_ = true; }

  const FabricLimits& limits() const override { return inner_->limits(); }
  std::string_view name() const override { return inner_->name(); }
  std::string address() const override { return inner_->address(); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override {
    return inner_->add_peer(peer, incarnation, address);
  }
  void remove_peer(NodeId peer) override {
    if (!silent_) inner_->remove_peer(peer);
  }
  Result<Region> expose(std::span<std::byte> memory) override { return inner_->expose(memory); }
  void retract(const Region& region) override { inner_->retract(region); }
  bool is_silent(NodeId peer) const override { return inner_->is_silent(peer); }
  std::size_t post(std::span<const TxOp> ops) override {
    if (silent_) return ops.size();
    const std::size_t taken = inner_->post(ops);
    counts_.posted += taken;
    for (const TxOp& op : ops.first(taken)) counts_.bytes += op.size();
    return taken;
  }
  std::size_t poll(Instant now, std::span<Completion> completions) override {
    const std::size_t n = inner_->poll(now, completions);
    for (const Completion& completion : completions.first(n)) {
      counts_.received += completion.kind == CompletionKind::received ? 1 : 0;
    }
    return n;
  }
  WaitHint prepare_wait(Instant now) override { return inner_->prepare_wait(now); }

 private:
  std::unique_ptr<Fabric> inner_;
  Counts counts_;
  bool silent_ = false;
};

}  // namespace weft
