// SPDX-License-Identifier: Apache-2.0
// ProcessGroup: a communicator of some of a job's processes, over this process's messenger.
#pragma once

#include <memory>
#include <vector>

#include "process/messenger.hpp"
#include "weft/message.hpp"

namespace weft {

class ProcessGroup final : public Communicator {
 public:
  /// `members`: the job's processes by rank, this one among them.
  ProcessGroup(Messenger& messenger, std::vector<NodeId> members, Generation generation);
  /// All of a world's `nodes`, from `first` on.
  static std::unique_ptr<ProcessGroup> world(Messenger& messenger, std::uint32_t nodes,
                                             NodeId first = NodeId(0));

  Rank rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(members_.size()); }
  Generation generation() const override { return generation_; }
  Operation start_send(Rank to, Tag tag, std::span<const std::byte> bytes) override;
  Operation start_receive(Rank from, Tag tag, std::span<std::byte> into) override;
  Result<std::size_t> wait(Operation operation) override { return messenger_.wait(operation); }
  bool is_done(Operation operation) override { return messenger_.is_done(operation); }
  std::unique_ptr<Communicator> subgroup(std::span<const Rank> members) override;
  MessageHistory* history() override { return messenger_.history(); }

 private:
  NodeId node(Rank rank) const;

  Messenger& messenger_;
  std::vector<NodeId> members_;
  Rank rank_{};
  Generation generation_;
  std::uint64_t subgroups_ = 0;
};

}  // namespace weft
