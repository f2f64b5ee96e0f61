// SPDX-License-Identifier: Apache-2.0
#include "spmd/uniform_reduction.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "spmd/operations.hpp"

namespace weft::spmd {
namespace {

using Bytes = std::span<std::byte>;

constexpr std::size_t segment_bytes = 64 << 10;
constexpr std::size_t segments_ahead = 4;  // receives that wait for their senders

/// The contributions of members [first, last): folded, where that changes no bit, or side by side.
class Partial {
 public:
  Partial(const UniformJob& job, Bytes own)
      : job_(job), bytes_(own.size()), folds_(job.reduction.grouping == Grouping::any) {
    const std::size_t slots = folds_ ? 2 : job.members.size();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(slots * bytes_);
    std::memcpy(slot(folds_ ? 0 : job.place).data(), own.data(), bytes_);
    first_ = job.place;
    last_ = job.place + 1;
  }
  std::uint32_t first() const { return first_; }
  std::uint32_t last() const { return last_; }
  /// To be sent: all that it stands for.
  std::span<const std::byte> content() const { return folds_ ? slot(held_) : slots(first_, last_); }
  /// The place to receive the partial [first, last) of another member, next to this one.
  Bytes room(std::uint32_t first, std::uint32_t last) {
    return folds_ ? slot(1 - held_) : slots(first, last);
  }
  /// Joins the partial received into `room`.
  void join(std::uint32_t first, std::uint32_t last) {
    if (folds_) {
      const bool is_lower = first < first_;
      const std::size_t left = is_lower ? 1 - held_ : held_;
      job_.reduction.fold(slot(left).data(), slot(1 - left).data(), bytes_ / job_.element_size);
      held_ = left;
    }
    first_ = std::min(first_, first);
    last_ = std::max(last_, last);
  }
  /// Writes the result over all members.
  void write_result(Bytes out) {
    std::memcpy(out.data(), slot(folds_ ? held_ : 0).data(), bytes_);
    if (folds_) return;
    for (std::size_t i = 1; i < job_.members.size(); ++i) {
      job_.reduction.fold(out.data(), slot(i).data(), bytes_ / job_.element_size);
    }
  }

 private:
  Bytes slot(std::size_t i) const { return {memory_.get() + i * bytes_, bytes_}; }
  Bytes slots(std::size_t first, std::size_t last) const {
    return {memory_.get() + first * bytes_, (last - first) * bytes_};
  }

  const UniformJob& job_;
  std::size_t bytes_;
  bool folds_;
  std::size_t held_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

class UniformRun {
 public:
  UniformRun(const UniformJob& job, Bytes values)
      : job_(job),
        size_(static_cast<std::uint32_t>(job.members.size())),
        values_(values),
        operations_(job.communicator) {}

  Result<void> exchange() {
    const bool gets = !job_.root || *job_.root == job_.place;
    std::unique_ptr<std::byte[]> others;
    if (gets) {
      others = std::make_unique_for_overwrite<std::byte[]>(values_.size() * size_);
      for (std::uint32_t i = 0; i < size_; ++i) {
        if (i != job_.place) receive(i, {others.get() + values_.size() * i, values_.size()});
      }
    }
    for (std::uint32_t step = 1; step < size_; ++step) {
      const std::uint32_t to = (job_.place + step) % size_;
      if (!job_.root || *job_.root == to) send(to, values_);
    }
    if (auto done = operations_.finish(); !done.ok() || !gets) return done;
    Bytes own{others.get() + values_.size() * job_.place, values_.size()};
    std::memcpy(own.data(), values_.data(), values_.size());
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::byte* next = others.get() + values_.size() * i;
      if (i == 0) {
        std::memcpy(values_.data(), next, values_.size());
      } else {
        job_.reduction.fold(values_.data(), next, values_.size() / job_.element_size);
      }
    }
    return {};
  }

  Result<void> tree() {
    Partial partial(job_, values_);
    const std::uint32_t me = job_.place;
    for (std::uint32_t step = 1; step < size_; step *= 2) {
      if (me % (2 * step) != 0) {
        send(me - step, partial.content());
        break;
      }
      if (me + step >= size_) continue;
      const std::uint32_t end = std::min(me + 2 * step, size_);
      receive(me + step, partial.room(me + step, end));
      if (auto done = operations_.finish(); !done.ok()) return done;
      partial.join(me + step, end);
    }
    if (auto done = operations_.finish(); !done.ok()) return done;
    if (me == 0) partial.write_result(values_);
    if (!job_.root) return broadcast();
    if (*job_.root == 0) return {};
    if (me == 0) send(*job_.root, values_);
    if (me == *job_.root) receive(0, values_);
    return operations_.finish();
  }

  /// More members than the largest power of two: the first ones pair up before and after,
  /// neighbours with neighbours, so that every partial stays one of consecutive members.
  Result<void> recursive_doubling() {
    Partial partial(job_, values_);
    const std::uint32_t power = std::bit_floor(size_);
    const std::uint32_t pairs = size_ - power;
    const std::uint32_t me = job_.place;
    if (me < 2 * pairs && me % 2 == 0) {
      send(me + 1, partial.content());
      if (auto done = operations_.finish(); !done.ok()) return done;
      receive(me + 1, values_);
      return operations_.finish();
    }
    if (me < 2 * pairs) {
      receive(me - 1, partial.room(me - 1, me));
      if (auto done = operations_.finish(); !done.ok()) return done;
      partial.join(me - 1, me);
    }
    const std::uint32_t mine = me < 2 * pairs ? me / 2 : me - pairs;
    const auto begin = [&](std::uint32_t i) { return i < pairs ? 2 * i : i + pairs; };
    const auto member = [&](std::uint32_t i) { return i < pairs ? 2 * i + 1 : i + pairs; };
    for (std::uint32_t step = 1; step < power; step *= 2) {
      const std::uint32_t other = mine ^ step;
      const std::uint32_t first = begin(other / step * step);
      const std::uint32_t last = begin(other / step * step + step);
      receive(member(other), partial.room(first, last));
      send(member(other), partial.content());
      if (auto done = operations_.finish(); !done.ok()) return done;
      partial.join(first, last);
    }
    partial.write_result(values_);
    if (me < 2 * pairs) send(me - 1, values_);
    return operations_.finish();
  }

  Result<void> ring() {
    if (auto folded = chain(); !folded.ok()) return folded;
    const std::uint32_t end = size_ - 1;
    if (!job_.root) return pass_on(end);
    if (*job_.root == end) return {};
    if (job_.place == end) send(*job_.root, values_);
    if (job_.place == *job_.root) receive(end, values_);
    return operations_.finish();
  }

 private:
  void send(std::uint32_t to, std::span<const std::byte> bytes) {
    operations_.send(job_.members[to], transition_tag, bytes);
  }
  void receive(std::uint32_t from, Bytes into) {
    operations_.receive(job_.members[from], transition_tag, into);
  }

  Result<void> broadcast() {
    std::uint32_t step = 1;
    for (; step < size_ && job_.place % (2 * step) == 0; step *= 2) continue;
    if (job_.place != 0) {
      receive(job_.place - step, values_);
      if (auto done = operations_.finish(); !done.ok()) return done;
    }
    while (step > 1) {
      step /= 2;
      if (job_.place + step < size_) send(job_.place + step, values_);
    }
    return operations_.finish();
  }

  std::size_t segment_size() const {
    const std::size_t elements = std::max<std::size_t>(1, segment_bytes / job_.element_size);
    return elements * job_.element_size;
  }
  std::size_t segments() const { return (values_.size() + segment_size() - 1) / segment_size(); }
  Bytes segment(Bytes whole, std::size_t i) const {
    const std::size_t begin = i * segment_size();
    return whole.subspan(begin, std::min(segment_size(), whole.size() - begin));
  }

  /// From the first member to the last; the last has the result.
  Result<void> chain() {
    const bool has_before = job_.place > 0;
    const bool has_after = job_.place + 1 < size_;
    const auto rooms = std::make_unique_for_overwrite<std::byte[]>(
        has_before ? segments_ahead * segment_size() : 1);
    const auto room = [&](std::size_t i) {
      return Bytes{rooms.get() + i % segments_ahead * segment_size(), segment(values_, i).size()};
    };
    Operations sends(job_.communicator);
    for (std::size_t i = 0; has_before && i < std::min(segments_ahead, segments()); ++i) {
      receive(job_.place - 1, room(i));
    }
    for (std::size_t i = 0; i < segments(); ++i) {
      const Bytes own = segment(values_, i);
      if (has_before) {
        operations_.wait_for_next();
        if (!operations_.ok()) break;
        job_.reduction.fold(room(i).data(), own.data(), own.size() / job_.element_size);
        std::memcpy(own.data(), room(i).data(), own.size());
        if (i + segments_ahead < segments()) receive(job_.place - 1, room(i + segments_ahead));
      }
      if (has_after) sends.send(job_.members[job_.place + 1], transition_tag, own);
    }
    auto received = operations_.finish();
    auto sent = sends.finish();
    return received.ok() ? std::move(sent) : std::move(received);
  }

  /// From member `origin` on round the ring to the one before it.
  Result<void> pass_on(std::uint32_t origin) {
    const std::uint32_t before = (job_.place + size_ - 1) % size_;
    const std::uint32_t after = (job_.place + 1) % size_;
    Operations sends(job_.communicator);
    if (job_.place != origin) {
      for (std::size_t i = 0; i < segments(); ++i) receive(before, segment(values_, i));
    }
    for (std::size_t i = 0; i < segments(); ++i) {
      if (job_.place != origin) operations_.wait_for_next();
      if (!operations_.ok()) break;
      if (after != origin) {
        sends.send(job_.members[after], transition_tag, segment(values_, i));
      }
    }
    auto received = operations_.finish();
    auto sent = sends.finish();
    return received.ok() ? std::move(sent) : std::move(received);
  }

  const UniformJob& job_;
  std::uint32_t size_;
  Bytes values_;
  Operations operations_;
};

}  // namespace

ReductionAlgorithm choose_algorithm(std::size_t bytes, std::size_t members, bool to_root,
                                    Grouping grouping) {
  // The bytes that one member has to hold, and about as many that it sends, when values travel
  // singly.
  const std::size_t carried = grouping == Grouping::any ? bytes : bytes * members;
  constexpr std::size_t small = 32 << 10;
  if (members == 2) return ReductionAlgorithm::exchange;
  if (members <= 8 && bytes * members <= small) return ReductionAlgorithm::exchange;
  if (carried > small) return ReductionAlgorithm::ring;
  return to_root ? ReductionAlgorithm::tree : ReductionAlgorithm::recursive_doubling;
}

Result<void> reduce_uniformly(const UniformJob& job, ReductionAlgorithm algorithm,
                              std::span<std::byte> values) {
  if (job.members.size() < 2 || values.empty()) return {};
  UniformRun run(job, values);
  switch (algorithm) {
    case ReductionAlgorithm::exchange:
      return run.exchange();
    case ReductionAlgorithm::tree:
      return run.tree();
    case ReductionAlgorithm::recursive_doubling:
      return job.root ? run.tree() : run.recursive_doubling();
    case ReductionAlgorithm::ring:
      return run.ring();
  }
  return {};
}

}  // namespace weft::spmd
