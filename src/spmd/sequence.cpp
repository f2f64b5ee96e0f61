// SPDX-License-Identifier: Apache-2.0
#include "spmd/sequence.hpp"

#include "base/check.hpp"
#include "spmd/uniform_reduction.hpp"

namespace weft::spmd {

Sequence::Sequence(const SequenceInput& input)
    : communicator_(input.communicator),
      transition_(input.transition),
      before_(input.before),
      after_(input.after),
      element_size_(input.element_size),
      fill_value_(input.fill.begin(), input.fill.end()),
      operations_(input.communicator) {
  const Transition::Plan& plan = transition_.plan();
  WEFT_CHECK((plan.flow == Flow::reduce) == (input.reduction != nullptr),
             "a transition that reduces needs a reduction, and no other has one");
  if (input.reduction != nullptr) reduction_ = *input.reduction;
  for (const LocalCopy& each : plan.copies) {
    const Copy action{before_.block(each.from_mapping, each.box),
                      after_.block(each.to_mapping, each.box), each.box};
    if (action.from.first != action.to.first) copies_.push_back(action);
  }
  for (const Piece& piece : plan.fills) fills_.push_back(after_.block(piece.mapping, piece.box));
  add_messages(plan);
  add_contributions(plan);
  if (plan.uniform) add_uniform(plan);
}

std::span<std::byte> Sequence::buffer(std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * element_size_;
  buffers_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return {buffers_.back().get(), bytes};
}

Sequence::Message Sequence::message(const PeerPieces& pieces, const LocalMemory& memory) {
  Message result{pieces.peer, {}, {}};
  for (const Piece& piece : pieces.pieces) {
    result.blocks.push_back(memory.block(piece.mapping, piece.box));
  }
  if (result.blocks.size() == 1 && result.blocks[0].is_contiguous()) {
    result.bytes = {result.blocks[0].first, result.blocks[0].row};
    result.blocks.clear();
  } else {
    result.bytes = buffer(pieces.elements);
  }
  return result;
}

void Sequence::add_messages(const Transition::Plan& plan) {
  for (const PeerPieces& send : plan.sends) sends_.push_back(message(send, before_));
  for (const PeerPieces& receive : plan.receives) receives_.push_back(message(receive, after_));
}

void Sequence::add_contributions(const Transition::Plan& plan) {
  for (const Contribution& each : plan.contributions) {
    ContributionAction action;
    action.bytes = buffer(each.elements);
    if (each.rank == plan.rank) {
      for (const Piece& piece : each.pieces) {
        action.own.push_back(before_.block(piece.mapping, piece.box));
      }
    } else {
      receives_.push_back({each.rank, action.bytes, {}});
    }
    for (const FoldPart& part : each.parts) {
      std::byte* const packed =
          action.bytes.data() + static_cast<std::size_t>(part.offset) * element_size_;
      action.folds.push_back({after_.block(part.mapping, part.part),
                              block_in(packed, part.piece, part.part, element_size_), part.part,
                              part.is_first});
    }
    contributions_.push_back(std::move(action));
  }
}

void Sequence::add_uniform(const Transition::Plan& plan) {
  for (const Piece& piece : plan.uniform->from) {
    uniform_from_.push_back(before_.block(piece.mapping, piece.box));
  }
  for (const Piece& piece : plan.uniform->to) {
    uniform_to_.push_back(after_.block(piece.mapping, piece.box));
  }
  // In place where the same consecutive elements are before and after.
  const bool in_place = uniform_from_.size() == 1 && uniform_to_.size() == 1 &&
                        uniform_from_[0].is_contiguous() &&
                        uniform_from_[0].first == uniform_to_[0].first;
  if (in_place) {
    uniform_values_ = {uniform_from_[0].first, uniform_from_[0].row};
    uniform_from_.clear();
    uniform_to_.clear();
  } else {
    uniform_values_ = buffer(plan.uniform->elements);
  }
}

void Sequence::start() {
  for (const Message& each : receives_) {
    operations_.receive(each.peer, transition_tag, each.bytes);
  }
  for (const Message& each : sends_) {
    std::byte* out = each.bytes.data();
    for (const Block& block : each.blocks) out = pack(block, out);
    operations_.send(each.peer, transition_tag, each.bytes);
  }
  for (const ContributionAction& each : contributions_) {
    std::byte* out = each.bytes.data();
    for (const Block& block : each.own) out = pack(block, out);
  }
  // While the messages are under way.
  for (const Copy& each : copies_) copy(each.from, each.to, each.shape, element_size_);
}

Result<void> Sequence::finish() {
  if (auto done = operations_.finish(); !done.ok()) return done;
  for (const Message& each : receives_) {
    const std::byte* in = each.bytes.data();
    for (const Block& block : each.blocks) in = unpack(block, in);
  }
  for (const ContributionAction& each : contributions_) {
    for (const Fold& part : each.folds) fold(part);
  }
  for (const Block& block : fills_) fill(block, fill_value_);
  return transition_.plan().uniform ? finish_uniform() : Result<void>();
}

void Sequence::fold(const Fold& fold) const {
  if (fold.is_first) {
    copy(fold.source, fold.target, fold.shape, element_size_);
    return;
  }
  if (fold.source.is_contiguous() && fold.target.is_contiguous()) {
    reduction_->fold(fold.target.first, fold.source.first, fold.target.row / element_size_);
    return;
  }
  // Row by row, as `copy` would go.
  for_each_row(fold.target, fold.source, fold.shape, element_size_,
               [&](std::byte* target, const std::byte* source, std::size_t bytes) {
                 reduction_->fold(target, source, bytes / element_size_);
               });
}

Result<void> Sequence::finish_uniform() {
  const UniformReduction& uniform = *transition_.plan().uniform;
  std::byte* out = uniform_values_.data();
  for (const Block& block : uniform_from_) out = pack(block, out);
  const UniformJob job{communicator_, uniform.members, uniform.place,
                       uniform.root,  *reduction_,     element_size_};
  const auto algorithm = choose_algorithm(uniform_values_.size(), uniform.members.size(),
                                          uniform.root.has_value(), reduction_->grouping);
  if (auto done = reduce_uniformly(job, algorithm, uniform_values_); !done.ok()) return done;
  const std::byte* in = uniform_values_.data();
  for (const Block& block : uniform_to_) in = unpack(block, in);
  return {};
}

ActionSequence::ActionSequence(std::unique_ptr<State> state) : state_(std::move(state)) {}
ActionSequence::ActionSequence(ActionSequence&&) noexcept = default;
ActionSequence& ActionSequence::operator=(ActionSequence&&) noexcept = default;
ActionSequence::~ActionSequence() = default;

Result<void> ActionSequence::run() {
  start();
  return finish();
}

void ActionSequence::start() {
  WEFT_CHECK(state_->container->from().is(state_->from),
             "a sequence starts from another partitioning than its container is in");
  state_->sequence.start();
}

Result<void> ActionSequence::finish() {
  auto done = state_->sequence.finish();
  if (!state_->container->current->is(state_->to)) {
    state_->container->become(state_->to, state_->after);
  }
  return done;
}

}  // namespace weft::spmd
