// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "core/collective/partial.hpp"

namespace weft::collective {
namespace {

/// Long vectors go round a ring in segments, so that all members work at once.
constexpr std::uint64_t segment_bytes = 64 << 10;
/// Segments whose receives wait for their senders.
constexpr std::uint64_t segments_ahead = 4;

class Segments {
 public:
  explicit Segments(const Request& r) : bytes_(r.bytes) {
    size_ = std::max<std::uint64_t>(1, segment_bytes / r.element_bytes) * r.element_bytes;
    // A power of two that keeps long lists short: 1 GiB is a few thousand steps.
    while (bytes_ / size_ > most) size_ *= 2;
  }
  std::uint64_t count() const { return (bytes_ + size_ - 1) / size_; }
  std::uint64_t size() const { return size_; }
  Piece of(Piece all, std::uint64_t i) const {
    return all.part(i * size_, std::min(size_, bytes_ - i * size_));
  }

 private:
  static constexpr std::uint64_t most = 1024;

  std::uint64_t bytes_;
  std::uint64_t size_;
};

void receive_and_fold_all(const Request& r, PlanBuilder& plan) {
  const Piece slots = plan.scratch(r.bytes * r.members);
  std::vector<StepIndex> got;
  for (std::uint32_t i = 0; i < r.members; ++i) {
    const Piece slot = slots.part(i * r.bytes, r.bytes);
    got.push_back(i == r.rank ? plan.copy(own_input(r), slot) : plan.receive(i, slot));
  }
  const Piece out = whole(Buffer::output, r);
  for (std::uint32_t i = 0; i < r.members; ++i) {
    const Piece one = slots.part(i * r.bytes, r.bytes);
    if (i == 0) {
      plan.copy(one, out, got[0]);
    } else {
      plan.fold_right(one, out, got[i]);
    }
  }
}

/// Folds towards member 0, whose partial becomes complete; the other members send theirs.
void fold_up_tree(const Request& r, Partial& partial) {
  for (std::uint64_t step = 1; step < r.members; step *= 2) {
    const auto distance = static_cast<std::uint32_t>(step);
    if (r.rank % (2 * step) != 0) {
      partial.send(r.rank - distance);
      return;
    }
    if (r.rank + step >= r.members) continue;
    const auto end = std::min<std::uint64_t>(r.rank + 2 * step, r.members);
    partial.receive_and_join(r.rank + distance, r.rank + distance, static_cast<std::uint32_t>(end));
  }
}

/// The end of the members whose contributions reach `rank` in the tree.
std::uint32_t end_of_subtree(const Request& r) {
  const std::uint64_t reach =
      r.rank == 0 ? r.members : std::uint64_t{1} << std::countr_zero(r.rank);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(r.rank + reach, r.members));
}

/// From member 0 to the last, each folding its own in; the last has the result in `out`. Its steps,
/// by segment, are returned: those after which a segment of `out` is complete.
std::vector<StepIndex> fold_along(const Request& r, const Segments& segments, Piece out,
                                  PlanBuilder& plan) {
  std::vector<StepIndex> complete;
  std::vector<StepIndex> got;
  const bool has_before = r.rank > 0;
  const Piece rooms = plan.scratch(has_before ? segments_ahead * segments.size() : 0);
  const auto room = [&](std::uint64_t i) {
    return rooms.part(i % segments_ahead * segments.size(), segments.of(out, i).bytes);
  };
  for (std::uint64_t i = 0; has_before && i < std::min(segments_ahead, segments.count()); ++i) {
    got.push_back(plan.receive(r.rank - 1, room(i)));
  }
  for (std::uint64_t i = 0; i < segments.count(); ++i) {
    const Piece own = segments.of(out, i);
    StepIndex done = plan.copy(segments.of(own_input(r), i), own);
    if (has_before) {
      done = plan.fold_left(room(i), own, got[i]);
      if (i + segments_ahead < segments.count()) {
        got.push_back(plan.receive(r.rank - 1, room(i + segments_ahead), done));
      }
    }
    if (r.rank + 1 < r.members) done = plan.send(r.rank + 1, own, done);
    complete.push_back(done);
  }
  return complete;
}

}  // namespace

Parties::Parties(std::uint32_t members)
    : count_(std::bit_floor(members)), pairs_(members - count_) {}

void reduce_linear(const Request& r, PlanBuilder& plan) {
  if (r.rank == r.root) {
    receive_and_fold_all(r, plan);
  } else {
    plan.send(r.root, own_input(r));
  }
}

void reduce_binomial(const Request& r, PlanBuilder& plan) {
  Partial partial(r, plan, r.rank, end_of_subtree(r));
  fold_up_tree(r, partial);
  const Piece out = whole(Buffer::output, r);
  if (r.rank == 0) {
    // Another root's fold is finished here: one vector goes there, not all contributions.
    const Piece result = r.root == 0 ? out : plan.scratch(r.bytes);
    const StepIndex done = partial.write_result(result);
    if (r.root != 0) plan.send(r.root, result, done);
  } else if (r.rank == r.root) {
    // Its input may lie in the output, and is in the partial by now.
    plan.receive(0, out, partial.ready());
  }
}

void reduce_ring(const Request& r, PlanBuilder& plan) {
  const Segments segments(r);
  const std::uint32_t end = r.members - 1;
  const Piece out = whole(Buffer::output, r);
  // Only the root's output may be written; the root, unless it is the last, needs it for the
  // result.
  const bool result_here = r.rank == end && r.root == end;
  const Piece work = result_here ? out : plan.scratch(r.bytes);
  const auto complete = fold_along(r, segments, work, plan);
  if (r.root == end) return;
  for (std::uint64_t i = 0; i < segments.count(); ++i) {
    if (r.rank == end) plan.send(r.root, segments.of(work, i), complete[i]);
    if (r.rank == r.root) plan.receive(end, segments.of(out, i), complete[i]);
  }
}

void allreduce_linear(const Request& r, PlanBuilder& plan) {
  // The input may lie in the output: it is sent from a copy.
  Piece own = own_input(r);
  if (r.in_place) {
    own = plan.scratch(r.bytes);
    plan.copy(own_input(r), own);
  }
  for (std::uint32_t i = 1; i < r.members; ++i) {
    plan.send(add_ring(r.rank, i, r.members), own);
  }
  receive_and_fold_all(r, plan);
}

void allreduce_binomial(const Request& r, PlanBuilder& plan) {
  Partial partial(r, plan, r.rank, end_of_subtree(r));
  fold_up_tree(r, partial);
  const Piece out = whole(Buffer::output, r);
  StepIndex has = partial.ready();
  std::uint64_t reach = std::bit_ceil(std::uint64_t{r.members});
  if (r.rank == 0) {
    has = partial.write_result(out);
  } else {
    reach = std::uint64_t{1} << std::countr_zero(r.rank);
    has = plan.receive(static_cast<std::uint32_t>(r.rank - reach), out, partial.ready());
  }
  for (reach /= 2; reach > 0; reach /= 2) {
    if (r.rank + reach < r.members) {
      plan.send(static_cast<std::uint32_t>(r.rank + reach), out, has);
    }
  }
}

void allreduce_recursive_doubling(const Request& r, PlanBuilder& plan) {
  const Parties parties(r.members);
  const Piece out = whole(Buffer::output, r);
  if (parties.is_guest(r.rank)) {
    const StepIndex sent = plan.send(r.rank + 1, own_input(r));
    plan.receive(r.rank + 1, out, sent);
    return;
  }
  Partial partial(r, plan, 0, r.members);
  if (parties.is_paired(r.rank)) partial.receive_and_join(r.rank - 1, r.rank - 1, r.rank);
  const std::uint32_t mine = parties.party_of(r.rank);
  for (std::uint32_t step = 1; step < parties.count(); step *= 2) {
    const std::uint32_t other = mine ^ step;
    const std::uint32_t first = other / step * step;
    partial.exchange(parties.member_of(other), parties.first_of(first),
                     parties.first_of(first + step));
  }
  const StepIndex done = partial.write_result(out);
  if (parties.is_paired(r.rank)) plan.send(r.rank - 1, out, done);
}

void allreduce_ring(const Request& r, PlanBuilder& plan) {
  const Segments segments(r);
  const Piece out = whole(Buffer::output, r);
  const auto folded = fold_along(r, segments, out, plan);
  // From the last member on round the ring to the one before it.
  const std::uint32_t end = r.members - 1;
  const std::uint32_t before = back_ring(r.rank, 1, r.members);
  const std::uint32_t after = add_ring(r.rank, 1, r.members);
  std::vector<StepIndex> has = folded;
  if (r.rank != end) {
    // All receives first: a segment may come before the one ahead of it was passed on.
    for (std::uint64_t i = 0; i < segments.count(); ++i) {
      has[i] = plan.receive(before, segments.of(out, i), folded[i]);
    }
  }
  if (after == end) return;
  for (std::uint64_t i = 0; i < segments.count(); ++i) {
    plan.send(after, segments.of(out, i), has[i]);
  }
}

}  // namespace weft::collective
