// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/collectives.hpp"

#include <cstring>
#include <utility>

namespace weft::mpi {

using collective::Piece;
using collective::Plan;
using collective::Step;

Plan plan_for(const Group& group, collective::Request request) {
  request.members = group.size();
  request.rank = group.rank;
  return collective::make_plan(request, collective::choose(request));
}

PlanRun::PlanRun(Transfer& transfer, const Group& group, std::int32_t tag, Plan plan,
                 const std::byte* input, std::byte* output, FoldBytes fold)
    : transfer_(transfer),
      group_(group),
      tag_(tag),
      plan_(std::move(plan)),
      input_(input),
      output_(output),
      scratch_(plan_.scratch_bytes),
      fold_(std::move(fold)),
      done_(std::make_unique<bool[]>(plan_.steps.size())) {}

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
  std::byte* base = piece.buffer == collective::Buffer::scratch ? scratch_.data() : output_;
  return {base + piece.offset, piece.bytes};
}

void PlanRun::take(const Step& step, bool& done) {
  switch (step.kind) {
    case Step::Kind::send:
      return transfer_.send_plain(group_, step.peer, tag_, source(step.from), done);
    case Step::Kind::receive:
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

void PlanRun::fold_into(std::span<const std::byte> from, std::span<std::byte> to,
                        bool from_is_left) {
  if (from_is_left) return fold_(from.data(), to.data(), to.size());
  std::vector<std::byte> right(from.begin(), from.end());
  fold_(to.data(), right.data(), right.size());
  std::memcpy(to.data(), right.data(), right.size());
}

void run_plan(Transfer& transfer, const Group& group, Plan plan, const std::byte* input,
              std::byte* output, const FoldBytes& fold) {
  PlanRun run(transfer, group, 0, std::move(plan), input, output, fold);
  transfer.until([&] { return run.advance(); });
}

void run_collective(Transfer& transfer, const Group& group, const collective::Request& request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold) {
  run_plan(transfer, group, plan_for(group, request), input, output, fold);
}

}  // namespace weft::mpi
