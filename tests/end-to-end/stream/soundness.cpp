// SPDX-License-Identifier: Apache-2.0
#include "soundness.hpp"

#include <gtest/gtest.h>

namespace weft::e2e {

Figures figures_of(const Ended& ended) {
  const auto json = ended.json();
  Figures f;
  if (!json.is_object()) return f;
  try {
    f.sent = json.at("timeslices_sent");
    f.complete = json.at("timeslices_complete");
    f.incomplete = json.at("timeslices_incomplete");
    f.lost = json.at("timeslices_lost");
    f.errors = json.at("checks").at("errors");
    f.dropped = json.at("checks").at("dropped");
    f.valid = true;
  } catch (const nlohmann::json::exception&) {
    f.valid = false;
  }
  return f;
}

void expect_good_end(const Ended& ended) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_TRUE(figures_of(ended).valid) << ended.describe();
}

void expect_all_complete(const Ended& ended) {
  expect_good_end(ended);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.sent, 0u) << ended.describe();
  EXPECT_EQ(f.complete, f.sent) << ended.describe();
  EXPECT_EQ(f.incomplete, 0u) << ended.describe();
  EXPECT_EQ(f.lost, 0u) << ended.describe();
  EXPECT_EQ(f.errors, 0u) << ended.describe();
}

void expect_nothing_lost(const Ended& ended) {
  expect_good_end(ended);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.complete, 0u) << ended.describe();
  EXPECT_EQ(f.lost, 0u) << ended.describe();
  EXPECT_EQ(f.errors, 0u) << ended.describe();
}

}  // namespace weft::e2e
