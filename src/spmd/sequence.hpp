// SPDX-License-Identifier: Apache-2.0
// The action sequence of a transition: addresses and buffers put to a plan.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "spmd/container_state.hpp"
#include "spmd/operations.hpp"
#include "spmd/plan.hpp"

namespace weft::spmd {

struct SequenceInput {
  Communicator& communicator;
  Transition transition;
  LocalMemory before;
  LocalMemory after;
  std::size_t element_size;
  const RawReduction* reduction;  ///< of Flow::reduce
  std::span<const std::byte> fill;
};

/// Start, then finish, as often as wanted. One thread.
class Sequence {
 public:
  explicit Sequence(const SequenceInput& input);

  void start();
  Result<void> finish();

 private:
  struct Copy {
    Block from;
    Block to;
    Box shape;
  };
  /// One message: straight from or into memory, or by way of a buffer.
  struct Message {
    Rank peer;
    std::span<std::byte> bytes;
    std::vector<Block> blocks;  ///< packed or unpacked; none when straight
  };
  struct Fold {
    Block target;
    Block source;  ///< in the contribution's buffer
    Box shape;
    bool is_first = false;
  };
  struct ContributionAction {
    std::vector<Block> own;  ///< this rank's, gathered into `bytes` before anything is written
    std::span<std::byte> bytes;
    std::vector<Fold> folds;
  };

  void add_messages(const Transition::Plan& plan);
  void add_contributions(const Transition::Plan& plan);
  void add_uniform(const Transition::Plan& plan);
  Message message(const PeerPieces& pieces, const LocalMemory& memory);
  std::span<std::byte> buffer(std::int64_t elements);
  void fold(const Fold& fold) const;
  Result<void> finish_uniform();

  Communicator& communicator_;
  Transition transition_;
  LocalMemory before_;
  LocalMemory after_;
  std::size_t element_size_;
  std::optional<RawReduction> reduction_;
  std::vector<std::byte> fill_value_;

  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<Copy> copies_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<ContributionAction> contributions_;
  std::vector<Block> fills_;
  std::vector<Block> uniform_from_;
  std::vector<Block> uniform_to_;
  std::span<std::byte> uniform_values_;
  Operations operations_;
};

struct ActionSequence::State {
  ContainerBase::State* container;
  Partitioning from;
  Partitioning to;
  LocalMemory after;
  Sequence sequence;
};

}  // namespace weft::spmd
