// SPDX-License-Identifier: Apache-2.0
// How a call meets the other members of its group on their board.
//
// From the call of MPI down to the wait all is one function, but for what is seldom needed: after a
// switch between processes the processor predicts no return, and each costs as much as a look at
// the board.
#pragma once

#include "base/copy.hpp"
#include "mpi/object/collectives.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

[[gnu::always_inline]] inline void Transfer::meet_on_board(const Group& group,
                                                           std::span<const std::byte> values) {
  Lanes& lanes = *lanes_of(group);
  Board& board = *lanes.board;
  board.arrive(lanes.call.with(values.size()), values, BriefWait::core());
  if (board.is_anyone_asleep()) wake_on_board(group, board);
  if (!board.is_complete() && (lets_others_in() || !brief_wait_.until_complete(board))) {
    wait_on_board(group, lanes);
  }
  if (failure_ || (!board.has_one_word() && has_other_word(group, lanes))) return;
  const bool is_idle = operations_.empty() && tasks_.empty() && matched_.empty();
  if (is_idle && ++meetings_without_turn_ < meetings_per_turn) return;
  meetings_without_turn_ = 0;
  turn();
}

/// Runs a barrier, or an allreduce of few bytes, on the group's board. False: there is none, or the
/// operation has no place on it, and nothing has happened.
[[gnu::always_inline]] inline bool run_on_board(Transfer& transfer, const Group& group,
                                                const collective::Request& request,
                                                const std::byte* input, std::byte* output,
                                                const FoldBytes& fold) {
  const bool is_barrier = request.operation == collective::Operation::barrier;
  if (!is_barrier && !fits_board(group, request)) return false;
  if (transfer.failure()) return false;
  Board* const board = transfer.find_board(group);
  if (board == nullptr) return false;
  transfer.meet_on_board(group, {input, request.bytes});
  if (transfer.failure() || output == nullptr || request.bytes == 0) return true;
  const std::byte* const result = fold_on(*board, request.bytes, request.may_regroup, fold);
  copy_bytes(output, result, request.bytes);
  return true;
}

}  // namespace weft::mpi
