// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/spin_lock.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#ifndef __SANITIZE_THREAD__

namespace {

// About a microsecond: longer than the lock is held for anything but a copy.
constexpr int kTries = 20;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Through pthread_spin_trylock alone: only glibc knows the values of the word, and its unlock,
// which other processes may call.
extern "C" __attribute__((visibility("default"))) int pthread_spin_lock(
    pthread_spinlock_t* lock) noexcept {
  for (;;) {
    for (int i = 0; i < kTries; ++i) {
      if (::pthread_spin_trylock(lock) == 0) return 0;
      relax();
    }
    ::sched_yield();
  }
}

#endif

namespace weft::ofi {

bool spin_locks_yield() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  return ::dlsym(RTLD_DEFAULT, "pthread_spin_lock") ==
         reinterpret_cast<void*>(&::pthread_spin_lock);
#endif
}

}  // namespace weft::ofi
