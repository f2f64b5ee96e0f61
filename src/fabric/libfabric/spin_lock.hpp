// SPDX-License-Identifier: Apache-2.0
// The shm provider keeps the queue of every endpoint under a spin lock in shared memory, and holds
// it while it copies. glibc's waiter spins until it gets the lock; when the holder was preempted,
// which with more processes than processors is the rule, that is until the waiter's own time slice
// ends. Linking this file replaces pthread_spin_lock, for libfabric and everything else in the
// program, with one that spins for a moment and then offers its processor to others.
#pragma once

namespace weft::ofi {

/// Returns whether libraries of this program get the lock that yields. False in a plugin, whose
/// symbols nobody else sees, and under ThreadSanitizer, which has a lock of its own.
bool spin_locks_yield();

}  // namespace weft::ofi
