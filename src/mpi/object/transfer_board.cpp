// SPDX-License-Identifier: Apache-2.0
// How a transfer meets the members of a group on their board: it looks at the board for a moment,
// and then waits as for messages, of which one wakes it. What two members do about calls that do
// not fit together is here as well: a board has no messages that would show it.
#include <fmt/format.h>

#include <algorithm>

#include "mpi/object/transfer_lane.hpp"
#include "runtime/fence.hpp"

namespace weft::mpi {
namespace {

/// Of one process: each has a page or two, and programs make communicators by the thousand.
constexpr std::size_t most_boards = 64;
constexpr std::uint64_t meeting_bits = 0x7fff'ffff;

}  // namespace

bool Transfer::can_have_board(const Group& group) {
  return boards_ < most_boards && shares_memory_with(group) && accept_fences();
}

bool Transfer::shares_memory_with(const Group& group) const {
  if (!may_have_boards_ || lets_others_in()) return false;
  return std::ranges::all_of(group.members, [&](NodeId node) {
    return node == messenger_.machine().self() || messenger_.has_lane(node);
  });
}

void Transfer::set_board(const Group& group, std::unique_ptr<Board> board) {
  Lanes* const lanes = lanes_of(group);
  if (lanes == nullptr) return;
  if (lanes->board != nullptr) --boards_;
  if (board != nullptr) ++boards_;
  lanes->calls_before_board = 0;
  lanes->board = std::move(board);
}

// The last one to arrive sees everybody who sleeps: each says so before it looks for the last time.
// Those who arrive before wake them as well. Where others compute on all cores it takes long to
// come back from a sleep, and four sleepers then come back one by one while the others arrive: with
// 4 ranks and 4 busy loops on 2 cores a barrier took 0.23 ms so, and 0.7 ms when only the last one
// woke all others.
void Transfer::wake_on_board(const Group& group, const Board& board) {
  const Header header{.is_short = 4};
  for (std::uint32_t i = 0; i < board.members() && !failure_; ++i) {
    if (!board.is_asleep(i) || send_header_now(group, i, header)) continue;
    // Without a lane its process has gone on meanwhile, and ended.
    if (messenger_.has_lane(group.members[i])) post_envelope(group, i, header, nullptr);
  }
}

void Transfer::wait_on_board(const Group& group, Lanes& lanes) {
  Board& board = *lanes.board;
  board.set_asleep(true);
  fence_others();
  lanes.waits_on_board = true;
  until([&] {
    return board.is_complete() || has_other_word(group, lanes) || has_early_message(group, lanes);
  });
  lanes.waits_on_board = false;
  board.set_asleep(false);
}

// Of those that have arrived.
bool Transfer::has_other_word(const Group& group, const Lanes& lanes) {
  const Board& board = *lanes.board;
  const std::uint32_t other = board.find_other_word();
  if (other == board.members()) return false;
  const std::uint64_t theirs = board.word_of(other), own = board.word_of(group.rank);
  const CallName call = CallName::of(theirs);
  const Lane& lane = *lanes.by_source[other];
  if (!call.is_sound()) {
    refuse(lane, 0);
  } else if (!call.fits(CallName::of(own))) {
    refuse_call(lane, call, CallName::of(own));
  } else {
    refuse_count(lane.sender(), CallName::length_of(theirs), CallName::length_of(own));
  }
  return true;
}

// Nobody leaves before all have arrived: until then a message of a blocking operation comes from
// one that has called another operation, or this one with more bytes than a board has room for.
bool Transfer::has_early_message(const Group& group, const Lanes& lanes) {
  const auto found = std::ranges::find_if(lanes.by_source, [](const auto& lane) {
    return !lane->early.empty() || !lane->early_plain.empty();
  });
  if (found == lanes.by_source.end() || lanes.board->is_complete()) return false;
  Lane& lane = **found;
  const std::uint64_t own = lanes.board->word_of(group.rank);
  if (lane.early.empty()) {
    refuse_count(lane.sender(), lane.early_plain.front(), CallName::length_of(own));
  } else if (!lane.early.front().call.fits(CallName::of(own))) {
    refuse_call(lane, lane.early.front().call, CallName::of(own));
  } else {
    refuse_count(lane.sender(), lane.early.front().content.size(), CallName::length_of(own));
  }
  return true;
}

void Transfer::tell_meeting(const Group& group, const Lanes& lanes) {
  const Board& board = *lanes.board;
  const Header header{.tag = static_cast<std::int32_t>(board.meeting() & meeting_bits),
                      .is_short = 3,
                      .bytes = board.word_of(group.rank)};
  for (std::uint32_t i = 0; i < board.members(); ++i) {
    // When there is no room, the next time will do.
    if (!board.has_arrived(i)) (void)send_header_now(group, i, header);
  }
}

// A process that has called the operation, and has not arrived, waits for messages in it.
void Transfer::compare_meeting(const Lane& lane, const Header& header) {
  const CallName theirs = CallName::of(header.bytes);
  compare_calls(lane, theirs);
  const Lanes* const lanes = lanes_of(lane.group());
  if (failure_ || lanes == nullptr || lanes->board == nullptr) return;
  const auto meeting = static_cast<std::uint64_t>(header.tag);
  const std::uint64_t ahead = (meeting - lanes->board->meeting()) & meeting_bits;
  if (ahead == 0 || ahead > meeting_bits / 2) return;  // it has arrived there
  if (!lanes->calls.of_number(theirs.number()).is_named()) return;
  disagree(
      fmt::format("rank {} is in a collective operation with {} bytes, in which this rank has "
                  "another number; use the same counts and operations everywhere",
                  lane.sender().value(), CallName::length_of(header.bytes)));
}

}  // namespace weft::mpi
