// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/copy.hpp"
#include "mpi/object/board_agreement.hpp"
#include "mpi/object/transfer_board.hpp"

namespace weft::mpi {

using collective::Piece;
using collective::Plan;
using collective::Step;

Plan plan_for(const Group& group, collective::Request request) {
  request.members = group.size();
  request.rank = group.rank;
  return collective::make_plan(request, collective::choose(request));
}

namespace {

/// All but the listed blocks, which lie in memory of the caller's.
bool are_same(const collective::Request& a, const collective::Request& b) {
  return a.operation == b.operation && a.root == b.root && a.bytes == b.bytes &&
         a.element_bytes == b.element_bytes && a.may_regroup == b.may_regroup &&
         a.in_place == b.in_place && a.blocks.bytes(0) == b.blocks.bytes(0) &&
         a.input_blocks.bytes(0) == b.input_blocks.bytes(0);
}

}  // namespace

const Plan* PlanCache::find_or_make(const Group& group, const collective::Request& request) {
  if (!request.blocks.is_uniform() || !request.input_blocks.is_uniform()) return nullptr;
  for (const Entry& entry : entries_) {
    if (are_same(entry.request, request)) return &entry.plan;
  }
  Plan plan = plan_for(group, request);
  if (plan.steps.size() > most_steps) {
    long_ = std::move(plan);
    return &long_;
  }
  if (entries_.size() < most_entries) {
    entries_.push_back({request, std::move(plan)});
    return &entries_.back().plan;
  }
  Entry& entry = entries_[next_++ % most_entries];
  entry = {request, std::move(plan)};
  return &entry.plan;
}

PlanRun::PlanRun(Transfer& transfer, const Group& group, std::int32_t tag,
                 std::unique_ptr<const Plan> own, const Plan* plan, const std::byte* input,
                 std::byte* output, FoldBytes fold)
    : transfer_(transfer),
      group_(group),
      tag_(tag),
      has_short_(tag == 0 &&
                 transfer.has_short(group)),  // several at a time have flows of their own
      own_(std::move(own)),
      plan_(own_ != nullptr ? *own_ : *plan),
      input_(input),
      output_(output),
      scratch_(small_scratch_.data()),
      done_(small_done_.data()),
      fold_(std::move(fold)) {
  if (plan_.scratch_bytes > small_scratch_.size()) {
    large_scratch_ = transfer.take_scratch(plan_.scratch_bytes);
    scratch_ = large_scratch_.memory.get();
  }
  small_done_.fill(false);
  if (plan_.steps.size() > small_done_.size()) {
    large_done_ = std::make_unique<bool[]>(plan_.steps.size());
    done_ = large_done_.get();
  }
}

bool PlanRun::advance() {
  for (; begun_ < plan_.steps.size(); ++begun_) {
    const Step& step = plan_.steps[begun_];
    if (transfer_.failure() || !is_done(step.after[0]) || !is_done(step.after[1])) return false;
    take(step, done_[begun_]);
  }
  while (ended_ < plan_.steps.size() && done_[ended_]) ++ended_;
  return ended_ == plan_.steps.size();
}

std::span<const std::byte> PlanRun::source(const Piece& piece) {
  if (piece.buffer == collective::Buffer::input) return {input_ + piece.offset, piece.bytes};
  return target(piece);
}

std::span<std::byte> PlanRun::target(const Piece& piece) {
  std::byte* base = piece.buffer == collective::Buffer::scratch ? scratch_ : output_;
  return {base + piece.offset, piece.bytes};
}

void PlanRun::take(const Step& step, bool& done) {
  switch (step.kind) {
    case Step::Kind::send:
      return send(step, done);
    case Step::Kind::receive:
      if (is_short(step.to)) {
        return transfer_.receive_short(group_, step.peer, target(step.to), done);
      }
      return transfer_.receive_plain(group_, step.peer, tag_, target(step.to), done);
    case Step::Kind::copy:
      std::memmove(target(step.to).data(), source(step.from).data(), step.from.bytes);
      break;
    case Step::Kind::fold:
      fold_into(source(step.from), target(step.to), step.from_is_left);
      break;
  }
  done = true;
}

/// Operations of which several are under way at a time are not blocking: they have other tags.
void PlanRun::send(const Step& step, bool& done) {
  bool is_out = true;
  if (is_short(step.from)) {
    is_out = transfer_.send_short(group_, step.peer, source(step.from), done);
  } else {
    transfer_.send_plain(group_, step.peer, tag_, source(step.from), done);
    is_out = done;
  }
  if (!is_out && tag_ == 0) transfer_.note_collective_send(group_, step.peer);
}

void PlanRun::fold_into(std::span<const std::byte> from, std::span<std::byte> to,
                        bool from_is_left) {
  if (from_is_left) return fold_(from.data(), to.data(), to.size());
  alignas(std::max_align_t) std::array<std::byte, 128> small;
  std::vector<std::byte> large(from.size() > small.size() ? from.size() : 0);
  std::byte* const right = large.empty() ? small.data() : large.data();
  std::memcpy(right, from.data(), from.size());
  fold_(to.data(), right, from.size());
  std::memcpy(to.data(), right, from.size());
}

namespace {

constexpr std::uint64_t most_folded = 128;
/// So few members that each tells all others at once: where they share cores every wait takes a
/// switch between processes, and a message a fraction of it.
constexpr std::uint32_t few_members = 8;

void send_to(Transfer& transfer, const Group& group, std::uint32_t to,
             std::span<const std::byte> bytes) {
  bool sent = false;
  if (!transfer.send_short(group, to, bytes, sent)) transfer.note_collective_send(group, to);
}

/// Sends to one member, and waits for the other's message.
void exchange_short(Transfer& transfer, const Group& group, std::uint32_t to,
                    std::span<const std::byte> bytes, std::uint32_t from,
                    std::span<std::byte> into) {
  bool came = false;
  send_to(transfer, group, to, bytes);
  transfer.receive_short(group, from, into, came);
  transfer.until([&] { return came; });
}

/// Each tells all others, and hears of them.
void meet_at_once(Transfer& transfer, const Group& group) {
  const std::uint32_t members = group.size();
  std::array<bool, few_members> came{};
  for (std::uint32_t i = 1; i < members; ++i) {
    send_to(transfer, group, (group.rank + i) % members, {});
  }
  for (std::uint32_t i = 1; i < members; ++i) {
    transfer.receive_short(group, (group.rank + i) % members, {}, came[i]);
  }
  std::uint32_t next = 1;
  transfer.until([&] {
    while (next < members && came[next]) ++next;
    return next == members;
  });
}

/// Member i hears, directly or not, of all that the members before it heard.
void meet(Transfer& transfer, const Group& group) {
  const std::uint32_t members = group.size();
  for (std::uint64_t distance = 1; distance < members; distance *= 2) {
    if (transfer.failure()) return;
    const auto to = static_cast<std::uint32_t>((group.rank + distance) % members);
    const auto from = static_cast<std::uint32_t>((group.rank + members - distance) % members);
    exchange_short(transfer, group, to, {}, from, {});
  }
}

/// Pairs at distance 1, 2, 4 … exchange what they have. The lower member's values are on the left.
void fold_all(Transfer& transfer, const Group& group, std::span<std::byte> values,
              const FoldBytes& fold) {
  alignas(std::max_align_t) std::array<std::byte, most_folded> other;
  for (std::uint32_t distance = 1; distance < group.size(); distance *= 2) {
    const std::uint32_t peer = group.rank ^ distance;
    exchange_short(transfer, group, peer, values, peer, {other.data(), values.size()});
    if (transfer.failure()) return;
    if (peer < group.rank) {
      fold(other.data(), values.data(), values.size());
    } else {
      fold(values.data(), other.data(), values.size());
      std::memcpy(values.data(), other.data(), values.size());
    }
  }
}

}  // namespace

const std::byte* fold_on(Board& board, std::uint64_t bytes, bool may_regroup,
                         const FoldBytes& fold) {
  const std::uint32_t members = board.members();
  if (members <= few_members || !may_regroup) {
    for (std::uint32_t i = 1; i < members; ++i) {
      fold(board.values(i - 1), board.values(i), bytes);
    }
    return board.values(members - 1);
  }
  // The first ones pair up where members are no power of two; then pairs of pairs.
  std::array<std::uint32_t, Board::most_members> place{};
  const std::uint32_t parties = std::bit_floor(members);
  const std::uint32_t pairs = members - parties;
  for (std::uint32_t i = 0; i < parties; ++i) {
    place[i] = i < pairs ? 2 * i + 1 : i + pairs;
    if (i < pairs) fold(board.values(2 * i), board.values(2 * i + 1), bytes);
  }
  for (std::uint32_t count = parties / 2; count > 0; count /= 2) {
    for (std::uint32_t i = 0; i < count; ++i) {
      fold(board.values(place[2 * i]), board.values(place[2 * i + 1]), bytes);
      place[i] = place[2 * i + 1];
    }
  }
  return board.values(place[0]);
}

bool run_short(Transfer& transfer, const Group& group, const collective::Request& request,
               const std::byte* input, std::byte* output, const FoldBytes& fold) {
  if (transfer.failure() || !transfer.has_short(group)) return false;
  if (fits_board(group, request)) {
    if (run_on_board(transfer, group, request, input, output, fold)) return true;
    if (transfer.is_board_due(group)) agree_on_board(transfer, group);
  }
  if (request.operation == collective::Operation::barrier) {
    const bool is_few = group.size() > 2 && group.size() <= few_members;
    is_few ? meet_at_once(transfer, group) : meet(transfer, group);
    transfer.make_way(group);
    return true;
  }
  const bool is_one = request.operation == collective::Operation::allreduce &&
                      request.bytes <= std::min(most_folded, transfer.longest_short()) &&
                      std::has_single_bit(group.size()) &&
                      (group.size() > few_members ? request.may_regroup : group.size() <= 2);
  if (!is_one) return false;
  if (input != output && request.bytes > 0) std::memmove(output, input, request.bytes);
  fold_all(transfer, group, {output, request.bytes}, fold);
  transfer.make_way(group);
  return true;
}

void run_plan(Transfer& transfer, const Group& group, Plan plan, const std::byte* input,
              std::byte* output, const FoldBytes& fold) {
  PlanRun run(transfer, group, 0, std::move(plan), input, output, fold);
  transfer.until([&] { return run.advance(); });
  transfer.make_way(group);
}

void run_plan(Transfer& transfer, const Group& group, const Plan* plan, const std::byte* input,
              std::byte* output, const FoldBytes& fold) {
  PlanRun run(transfer, group, 0, plan, input, output, fold);
  transfer.until([&] { return run.advance(); });
  transfer.make_way(group);
}

void run_collective(Transfer& transfer, const Group& group, const collective::Request& request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold) {
  transfer.begin_collective(group, request.operation, request.root);
  run_plan(transfer, group, plan_for(group, request), input, output, fold);
}

}  // namespace weft::mpi
