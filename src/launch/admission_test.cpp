// SPDX-License-Identifier: Apache-2.0
#include "launch/admission.hpp"

#include <gtest/gtest.h>

#include "base/descriptor_limit.hpp"

namespace weft {
namespace {

TEST(launch_admission, ranks_need_descriptors_for_each_other_where_they_connect) {
  for (const char* fabric : {"auto", "shm", "tcp", "tcp:unix", "libfabric:tcp"}) {
    EXPECT_EQ(descriptors_needed({.fabric = fabric}, 20), descriptors_of_rank(20)) << fabric;
  }
  EXPECT_LT(descriptors_needed({.fabric = "libfabric:shm"}, 20), descriptors_of_rank(20));
  EXPECT_LT(descriptors_needed({.fabric = "tcp", .connections = 5}, 20), descriptors_of_rank(20));
}

TEST(launch_admission, a_launcher_needs_more_for_ranks_that_it_starts_anew) {
  EXPECT_GT(descriptors_needed({.restart = true}, 100), descriptors_needed({}, 100));
}

TEST(launch_admission, a_launcher_of_hosts_needs_descriptors_for_hosts_only) {
  EXPECT_EQ(descriptors_needed({.hosts = {{.host = "a", .slots = 4000}}}, 4000),
            descriptors_needed({.hosts = {{.host = "a", .slots = 1}}}, 1));
}

}  // namespace
}  // namespace weft
