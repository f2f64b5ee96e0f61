// SPDX-License-Identifier: Apache-2.0
// JobLevels: which service level a message of a job has. The one place that says so, for every kind
// of job, real or simulated; a controller changes it while the job runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.hpp"

namespace weft::net {

/// The most service levels that a network or fabric has.
inline constexpr std::size_t service_levels = 16;

/// A message has the level of its sender's process, else that of its receiver's, else the job's
/// (paper 5, 4.1), else the one that the sender asks for. Messages keep the level that they were
/// posted with. In a divided simulation all parts set the same levels at the same instant.
class JobLevels {
 public:
  /// Processes have no levels of their own, and the job none, until they are set. The network has
  /// `levels`, counted from 0.
  JobLevels(std::uint32_t processes, std::size_t levels)
      : levels_(static_cast<std::uint8_t>(levels)), of_process_(processes, none) {}

  /// From now on; nothing: as if it had never been set.
  void set(std::uint32_t process, std::optional<std::uint8_t> level) {
    of_process_[process] = checked(level);
  }
  void set_job(std::optional<std::uint8_t> level) { of_job_ = checked(level); }

  /// Returns the level of a message for which the sender asks for the level `asked_for`, at most
  /// the network's last level.
  std::uint8_t of(std::uint32_t sender, std::uint32_t receiver, std::uint8_t asked_for = 0) const {
    if (of_process_[sender] != none) return of_process_[sender];
    if (of_process_[receiver] != none) return of_process_[receiver];
    if (of_job_ != none) return of_job_;
    return asked_for < levels_ ? asked_for : static_cast<std::uint8_t>(levels_ - 1);
  }

 private:
  static constexpr std::uint8_t none = 0xff;

  std::uint8_t checked(std::optional<std::uint8_t> level) const {
    WEFT_CHECK(!level || *level < levels_, "level {} of {}", *level, levels_);
    return level.value_or(none);
  }

  std::uint8_t levels_;
  std::uint8_t of_job_ = none;
  std::vector<std::uint8_t> of_process_;
};

}  // namespace weft::net
