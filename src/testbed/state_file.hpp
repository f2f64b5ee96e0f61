// SPDX-License-Identifier: Apache-2.0
// The record of a named testbed: which keeper holds it. Nothing else of a testbed can be left over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "testbed/options.hpp"
#include "weft/result.hpp"

namespace weft::testbed {

struct Record {
  pid_t keeper = 0;
  std::uint64_t keeper_start = 0;  ///< start_time_of(keeper), so that a reused id is not mistaken
  TestbedOptions options;
  std::string congestion_control;
};

/// The directory of records: /run/weft for root, $XDG_RUNTIME_DIR/weft or /tmp/weft-UID for others.
/// WEFT_TESTBED_STATE overrides it. Made when missing, for the user alone.
Result<std::filesystem::path> state_directory();

/// Letters, digits, '-' and '_', at most 40.
Result<void> check_name(std::string_view name);

/// Writes a record; fails when there is one of that name.
Result<void> write_record(std::string_view name, const Record& record);
/// Not found, or corrupt: an error that says so.
Result<Record> read_record(std::string_view name);
Result<void> remove_record(std::string_view name);
std::vector<std::string> record_names();

/// Returns whether the keeper of a record is still the process it was.
bool is_alive(const Record& record);

}  // namespace weft::testbed
