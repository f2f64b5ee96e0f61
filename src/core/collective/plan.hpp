// SPDX-License-Identifier: Apache-2.0
// A collective operation as data: the sends, receives, folds and copies of one member of a group.
// Blocking calls, simulated ranks and replayed traces run the same plans; none of them knows an
// algorithm.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft::collective {

/// The memory that a plan works on. The caller owns all three. `input` is never written.
enum class Buffer : std::uint8_t { input, output, scratch };

/// Consecutive bytes of a buffer.
struct Piece {
  Buffer buffer = Buffer::output;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  /// The part of it that begins at `skip`.
  Piece part(std::uint64_t skip, std::uint64_t length) const {
    return {buffer, offset + skip, length};
  }
  friend bool operator==(const Piece&, const Piece&) = default;
};

using StepIndex = std::uint32_t;
inline constexpr StepIndex no_step = ~StepIndex{0};

struct Step {
  enum class Kind : std::uint8_t {
    send,     ///< `from` to member `peer`
    receive,  ///< from member `peer` into `to`, which has exactly the size of the message
    fold,     ///< to = from ∘ to if `from_is_left`, else to = to ∘ from; both of the same size
    copy,     ///< `from` into `to`; they do not overlap
  };
  Kind kind = Kind::copy;
  bool from_is_left = false;
  std::uint32_t peer = 0;
  std::array<StepIndex, 2> after{no_step, no_step};
  Piece from;
  Piece to;
};

/// How to run it: take the steps in the order of the list. Before a step, wait until those in its
/// `after` have completed; a send has completed when its bytes may be overwritten. Start sends and
/// receives without waiting for them; do folds and copies at once. The plan is done when all steps
/// have completed. Between two members, the n-th send of the one is the n-th receive of the other.
/// Steps that work on the same bytes are ordered by `after` or, if both are local, by the list.
struct Plan {
  std::vector<Step> steps;
  std::uint64_t scratch_bytes = 0;
};

/// Writes a plan step by step. One thread.
class PlanBuilder {
 public:
  StepIndex send(std::uint32_t peer, Piece from, StepIndex after = no_step,
                 StepIndex and_after = no_step) {
    return add({Step::Kind::send, false, peer, {after, and_after}, from, {}});
  }
  StepIndex receive(std::uint32_t peer, Piece to, StepIndex after = no_step,
                    StepIndex and_after = no_step) {
    return add({Step::Kind::receive, false, peer, {after, and_after}, {}, to});
  }
  /// to = from ∘ to.
  StepIndex fold_left(Piece from, Piece to, StepIndex after = no_step,
                      StepIndex and_after = no_step) {
    return add({Step::Kind::fold, true, 0, {after, and_after}, from, to});
  }
  /// to = to ∘ from.
  StepIndex fold_right(Piece from, Piece to, StepIndex after = no_step,
                       StepIndex and_after = no_step) {
    return add({Step::Kind::fold, false, 0, {after, and_after}, from, to});
  }
  /// Nothing, if both are the same bytes.
  StepIndex copy(Piece from, Piece to, StepIndex after = no_step, StepIndex and_after = no_step) {
    if (from == to || from.bytes == 0) return after;
    return add({Step::Kind::copy, false, 0, {after, and_after}, from, to});
  }
  /// Memory of the plan's own.
  Piece scratch(std::uint64_t bytes) {
    const Piece piece{Buffer::scratch, plan_.scratch_bytes, bytes};
    plan_.scratch_bytes += bytes;
    return piece;
  }
  Plan take() { return std::move(plan_); }

 private:
  StepIndex add(const Step& step) {
    plan_.steps.push_back(step);
    return static_cast<StepIndex>(plan_.steps.size() - 1);
  }

  Plan plan_;
};

}  // namespace weft::collective
