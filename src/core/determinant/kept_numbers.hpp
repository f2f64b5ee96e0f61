// SPDX-License-Identifier: Apache-2.0
// KeptNumbers: a few numbers that a process remembers when its job begins again from nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::determinant {

/// Their memory lies before the log of outcomes, and outlives the process as the log does. A number
/// counts once the header says so, with one store. No I/O, one thread at a time.
class KeptNumbers {
 public:
  static constexpr std::size_t bytes = 64 << 10;
  static constexpr std::size_t most = bytes / 8 - 2;

  /// `memory`: of an earlier life, or zeros, of `bytes`; aligned to 8 bytes, and outlives this.
  explicit KeptNumbers(std::span<std::byte> memory);
  KeptNumbers(const KeptNumbers&) = delete;
  KeptNumbers& operator=(const KeptNumbers&) = delete;

  /// The job begins again: all numbers are those of earlier beginnings.
  void begin_again();
  /// The same where those of earlier beginnings were lost: any number may be one of them.
  void begin_again_without();
  void keep(std::uint64_t number);
  bool has(std::uint64_t number) const { return is_among(number, kept()); }
  /// It was kept before the job began again.
  bool is_of_earlier(std::uint64_t number) const { return is_among(number, earlier()); }
  /// The same; true as well if numbers found no room then.
  bool may_be_of_earlier(std::uint64_t number) const {
    return is_of_earlier(number) || header_[1] > most;
  }

 private:
  std::size_t kept() const;
  std::size_t earlier() const;
  bool is_among(std::uint64_t number, std::size_t first) const;

  std::span<std::uint64_t> header_;  // how many there are, and how many of them are of earlier
  std::span<std::uint64_t> numbers_;
};

}  // namespace weft::determinant
