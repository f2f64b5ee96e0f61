// SPDX-License-Identifier: Apache-2.0
// RankOutput: what a rank prints in all its lives, each line once. Without I/O.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/crc32c.hpp"

namespace weft {

/// Drops the beginning of a later life's output that repeats the output of an earlier life, for
/// programs that repeat themselves from their beginning.
class RankOutput {
 public:
  /// A process of the rank starts. `repeats`: it prints again what the lives before it have
  /// printed.
  void begin_life(bool repeats) {
    to_skip_ = repeats ? printed_ : 0;
    is_over_ = has_ended_ = has_succeeded_ = false;
    skipped_ = 0;
    skipped_sum_ = 0;
    if (!repeats) printed_ = printed_sum_ = 0;
  }

  /// Passes on whole lines that no life has printed before. No bytes: the output has ended.
  template <class PassOn>
  void take(std::string_view bytes, PassOn&& pass_on) {
    if (is_over_) return;
    has_ended_ = bytes.empty();
    look_for_less();
    const std::uint64_t old = std::min<std::uint64_t>(bytes.size(), to_skip_ - skipped_);
    if (old > 0) skip(bytes.substr(0, old));
    bytes.remove_prefix(old);
    line_ += bytes;
    const std::size_t end = line_.rfind('\n');
    if (end != std::string::npos) print(end + 1, pass_on);
    if (line_.size() > longest_line) print(line_.size(), pass_on);
  }

  /// The process has ended. `repeats`: the next life will print again what this one has printed, a
  /// line that it did not finish, too; so what processes print now that this life has left behind
  /// is dropped.
  template <class PassOn>
  void end_life(bool repeats, PassOn&& pass_on) {
    is_over_ = repeats;
    if (repeats) return line_.clear();
    if (!line_.empty()) print(line_.size(), pass_on);
  }

  /// The process exited with code 0, so its program has printed all. Whoever holds the output still
  /// may print the rest.
  void on_success() {
    has_succeeded_ = true;
    look_for_less();
  }

  /// This life printed something else than an earlier one, or less, in the first `compared` bytes.
  bool has_diverged() const { return has_diverged_; }
  std::string why_diverged(std::uint32_t rank) const {
    if (printed_less_) {
      return fmt::format(
          "rank {} was started anew and printed only {} of the {} bytes that its earlier life did; "
          "a program that is started anew has to repeat itself",
          rank, skipped_, to_skip_);
    }
    return fmt::format(
        "rank {} was started anew and prints something else than its earlier life did, in its "
        "first {} bytes; a program that is started anew has to repeat itself: print no "
        "process numbers or addresses, and no clock that was read before MPI_Init",
        rank, to_skip_);
  }

 private:
  static constexpr std::size_t longest_line = 64 << 10;

  void look_for_less() {
    if (has_diverged_ || !has_succeeded_ || !has_ended_) return;
    has_diverged_ = printed_less_ = skipped_ < to_skip_;
  }
  void skip(std::string_view old) {
    skipped_sum_ = sum(old, skipped_sum_);
    skipped_ += old.size();
    if (skipped_ == to_skip_) has_diverged_ = skipped_sum_ != printed_sum_;
  }
  template <class PassOn>
  void print(std::size_t size, PassOn&& pass_on) {
    const std::string_view whole = std::string_view(line_).substr(0, size);
    printed_sum_ = sum(whole, printed_sum_);
    printed_ += size;
    pass_on(whole);
    line_.erase(0, size);
  }
  static std::uint32_t sum(std::string_view text, std::uint32_t before) {
    return crc32c({reinterpret_cast<const std::byte*>(text.data()), text.size()}, before);
  }

  std::uint64_t printed_ = 0, to_skip_ = 0, skipped_ = 0;
  std::uint32_t printed_sum_ = 0, skipped_sum_ = 0;
  bool is_over_ = false;  // another life will repeat this one
  bool has_ended_ = false, has_succeeded_ = false, has_diverged_ = false, printed_less_ = false;
  std::string line_;  // not finished
};

}  // namespace weft
