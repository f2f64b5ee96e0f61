// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/sweep/grid_for_test.hpp"

namespace weft::sweep {
namespace {

TEST(sweep_model, finds_the_plane_of_a_program_that_never_overlaps) {
  const FittedModel fitted =
      fit_model(grid(usual_latencies, usual_bandwidths,
                     [](double l, double g) { return 2 + 200'000 * l + 0.5 * g; }));
  ASSERT_EQ(fitted.model.pieces().size(), 1U);
  EXPECT_NEAR(fitted.model.pieces()[0].fixed_s, 2, 1e-6);
  EXPECT_NEAR(fitted.model.pieces()[0].messages, 200'000, 1);
  EXPECT_NEAR(fitted.model.pieces()[0].transfer_s, 0.5, 1e-6);
  EXPECT_LT(fitted.left_out_error, 1e-6);
  EXPECT_LT(*fitted.faster_error, 1e-6);
}

TEST(sweep_model, finds_what_computation_hides) {
  // Computation of 3 s runs beside messages that take 1 s + 10^6 L; transfers follow both.
  const FittedModel fitted =
      fit_model(grid(usual_latencies, usual_bandwidths,
                     [](double l, double g) { return std::max(3.0, 1 + 1e6 * l) + 0.2 * g; }));
  EXPECT_LT(fitted.fit_error, 1e-6);
  EXPECT_NEAR(fitted.model.deciding({0, 1}).messages, 0, 1);
  EXPECT_NEAR(fitted.model.deciding({10 * us, 1}).messages, 1e6, 1);
  EXPECT_NEAR(fitted.model.predict_s({1.9 * us, 1}), 3.2, 1e-3);
  EXPECT_NEAR(fitted.model.predict_s({7 * us, 0.1}), 10, 1e-3);
}

TEST(sweep_model, finds_transfers_that_overlap_with_waiting_and_computation) {
  const FittedModel fitted =
      fit_model(grid(usual_latencies, usual_bandwidths, [](double l, double g) {
        return std::max({4.0, 1 + 1e6 * l, 0.5 + 0.9 * g});
      }));
  EXPECT_LT(fitted.fit_error, 1e-3);
  EXPECT_NEAR(fitted.model.predict_s({0, 0.05}), 18.5, 0.02);
}

TEST(sweep_model, predicts_a_faster_network) {
  const FittedModel fitted =
      fit_model(grid({1 * us, 2 * us, 5 * us, 10 * us}, {0.5, 0.2, 0.1, 0.05},
                     [](double l, double g) { return 2 + 200'000 * l + 0.5 * g; }));
  EXPECT_NEAR(fitted.model.predict_s({0, 1}), 2.5, 1e-5);
  EXPECT_NEAR(fitted.model.predict_s({-1 * us, 2}), 2 - 0.2 + 0.25, 1e-5);
}

TEST(sweep_model, never_predicts_less_than_nothing) {
  const FittedModel fitted =
      fit_model(grid(usual_latencies, {1}, [](double l, double) { return 0.1 + 1e6 * l; }));
  EXPECT_EQ(fitted.model.predict_s({-1, 1}), 0);
}

TEST(sweep_model, recovers_the_messages_from_noisy_medians) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const FittedModel fitted =
        fit_model(with_noise(grid(usual_latencies, usual_bandwidths,
                                  [](double l, double g) { return 1 + 500'000 * l + 0.02 * g; }),
                             0.01, seed));
    EXPECT_NEAR(fitted.model.deciding({10 * us, 1}).messages, 500'000, 0.05 * 500'000)
        << "seed " << seed;
    EXPECT_LT(fitted.left_out_error, 0.02) << "seed " << seed;
    EXPECT_LT(*fitted.faster_error, 0.05) << "seed " << seed;
  }
}

TEST(sweep_model, recovers_hidden_messages_from_noisy_medians) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const FittedModel fitted = fit_model(
        with_noise(grid({0, 1 * us, 2 * us, 3 * us, 5 * us, 7 * us, 10 * us}, usual_bandwidths,
                        [](double l, double g) { return std::max(3.0, 1 + 1e6 * l) + 0.05 * g; }),
                   0.01, seed));
    EXPECT_NEAR(fitted.model.deciding({10 * us, 1}).messages, 1e6, 0.08 * 1e6) << "seed " << seed;
    EXPECT_NEAR(fitted.model.deciding({0, 1}).messages, 0, 0.08 * 1e6) << "seed " << seed;
  }
}

TEST(sweep_model, says_nothing_of_what_was_not_varied) {
  const FittedModel fitted =
      fit_model(grid(usual_latencies, {1}, [](double l, double) { return 1 + 1e5 * l; }));
  EXPECT_EQ(fitted.model.pieces()[0].transfer_s, 0);
  const FittedModel single = fit_model(grid({0}, {1}, [](double, double) { return 2.0; }));
  EXPECT_NEAR(single.model.predict_s({0, 1}), 2, 1e-12);
  EXPECT_FALSE(single.faster_error);
}

TEST(sweep_model, is_the_same_each_time) {
  const auto noisy =
      with_noise(grid(usual_latencies, usual_bandwidths,
                      [](double l, double g) { return std::max(3.0, 1 + 1e6 * l) + 0.2 * g; }),
                 0.02, 7);
  EXPECT_EQ(fit_model(noisy).left_out_error, fit_model(noisy).left_out_error);
}

}  // namespace
}  // namespace weft::sweep
