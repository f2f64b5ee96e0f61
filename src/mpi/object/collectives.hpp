// SPDX-License-Identifier: Apache-2.0
// Collective operations: plans of core/collective, run on messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/collective/collective.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// inout = in ∘ inout, of so many bytes.
using FoldBytes = std::function<void(const std::byte* in, std::byte* inout, std::uint64_t bytes)>;

/// This member's part of an operation.
collective::Plan plan_for(const Group& group, collective::Request request);

/// A plan under way.
class PlanRun final {
 public:
  /// On the collectives' flows of that tag. Input and output are those of the plan; `fold` is for
  /// plans that fold. `group` outlives it, and so does `transfer`.
  PlanRun(Transfer& transfer, const Group& group, std::int32_t tag, collective::Plan plan,
          const std::byte* input, std::byte* output, FoldBytes fold)
      : PlanRun(transfer, group, tag, std::make_unique<collective::Plan>(std::move(plan)), nullptr,
                input, output, std::move(fold)) {}
  /// The same of a plan that outlives it.
  PlanRun(Transfer& transfer, const Group& group, std::int32_t tag, const collective::Plan* plan,
          const std::byte* input, std::byte* output, FoldBytes fold)
      : PlanRun(transfer, group, tag, nullptr, plan, input, output, std::move(fold)) {}
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  ~PlanRun() {
    // After a failure something may still be under way to it.
    if (!transfer_.failure()) transfer_.give_back_scratch(std::move(large_scratch_));
  }
  /// Goes on as far as it can without waiting. True: all is done.
  bool advance();

 private:
  PlanRun(Transfer& transfer, const Group& group, std::int32_t tag,
          std::unique_ptr<const collective::Plan> own, const collective::Plan* plan,
          const std::byte* input, std::byte* output, FoldBytes fold);
  bool is_done(collective::StepIndex step) const {
    return step == collective::no_step || done_[step];
  }
  /// Both ends know: they agree on the size.
  bool is_short(const collective::Piece& piece) const {
    return has_short_ && piece.bytes <= transfer_.longest_short();
  }
  std::span<const std::byte> source(const collective::Piece& piece);
  std::span<std::byte> target(const collective::Piece& piece);
  void take(const collective::Step& step, bool& done);
  void send(const collective::Step& step, bool& done);
  void fold_into(std::span<const std::byte> from, std::span<std::byte> to, bool from_is_left);

  Transfer& transfer_;
  const Group& group_;
  std::int32_t tag_;
  bool has_short_;
  std::unique_ptr<const collective::Plan> own_;
  const collective::Plan& plan_;
  const std::byte* input_;
  std::byte* output_;
  // Small ones need no memory of their own.
  alignas(std::max_align_t) std::array<std::byte, 128> small_scratch_;
  std::array<bool, 16> small_done_;
  Scratch large_scratch_;
  std::unique_ptr<bool[]> large_done_;
  std::byte* scratch_;
  bool* done_;
  FoldBytes fold_;
  std::size_t begun_ = 0;  // steps
  std::size_t ended_ = 0;  // all steps before this one have completed
};

/// Whether a board of that group, if it has one, would have room for the operation. Members that
/// share memory look there whether all have come.
inline bool fits_board(const Group& group, const collective::Request& request) {
  if (group.size() < 2 || group.size() > Board::most_members) return false;
  return request.operation == collective::Operation::barrier ||
         (request.operation == collective::Operation::allreduce && request.bytes > 0 &&
          request.bytes <= Board::most_bytes);
}
/// Folds the values of all members on a board, in the order of the plan for the same request: the
/// result has the same bits. It is valid until the board's next meeting.
const std::byte* fold_on(Board& board, std::uint64_t bytes, bool may_regroup,
                         const FoldBytes& fold);

/// Runs a barrier, or an allreduce of few bytes, without a plan, which would take longer than what
/// it plans: on the group's board if it has one, else a barrier, or an allreduce between two
/// members or among a larger power of two of them, straight on short messages. All members decide
/// alike. False: nothing has happened, it is to be planned.
bool run_short(Transfer& transfer, const Group& group, const collective::Request& request,
               const std::byte* input, std::byte* output, const FoldBytes& fold);

/// The plans of operations that a program calls again and again, of one group. A bounded number, of
/// few steps each.
class PlanCache {
 public:
  /// Null: its blocks are listed. Valid until the next call.
  const collective::Plan* find_or_make(const Group& group, const collective::Request& request);

 private:
  struct Entry {
    collective::Request request;
    collective::Plan plan;
  };
  static constexpr std::size_t most_entries = 16;
  static constexpr std::size_t most_steps = 64;
  std::vector<Entry> entries_;
  collective::Plan long_;  // the last one that is not kept
  std::size_t next_ = 0;   // to give way
};

/// Runs this member's part to its end, on the flows of tag 0; returns early when the transfer has
/// failed.
void run_plan(Transfer& transfer, const Group& group, collective::Plan plan, const std::byte* input,
              std::byte* output, const FoldBytes& fold = {});
/// The same of one that is kept.
void run_plan(Transfer& transfer, const Group& group, const collective::Plan* plan,
              const std::byte* input, std::byte* output, const FoldBytes& fold = {});
void run_collective(Transfer& transfer, const Group& group, const collective::Request& request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold = {});

}  // namespace weft::mpi
