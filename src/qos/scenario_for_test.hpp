// SPDX-License-Identifier: Apache-2.0
// Scenarios of experiments from their text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/scenario/scenario_file.hpp"

namespace weft::qos {

inline sim::Scenario scenario_of(const std::string& text, const std::string& file = "test.toml") {
  auto scenario = sim::parse_scenario(text, file);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  return scenario.ok() ? *scenario : sim::Scenario();
}

}  // namespace weft::qos
