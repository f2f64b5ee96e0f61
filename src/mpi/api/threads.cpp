// SPDX-License-Identifier: Apache-2.0
// The lock of programs whose threads communicate at the same time.
#include <unistd.h>

#include <mutex>
#include <thread>

#include "mpi/api/library.hpp"

namespace weft::mpi {
namespace {

/// Never destroyed: threads may end after main does.
std::mutex& the_lock() {
  static std::mutex* const lock = new std::mutex;
  return *lock;
}

int waiting_threads = 0;  // in calls, guarded by the lock
// Of this thread's calls:
thread_local int depth = 0;
thread_local bool is_locked = false;
thread_local const char* outermost = nullptr;

/// Others get in while this thread waits. It sleeps when nothing happens for long.
void let_others_in(int fruitless_turns) {
  constexpr int turns_before_sleep = 2000;
  constexpr useconds_t sleep_us = 50;
  ++waiting_threads;
  the_lock().unlock();
  if (fruitless_turns < turns_before_sleep) {
    std::this_thread::yield();
  } else {
    ::usleep(sleep_us);
  }
  the_lock().lock();
  --waiting_threads;
}

}  // namespace

void Held::enter(const char* function) {
  if (depth++ == 0) {
    is_locked = has_threads();
    if (is_locked) the_lock().lock();
  }
  if (outermost == nullptr) outermost = function;
}

void Held::leave() {
  if (--depth > 0) return;
  outermost = nullptr;
  if (is_locked) the_lock().unlock();
}

const char* Held::outermost_call() {
  return outermost;
}

bool Held::is_in_call() {
  return calls_ > 0 || depth > 0;
}

void rest() {
  constexpr int long_ago = 1 << 20;
  constexpr useconds_t moment_us = 50;
  if (Held::has_threads()) return let_others_in(long_ago);
  ::usleep(moment_us);
}

bool is_alone() {
  return waiting_threads == 0;
}

void allow_threads(Transfer& transfer) {
  transfer.set_pause(let_others_in);
  Held::allow_threads();
}

}  // namespace weft::mpi
