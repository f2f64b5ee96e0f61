// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scenario: they are refused in one line or make one that passes its own checks.
#include <cstdint>

#include "base/check.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/topology/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenario = parse_scenario(text, "fuzz");
  if (!scenario) {
    WEFT_CHECK(scenario.error().message.starts_with("fuzz:"));
    return 0;
  }
  WEFT_CHECK(check_scenario(*scenario).ok());
  WEFT_CHECK(check_network(scenario->network).ok());
  WEFT_CHECK(parse_topology(scenario->topology).ok());
  return 0;
}
