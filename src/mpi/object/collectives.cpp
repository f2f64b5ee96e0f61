// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/collectives.hpp"

#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace weft::mpi {
namespace {

using collective::Piece;
using collective::Plan;
using collective::Step;

class PlanRun {
 public:
  PlanRun(Transfer& transfer, const Group& group, const Plan& plan, const std::byte* input,
          std::byte* output, const FoldBytes& fold)
      : transfer_(transfer),
        group_(group),
        plan_(plan),
        input_(input),
        output_(output),
        scratch_(plan.scratch_bytes),
        fold_(fold),
        done_(std::make_unique<bool[]>(plan.steps.size())) {}

  void run() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      transfer_.until([&] { return is_done(step.after[0]) && is_done(step.after[1]); });
      if (transfer_.failure()) return;
      take(step, done_[i]);
    }
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      transfer_.until([&] { return done_[i]; });
    }
  }

 private:
  bool is_done(collective::StepIndex step) const {
    return step == collective::no_step || done_[step];
  }
  std::span<const std::byte> source(const Piece& piece) {
    if (piece.buffer == collective::Buffer::input) return {input_ + piece.offset, piece.bytes};
    return target(piece);
  }
  std::span<std::byte> target(const Piece& piece) {
    std::byte* base = piece.buffer == collective::Buffer::scratch ? scratch_.data() : output_;
    return {base + piece.offset, piece.bytes};
  }
  void take(const Step& step, bool& done) {
    switch (step.kind) {
      case Step::Kind::send:
        return transfer_.send_plain(group_, step.peer, source(step.from), done);
      case Step::Kind::receive:
        return transfer_.receive_plain(group_, step.peer, target(step.to), done);
      case Step::Kind::copy:
        std::memmove(target(step.to).data(), source(step.from).data(), step.from.bytes);
        break;
      case Step::Kind::fold:
        fold_into(source(step.from), target(step.to), step.from_is_left);
        break;
    }
    done = true;
  }
  void fold_into(std::span<const std::byte> from, std::span<std::byte> to, bool from_is_left) {
    if (from_is_left) return fold_(from.data(), to.data(), to.size());
    std::vector<std::byte> right(from.begin(), from.end());
    fold_(to.data(), right.data(), right.size());
    std::memcpy(to.data(), right.data(), right.size());
  }

  Transfer& transfer_;
  const Group& group_;
  const Plan& plan_;
  const std::byte* input_;
  std::byte* output_;
  std::vector<std::byte> scratch_;
  const FoldBytes& fold_;
  std::unique_ptr<bool[]> done_;
};

}  // namespace

void run_collective(Transfer& transfer, const Group& group, collective::Request request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold) {
  request.members = group.size();
  request.rank = group.rank;
  const Plan plan = collective::make_plan(request, collective::choose(request));
  PlanRun(transfer, group, plan, input, output, fold).run();
}

}  // namespace weft::mpi
