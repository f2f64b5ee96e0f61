// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/spin_lock.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>
#include <vector>

#include "fabric/libfabric/provider_library.hpp"

namespace weft::ofi {
namespace {

TEST(spin_lock, that_libfabric_calls_is_the_one_that_yields) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a lock of its own";
#else
  ASSERT_TRUE(load_library().ok());
  EXPECT_TRUE(spin_locks_yield());
  Dl_info where{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "pthread_spin_lock"), &where), 0);
  EXPECT_EQ(std::string(where.dli_fname).find("libc.so"), std::string::npos) << where.dli_fname;
#endif
}

TEST(spin_lock, lets_one_in_at_a_time) {
  constexpr int kThreads = 4, kRounds = 50'000;
  pthread_spinlock_t lock;
  ASSERT_EQ(::pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE), 0);
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kRounds; ++j) {
        ::pthread_spin_lock(&lock);
        ++count;
        ::pthread_spin_unlock(&lock);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
  EXPECT_EQ(::pthread_spin_destroy(&lock), 0);
}

}  // namespace
}  // namespace weft::ofi
