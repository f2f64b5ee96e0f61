// SPDX-License-Identifier: Apache-2.0
// ForkedFabric: an endpoint in a process of its own, driven through the Fabric interface from the
// test's process. For implementations that want one endpoint per process, and for real SIGKILLs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/fabric.hpp"

namespace weft::contract {

/// The binary that links this replaces operator new: blocks of half a KiB and more come from
/// memory that is shared with forked processes, so that an endpoint in another process can expose
/// and send the test's buffers where they are.
class ForkedFabric final : public Fabric {
 public:
  using Open = std::function<Result<std::unique_ptr<Fabric>>()>;

  /// Forks and calls `open` in the new process.
  static Result<std::unique_ptr<Fabric>> open(const Open& open);
  /// Lets the process destroy its endpoint and end, unless it was killed.
  ~ForkedFabric() override;
  /// SIGKILL.
  void kill();
  /// SIGSTOP, SIGCONT. While the process is stopped no other function may be called: it would wait.
  void signal(int number);

  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return name_; }
  std::string address() const override { return address_; }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override;
  void remove_peer(NodeId peer) override;
  Result<Region> expose(std::span<std::byte> memory) override;
  void retract(const Region& region) override;
  std::size_t post(std::span<const TxOp> ops) override;
  std::size_t poll(Instant now, std::span<Completion> completions) override;
  WaitHint prepare_wait(Instant now) override;

 private:
  struct Mailbox;
  class Server;
  ForkedFabric() = default;
  void call();
  void share_segments(TxOp& op, bool keep);
  void release(std::uint64_t context);

  int pid_ = -1;
  int socket_ = -1;
  Mailbox* mailbox_ = nullptr;
  FabricLimits limits_;
  std::string name_;
  std::string address_;
  // Copies of segments that were too small to be shared: of writes that have not ended, and of the
  // post under way.
  std::map<std::uint64_t, std::vector<std::vector<std::byte>>> kept_;
  std::vector<std::vector<std::byte>> passing_;
  int remote_descriptor_ = -1;
  int descriptor_ = -1;
};

}  // namespace weft::contract
