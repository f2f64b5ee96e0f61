// SPDX-License-Identifier: Apache-2.0
#include "metrics/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace weft::metrics {
namespace {

TEST(registry, exposition_is_openmetrics_text) {
  Registry registry;
  Counter& first = registry.counter({"weft_timeslices", "Timeslices delivered.", ""},
                                    {{"compute", "0"}, {"schedule", "dfs"}});
  Gauge& fill = registry.gauge({"weft_buffer_fill_ratio", "Part of the buffer in use.", "ratio"});
  Counter& second = registry.counter({"weft_timeslices", "Timeslices delivered.", ""},
                                     {{"compute", "1"}, {"schedule", "dfs"}});
  first.add();
  first.add(41);
  second.set_total(7);
  fill.set(0.125);
  EXPECT_EQ(registry.exposition(),
            "# TYPE weft_timeslices counter\n"
            "# HELP weft_timeslices Timeslices delivered.\n"
            "weft_timeslices_total{compute=\"0\",schedule=\"dfs\"} 42\n"
            "weft_timeslices_total{compute=\"1\",schedule=\"dfs\"} 7\n"
            "# TYPE weft_buffer_fill_ratio gauge\n"
            "# UNIT weft_buffer_fill_ratio ratio\n"
            "# HELP weft_buffer_fill_ratio Part of the buffer in use.\n"
            "weft_buffer_fill_ratio 0.125\n"
            "# EOF\n");
}

TEST(registry, empty_registry_is_a_valid_exposition) {
  EXPECT_EQ(Registry().exposition(), "# EOF\n");
}

TEST(registry, values_and_labels_are_escaped) {
  Registry registry;
  registry.gauge({"a", "say \"hi\"\nback\\slash", ""}, {{"l", "q\"b\\n\n"}})
      .set(std::numeric_limits<double>::infinity());
  registry.gauge({"b", "", ""}).set(std::nan(""));
  registry.gauge({"c", "", ""}).set(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(registry.exposition(),
            "# TYPE a gauge\n# HELP a say \\\"hi\\\"\\nback\\\\slash\n"
            "a{l=\"q\\\"b\\\\n\\n\"} +Inf\n"
            "# TYPE b gauge\n# HELP b \nb NaN\n"
            "# TYPE c gauge\n# HELP c \nc -Inf\n# EOF\n");
}

TEST(registry, references_stay_valid_as_it_grows) {
  Registry registry;
  Counter& first = registry.counter({"n", "", ""}, {{"i", "first"}});
  for (int i = 0; i < 1000; ++i) {
    registry.counter({"n", "", ""}, {{"i", std::to_string(i)}});
    registry.gauge({fmt::format("g{}", i), "", ""});
  }
  first.add(5);
  EXPECT_NE(registry.exposition().find("n_total{i=\"first\"} 5\n"), std::string::npos);
}

TEST(registry, threads_may_count_while_it_is_read) {
  Registry registry;
  Counter& counter = registry.counter({"n", "", ""});
  Gauge& gauge = registry.gauge({"g", "", ""});
  std::thread other([&] {
    for (int i = 0; i < 10'000; ++i) {
      counter.add();
      gauge.set(i);
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(registry.exposition().ends_with("# EOF\n"));
  other.join();
  EXPECT_EQ(counter.value(), 10'000u);
}

TEST(registry_death, names_that_scrapers_refuse_abort) {
  Registry registry;
  EXPECT_DEATH(registry.gauge({"1a", "", ""}), "cannot be a metric's name");
  EXPECT_DEATH(registry.gauge({"a b", "", ""}), "cannot be a metric's name");
  EXPECT_DEATH(registry.counter({"a_total", "", ""}), "_total");
  EXPECT_DEATH(registry.gauge({"a", "", "seconds"}), "unit");
  EXPECT_DEATH(registry.gauge({"a", "", ""}, {{"x-y", ""}}), "label");
  EXPECT_DEATH(registry.gauge({"a", "", ""}, {{"x", "1"}, {"x", "2"}}), "twice");
  registry.counter({"n", "", ""});
  EXPECT_DEATH(registry.gauge({"n", "", ""}), "counter and a gauge");
  EXPECT_DEATH(registry.counter({"n", "", ""}), "twice");
}

}  // namespace
}  // namespace weft::metrics
