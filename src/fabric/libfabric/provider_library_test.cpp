// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/provider_library.hpp"

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <signal.h>

namespace weft::ofi {
namespace {

void handle(int) {}

TEST(provider_library, leaves_signals_to_the_program) {
  struct sigaction own {};
  own.sa_handler = handle;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &own, nullptr);
  ASSERT_TRUE(load_library().ok());
  fi_info* found = nullptr;
  (void)fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, nullptr, &found);
  if (found != nullptr) fi_freeinfo(found);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, handle) << "signal " << number;
  }
}

}  // namespace
}  // namespace weft::ofi
