// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/outcome_log.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.hpp"

namespace weft::determinant {
namespace {

constexpr std::uint64_t magic = 0x31'74'75'6f'74'66'65'77;  // "weftout1"
constexpr std::uint64_t full_flag = 1;
constexpr std::uint64_t stopped_flag = 2;

/// At the memory's start.
struct Header {
  std::uint64_t magic;
  std::uint64_t lives;  ///< the holder of the memory counts those that were given it
  std::uint64_t state;
  std::uint64_t flags;
};
static_assert(sizeof(Header) == OutcomeLog::header_bytes);

Header& header_of(std::span<std::byte> memory) {
  return *reinterpret_cast<Header*>(memory.data());
}

void store(std::uint64_t& place, std::uint64_t value) {
  std::atomic_ref(place).store(value, std::memory_order_release);
}

void set_flag(std::span<std::byte> memory, std::uint64_t flag) {
  Header& header = header_of(memory);
  store(header.flags, header.flags | flag);
}

}  // namespace

OutcomeLog::OutcomeLog(std::span<std::byte> memory)
    : memory_(memory), records_(memory.subspan(header_bytes)) {
  Header& header = header_of(memory_);
  if (header.magic == 0 && header.state == 0 && header.flags == 0) {
    store(header.magic, magic);
    return;
  }
  state_ = header.state;
  stopped_ = true;
  if (header.magic != magic || bytes() > records_.size()) {
    trouble_ = Trouble::damaged;
  } else if ((header.flags & full_flag) != 0) {
    trouble_ = Trouble::incomplete;
  } else if ((header.flags & stopped_flag) != 0) {
    trouble_ = Trouble::unordered;
  } else {
    scan();
  }
}

// The state first: it says how many records there are.
void OutcomeLog::clear(std::span<std::byte> memory) {
  Header& header = header_of(memory);
  store(header.state, 0);
  store(header.flags, 0);
  store(header.magic, 0);
}

void OutcomeLog::scan() {
  replay_end_ = bytes();
  Record record;
  for (std::size_t at = 0; at < replay_end_;) {
    const std::size_t n = read(records_.subspan(at, replay_end_ - at), written_, record);
    if (n == 0) {
      trouble_ = Trouble::damaged;
      return;
    }
    at += n;
    if (record.kind == Kind::match) fates_.push_back({record.value, record.source, false});
    if (record.kind == Kind::cancel) fates_.push_back({record.value, 0, true});
  }
  std::sort(fates_.begin(), fates_.end(),
            [](const FateOf& a, const FateOf& b) { return a.number < b.number; });
  last_misses_ = state_ & most_misses;
  stopped_ = false;
  look_ahead();
}

/// Finds the next outcome of a question, or that there is none.
void OutcomeLog::look_ahead() {
  has_next_ = false;
  while (misses_ == 0 && !has_next_ && replay_at_ < replay_end_) {
    replay_at_ += read(records_.subspan(replay_at_, replay_end_ - replay_at_), replayed_, next_);
    if (next_.kind == Kind::misses) {
      misses_ = next_.value;
    } else {
      has_next_ = next_.kind != Kind::match;
    }
  }
  if (misses_ == 0 && !has_next_) misses_ = std::exchange(last_misses_, 0);
  replays_ = misses_ > 0 || has_next_;
}

OutcomeLog::Fate OutcomeLog::fate_of_last_post() {
  while (next_fate_ < fates_.size() && fates_[next_fate_].number < posted_) ++next_fate_;
  if (next_fate_ == fates_.size() || fates_[next_fate_].number != posted_) return {};
  const FateOf& fate = fates_[next_fate_];
  if (fate.is_cancelled) return {.source = std::nullopt, .is_cancelled = true};
  return {.source = fate.source, .is_cancelled = false};
}

const Record* OutcomeLog::replay(Kind kind, bool may_miss) {
  WEFT_CHECK(replays_, "there is no outcome left");
  if (misses_ > 0) {
    if (!may_miss) {
      trouble_ = Trouble::diverged;
    } else if (--misses_ == 0) {
      look_ahead();
    }
    return nullptr;
  }
  if (next_.kind != kind && !(kind == Kind::cancel && next_.kind == Kind::kept)) {
    trouble_ = Trouble::diverged;
    return nullptr;
  }
  std::swap(now_, next_);
  look_ahead();
  return &now_;
}

void OutcomeLog::set_state(std::uint64_t state) {
  state_ = state;
  store(header_of(memory_).state, state);
}

std::byte* OutcomeLog::room_for(std::size_t size) {
  if (stopped_) return nullptr;
  if (size <= records_.size() - bytes()) return records_.data() + bytes();
  stopped_ = full_ = true;
  set_flag(memory_, full_flag);
  return nullptr;
}

void OutcomeLog::flush_misses() {
  std::byte* const to = room_for(most_bytes(0));
  if (to == nullptr) return;
  const std::size_t n = write({.kind = Kind::misses, .value = state_ & most_misses}, written_, to);
  set_state((bytes() + n) << misses_bits);
}

/// With the misses before it: both count at once.
void OutcomeLog::append(const Record& record) {
  std::byte* const to = room_for(most_bytes(0) + most_bytes(record.places.size()));
  if (to == nullptr) return;
  std::size_t n = 0;
  if (const std::uint64_t misses = state_ & most_misses; misses > 0) {
    n = write({.kind = Kind::misses, .value = misses}, written_, to);
  }
  n += write(record, written_, to + n);
  set_state((bytes() + n) << misses_bits);
}

void OutcomeLog::match(std::uint64_t number, std::uint32_t source) {
  append({.kind = Kind::match, .value = number, .source = source});
}

void OutcomeLog::record(const Record& outcome) {
  WEFT_CHECK(!replays_, "outcomes of the earlier life are left");
  append(outcome);
}

void OutcomeLog::record_places(std::span<const std::uint32_t> places) {
  own_.kind = Kind::some;
  own_.places.assign(places.begin(), places.end());
  record(own_);
}

// Another host's clock may be behind.
std::uint64_t OutcomeLog::tell_time(std::uint64_t now_ns) {
  if (replays_) {
    const Record* const then = replay(Kind::time, false);
    if (then != nullptr) last_time_ = then->value;
    return last_time_;
  }
  last_time_ = std::max(last_time_, now_ns);
  if (!stopped_) append({.kind = Kind::time, .value = last_time_});
  return last_time_;
}

void OutcomeLog::stop() {
  set_flag(memory_, stopped_flag);
  stopped_ = true;
  replays_ = false;
  fates_.clear();
}

}  // namespace weft::determinant
