// SPDX-License-Identifier: Apache-2.0
// Partial: the contributions of consecutive members to a fold, on their way through a plan. Folded,
// where regrouping changes no bit; side by side, where it might. Private to core/collective.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/collective/algorithms.hpp"

namespace weft::collective {

class Partial {
 public:
  /// This member's own contribution, to which those of members in [lowest, highest) may come.
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

  /// To be sent: all that it stands for.
  Piece content() const { return folds_ ? held_ : slots(first_, last_); }
  /// The step after which `content` is complete.
  StepIndex ready() const { return ready_; }

  void send(std::uint32_t to) { sent_ = plan_.send(to, content(), ready_); }

  /// Receives the contributions of members [first, last), next to these, and joins them.
  void receive_and_join(std::uint32_t from, std::uint32_t first, std::uint32_t last) {
    const StepIndex got =
        plan_.receive(from, folds_ ? room_ : slots(first, last), room_free_, ready_);
    join(got, first, last);
  }
  /// Sends the content to a member and joins the content of that one.
  void exchange(std::uint32_t with, std::uint32_t first, std::uint32_t last) {
    const StepIndex got =
        plan_.receive(with, folds_ ? room_ : slots(first, last), room_free_, ready_);
    send(with);
    join(got, first, last);
  }

  /// Writes the fold of all that it stands for.
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
      // Not before the target of the fold has been sent.
      ready_ = first < first_ ? plan_.fold_left(room_, held_, got, sent_)
                              : plan_.fold_right(room_, held_, got, sent_);
      room_free_ = ready_;
    } else {
      // Messages are received in turn: when this one is there, earlier ones are, too.
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

/// Members beyond the largest power of two: the first ones pair up, neighbours with neighbours, so
/// that each pair stands for consecutive members and a power of two of parties is left.
class Parties {
 public:
  explicit Parties(std::uint32_t members);

  std::uint32_t count() const { return count_; }
  bool is_paired(std::uint32_t member) const { return member < 2 * pairs_; }
  /// The member of a pair that only hands its contribution to the next and gets the result.
  bool is_guest(std::uint32_t member) const { return is_paired(member) && member % 2 == 0; }
  std::uint32_t party_of(std::uint32_t member) const {
    return is_paired(member) ? member / 2 : member - pairs_;
  }
  /// The member that acts for a party.
  std::uint32_t member_of(std::uint32_t party) const {
    return party < pairs_ ? 2 * party + 1 : party + pairs_;
  }
  /// The first member of a party; of `count()`: the end of all members.
  std::uint32_t first_of(std::uint32_t party) const {
    return party < pairs_ ? 2 * party : party + pairs_;
  }

 private:
  std::uint32_t count_;
  std::uint32_t pairs_;
};

}  // namespace weft::collective
