// SPDX-License-Identifier: Apache-2.0
// Partial: the partial result of a reduction over consecutive members, as it moves through a plan.
// The plan folds contributions at once where regrouping changes no bit of the result, and otherwise
// keeps them side by side until the end. Private to core/collective.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/collective/algorithms.hpp"

namespace weft::collective {

/// Appends steps to `plan`, which must outlive the object.
class Partial {
 public:
  /// Begins with this member's own contribution. Members in [lowest, highest) may join.
  Partial(const Request& r, PlanBuilder& plan, std::uint32_t lowest, std::uint32_t highest)
      : plan_(plan),
        bytes_(r.bytes),
        folds_(r.may_regroup),
        lowest_(lowest),
        first_(r.rank),
        last_(r.rank + 1) {
    if (folds_) {
      held_ = plan.scratch(bytes_);
      room_ = plan.scratch(bytes_);
    } else {
      held_ = plan.scratch(bytes_ * (highest - lowest));
    }
    ready_ = plan.copy(own_input(r), folds_ ? held_ : slots(r.rank, r.rank + 1));
  }

  /// Returns the memory with the contributions joined so far.
  Piece content() const { return folds_ ? held_ : slots(first_, last_); }
  /// Returns the step after which `content` is complete.
  StepIndex ready() const { return ready_; }

  /// Sends the content to a member.
  void send(std::uint32_t to) { sent_ = plan_.send(to, content(), ready_); }

  /// Receives the contributions of members [first, last), which must adjoin these, and joins them.
  void receive_and_join(std::uint32_t from, std::uint32_t first, std::uint32_t last) {
    const StepIndex got =
        plan_.receive(from, folds_ ? room_ : slots(first, last), room_free_, ready_);
    join(got, first, last);
  }
  /// Sends the content to a member and joins that member's content, of members [first, last).
  void exchange(std::uint32_t with, std::uint32_t first, std::uint32_t last) {
    const StepIndex got =
        plan_.receive(with, folds_ ? room_ : slots(first, last), room_free_, ready_);
    send(with);
    join(got, first, last);
  }

  /// Writes the fold of all contributions to `out` and returns the last step.
  StepIndex write_result(Piece out) {
    if (folds_) return plan_.copy(held_, out, ready_);
    StepIndex done = plan_.copy(slots(first_, first_ + 1), out, ready_);
    for (std::uint32_t i = first_ + 1; i < last_; ++i) {
      done = plan_.fold_right(slots(i, i + 1), out, ready_);
    }
    return done;
  }

 private:
  void join(StepIndex got, std::uint32_t first, std::uint32_t last) {
    if (folds_) {
      // The fold overwrites `held_`, so it waits until `held_` has been sent.
      ready_ = first < first_ ? plan_.fold_left(room_, held_, got, sent_)
                              : plan_.fold_right(room_, held_, got, sent_);
      room_free_ = ready_;
    } else {
      // Messages arrive in order: after this one, all earlier ones have arrived.
      ready_ = got;
    }
    first_ = std::min(first_, first);
    last_ = std::max(last_, last);
  }
  Piece slots(std::uint32_t first, std::uint32_t last) const {
    return held_.part((first - lowest_) * bytes_, (last - first) * bytes_);
  }

  PlanBuilder& plan_;
  std::uint64_t bytes_;
  bool folds_;
  std::uint32_t lowest_;
  std::uint32_t first_;
  std::uint32_t last_;
  Piece held_;
  Piece room_;
  StepIndex ready_ = no_step;
  StepIndex sent_ = no_step;
  StepIndex room_free_ = no_step;
};

/// Groups the members of a communicator into a power of two of parties. The first members pair up
/// with their neighbours, so that each party covers consecutive members.
class Parties {
 public:
  explicit Parties(std::uint32_t members);

  std::uint32_t count() const { return count_; }
  bool is_paired(std::uint32_t member) const { return member < 2 * pairs_; }
  /// True for the member of a pair that only sends its contribution to the other one and receives
  /// the result.
  bool is_guest(std::uint32_t member) const { return is_paired(member) && member % 2 == 0; }
  std::uint32_t party_of(std::uint32_t member) const {
    return is_paired(member) ? member / 2 : member - pairs_;
  }
  /// Returns the member that acts for a party.
  std::uint32_t member_of(std::uint32_t party) const {
    return party < pairs_ ? 2 * party + 1 : party + pairs_;
  }
  /// Returns the first member of a party; the number of members for party `count()`.
  std::uint32_t first_of(std::uint32_t party) const {
    return party < pairs_ ? 2 * party : party + pairs_;
  }

 private:
  std::uint32_t count_;
  std::uint32_t pairs_;
};

}  // namespace weft::collective
