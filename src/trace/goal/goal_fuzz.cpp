// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "trace/goal/goal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = weft::trace::parse_goal(text, "fuzz.goal");
  if (!trace) {
    WEFT_CHECK(trace.error().message.starts_with("fuzz.goal:"));
    WEFT_CHECK(trace.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const auto& rank : trace->ranks) {
    for (const auto& op : rank.operations) WEFT_CHECK(op.peer < trace->ranks.size());
    for (const auto& d : rank.dependencies) {
      WEFT_CHECK(d.earlier < rank.operations.size() && d.later < rank.operations.size());
    }
  }
  const auto summary = weft::trace::summary_of(*trace);
  WEFT_CHECK(summary.unmatched == 0 || !summary.problem.empty());
  return 0;
}
