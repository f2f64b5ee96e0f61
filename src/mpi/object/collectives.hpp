// SPDX-License-Identifier: Apache-2.0
// Collective operations: plans of core/collective, run on messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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
          const std::byte* input, std::byte* output, FoldBytes fold);
  /// Goes on as far as it can without waiting. True: all is done.
  bool advance();

 private:
  bool is_done(collective::StepIndex step) const {
    return step == collective::no_step || done_[step];
  }
  std::span<const std::byte> source(const collective::Piece& piece);
  std::span<std::byte> target(const collective::Piece& piece);
  void take(const collective::Step& step, bool& done);
  void fold_into(std::span<const std::byte> from, std::span<std::byte> to, bool from_is_left);

  Transfer& transfer_;
  const Group& group_;
  std::int32_t tag_;
  collective::Plan plan_;
  const std::byte* input_;
  std::byte* output_;
  std::vector<std::byte> scratch_;
  FoldBytes fold_;
  std::unique_ptr<bool[]> done_;
  std::size_t begun_ = 0;  // steps
  std::size_t ended_ = 0;  // all steps before this one have completed
};

/// Runs this member's part to its end, on the flows of tag 0; returns early when the transfer has
/// failed.
void run_plan(Transfer& transfer, const Group& group, collective::Plan plan, const std::byte* input,
              std::byte* output, const FoldBytes& fold = {});
void run_collective(Transfer& transfer, const Group& group, const collective::Request& request,
                    const std::byte* input, std::byte* output, const FoldBytes& fold = {});

}  // namespace weft::mpi
