// SPDX-License-Identifier: Apache-2.0
// The limit of open files, which a process may raise itself up to a hard limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/result.hpp"

namespace weft {

/// Returns how many descriptors this process may have once it has raised its limit.
std::uint64_t most_descriptors();

/// Raises the limit to `needed`, or as far as it goes. A limit that suffices stays: programs that
/// inherit it may call select(), which knows no descriptor from 1024 on.
void raise_descriptor_limit(std::uint64_t needed);

/// Says that a process of `job` may not have as many as it needs. `fewer` names what a user can
/// take fewer of.
Error too_few_descriptors(std::string_view job, std::uint64_t needed, std::uint64_t most,
                          std::string_view fewer);

/// Raises the limit to `needed`; an error where it does not go so far.
Result<void> allow_descriptors(std::string_view job, std::uint64_t needed, std::string_view fewer);

/// What to do about EMFILE and ENFILE.
constexpr const char* raise_open_files = "raise the limit of open files (ulimit -n)";

/// Returns whether an errno means that no descriptor is left.
bool lacks_descriptors(int number);

/// Logs an error when `number` means that no descriptor is left, once in a process: `who` tries
/// again, and the process may wait for it without end.
void tell_of_lacking_descriptors(std::string_view who, int number);

/// Returns what a rank needs that may be connected to `processes`. While all ranks connect, two may
/// have two connections, since both begin one; shared memory takes a file and a connection. A rank
/// takes up to 16 besides, and its program some.
constexpr std::uint64_t descriptors_of_rank(std::uint64_t processes) {
  return 2 * processes + 32;
}

}  // namespace weft
