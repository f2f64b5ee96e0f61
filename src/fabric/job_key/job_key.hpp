// SPDX-License-Identifier: Apache-2.0
// JobKey: processes of one job prove with it that they belong together, before either side reads
// anything else of the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace weft {

using Proof = std::array<std::byte, 32>;

/// Derived from the job's secret and id for one purpose: a proof of one protocol fits no other one.
/// Immutable; any thread. Wiped when destroyed.
class JobKey {
 public:
  /// `purpose` names the protocol and its version. Aborts without a source of randomness.
  JobKey(std::string_view purpose, std::span<const std::byte> secret, std::string_view job_id);
  JobKey(const JobKey&) = delete;
  JobKey& operator=(const JobKey&) = delete;
  ~JobKey();

  /// HMAC-SHA-256 of the parts, one behind the other. Callers give each place in their protocol
  /// parts of fixed sizes behind a label of its own, so that boundaries are unambiguous.
  Proof prove(std::initializer_list<std::span<const std::byte>> parts) const;
  /// In time that does not depend on where `proof` is wrong.
  bool verify(std::initializer_list<std::span<const std::byte>> parts,
              std::span<const std::byte, 32> proof) const;

 private:
  std::array<unsigned char, 32> key_;
};

/// Unpredictable bytes, never the same again.
void fill_with_random(std::span<std::byte> bytes);

}  // namespace weft
