// SPDX-License-Identifier: Apache-2.0
#include "rdma/diagnosis_score_for_test.hpp"

namespace weft::rdma {
namespace {

TEST(diagnosis_long, of_10000_generated_captures_has_99_per_cent_of_precision_and_recall) {
  expect_good(score(1, 10'000));
}

}  // namespace
}  // namespace weft::rdma
