// SPDX-License-Identifier: Apache-2.0
// OutcomeMemory: the memory of a process's log of outcomes, which its launcher or agent holds, so
// that it survives the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.hpp"
#include "core/determinant/kept_numbers.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft {

/// Name of the environment's variable with the memory's descriptor.
inline constexpr const char* outcomes_variable = "WEFT_OUTCOMES";
/// The variable with the log's limit, in units of weft's options ("64MiB"). Default: 256 MiB.
inline constexpr const char* outcomes_limit_variable = "WEFT_OUTCOMES_LIMIT";

/// The holder's side: a memory file without a name. Move only.
class HeldOutcomes {
 public:
  /// The next life of the process will be given the memory. The first call makes it. Errors: no
  /// descriptors or memory left.
  Result<void> begin_life();
  /// −1: none was made.
  int descriptor() const { return file_.get(); }

 private:
  Descriptor file_;
  std::uint64_t lives_ = 0;
};

/// The process's side. One thread.
class OutcomeMemory {
 public:
  /// Takes over the descriptor that the environment names, and takes it out of the environment.
  /// Empty: it names none. Errors name the variable, its value and the fix.
  static Result<OutcomeMemory> take();
  OutcomeMemory() = default;
  ~OutcomeMemory();
  OutcomeMemory(OutcomeMemory&& other) noexcept;
  OutcomeMemory& operator=(OutcomeMemory&& other) noexcept;

  /// There is a memory, mapped or not.
  bool is_there() const { return file_.open() || !bytes_.empty(); }
  /// Maps it, which is there. Errors as of `take`.
  Result<void> map();
  /// Its parts.
  std::span<std::byte> kept_numbers() const {
    return bytes_.first(determinant::KeptNumbers::bytes);
  }
  std::span<std::byte> log() const { return bytes_.subspan(determinant::KeptNumbers::bytes); }
  /// Returns how many lives of the process were given the mapped memory: less than it has had when
  /// those before had another, which is lost.
  std::uint64_t lives() const;

 private:
  Descriptor file_;  // until it is mapped
  std::span<std::byte> bytes_;
};

}  // namespace weft
