// SPDX-License-Identifier: Apache-2.0
// KeepingWatch: what it takes a process to keep its messages for later lives of others, and when
// that is too much.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft {

/// No I/O, one thread.
class KeepingWatch {
 public:
  struct Limits {
    ByteCount memory;  ///< for what is kept; `unlimited`: until its disk is full
    /// Most of the process's time, 0 to 1, that copies of kept messages take, after the first
    /// `free_of_charge` of them. None: however much it is.
    std::optional<double> share_of_time;
  };
  /// A job that sends a lot at once goes over before it has lost more than that: the first copies
  /// are the slowest, to memory that the process never had.
  static constexpr Duration free_of_charge = Duration::milliseconds(25);
  static constexpr ByteCount unlimited{std::numeric_limits<std::uint64_t>::max()};

  enum class Kind : char {
    time = 't',    ///< the process could go on
    memory = 'm',  ///< it waits, or takes memory without end
  };
  /// Called in `look`, once for each kind, with the reason: "keeps 1.2 GiB …".
  using TooMuch = std::function<void(Kind kind, const std::string& why)>;
  KeepingWatch(const Limits& limits, Instant begun, TooMuch too_much)
      : limits_(limits), begun_(begun), too_much_(std::move(too_much)) {}

  /// A message of that size was copied. What lasted longer was no copy: others had the core.
  void took(Duration time, ByteCount size) {
    const auto most = static_cast<std::int64_t>(size.value()) * most_ns_per_byte;
    time_ = time_ + std::min(time, Duration::nanoseconds(most));
    timed_ = timed_ + size;
  }
  /// `kept` is all that is kept; `is_full`: messages wait for room among it.
  void look(Instant now, ByteCount kept, bool is_full) {
    if (told_memory_ || (!is_full && kept.value() < look_again_)) return;
    look_again_ = kept.value() + between_looks;
    if (is_full || kept > limits_.memory) return tell_memory(kept, is_full);
    if (!told_time_ && takes_too_long(now, kept)) tell_time(now, kept);
  }

 private:
  static constexpr std::uint64_t between_looks = 64 << 10;
  /// Of a copy to new memory, where a page of 4 KiB takes the kernel as long as anywhere.
  static constexpr std::int64_t most_ns_per_byte = 4;

  /// Short messages are copied while they are sent; they take as long for a byte as long ones.
  Duration cost(ByteCount kept) const;
  bool takes_too_long(Instant now, ByteCount kept) const;
  void tell_time(Instant now, ByteCount kept);
  void tell_memory(ByteCount kept, bool is_full);

  Limits limits_;
  Instant begun_;
  TooMuch too_much_;
  Duration time_{};  // of copies that were timed
  ByteCount timed_;
  std::uint64_t look_again_ = 0;  // when so many bytes are kept
  bool told_time_ = false, told_memory_ = false;
};

}  // namespace weft
