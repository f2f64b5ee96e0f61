// SPDX-License-Identifier: Apache-2.0
// Epochs of one-sided communication: fences, post and start, locks.
#include <fmt/format.h>

#include <atomic>

#include "mpi/api/groups.hpp"
#include "mpi/api/windows.hpp"
#include "mpi/object/collectives.hpp"

namespace weft::mpi {
namespace {

constexpr const char* other_epoch = "another epoch of the window has not ended";
constexpr const char* no_post = "MPI_Win_post is missing";

/// Calls `act` on the window; the call's result.
template <class Act>
int with_window(const char* function, MPI_Win handle, Act&& act) {
  const WindowCall call(function, handle);
  if (!call) return call.error;
  const int error = act(call, *call);
  return error != MPI_SUCCESS ? error : call.settle(&call->communicator);
}

/// The same, at the end of an epoch that this process must have begun.
template <class Act>
int end_epoch(const char* function, MPI_Win handle, bool Epochs::*epoch, const char* missing,
              Act&& act) {
  return with_window(function, handle, [&](const Call& call, WindowObject& window) {
    const int error = window.check_epochs(call, window.epochs.*epoch, missing);
    if (error != MPI_SUCCESS) return error;
    window.epochs.*epoch = false;
    act(*window.window);
    return error;
  });
}

/// The same for one target, checked. `act` returns an error.
template <class Act>
int with_target(const char* function, int rank, MPI_Win handle, Act&& act) {
  return with_window(function, handle, [&](const Call& call, WindowObject& window) {
    if (rank == MPI_PROC_NULL) return int{MPI_SUCCESS};
    if (rank < 0 || static_cast<std::size_t>(rank) >= window.parts.size()) {
      return window.fail(call, MPI_ERR_RANK,
                         fmt::format("{} is no rank of a window of {}", rank, window.parts.size()));
    }
    return act(call, window, static_cast<std::uint32_t>(rank));
  });
}

template <class Act>
int with_all(const char* function, MPI_Win handle, Act&& act) {
  return with_window(function, handle, [&](const Call&, WindowObject& window) {
    act(*window.window);
    return int{MPI_SUCCESS};
  });
}

constexpr const char* no_lock = "MPI_Win_lock or MPI_Win_lock_all is missing";

int flush_target(const char* function, int rank, MPI_Win handle,
                 void (Window::*flush)(std::uint32_t target)) {
  return with_target(function, rank, handle,
                     [&](const Call& call, WindowObject& window, std::uint32_t target) {
                       const Epochs& epochs = window.epochs;
                       const bool is_right = epochs.has_all || epochs.has_lock[target];
                       const int error = window.check_epochs(call, is_right, no_lock);
                       if (error == MPI_SUCCESS) (window.window.get()->*flush)(target);
                       return error;
                     });
}

template <class Flush>
int flush_targets(const char* function, MPI_Win handle, Flush&& flush) {
  return with_window(function, handle, [&](const Call& call, WindowObject& window) {
    const Epochs& epochs = window.epochs;
    const int error = window.check_epochs(call, epochs.has_all || epochs.locks > 0, no_lock);
    if (error == MPI_SUCCESS) flush(window);
    return error;
  });
}

/// An assertion may have these and no other bits.
int check_assertion(const Call& call, const WindowObject& window, int assertion) {
  constexpr int known = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE |
                        MPI_MODE_NOSUCCEED;
  if ((assertion & ~known) == 0) return MPI_SUCCESS;
  return window.fail(
      call, MPI_ERR_ASSERT,
      fmt::format("the assertion {:#x} has other bits than MPI_MODE_NOCHECK, NOSTORE, "
                  "NOPUT, NOPRECEDE and NOSUCCEED",
                  assertion));
}

/// The ranks of a group's processes in the window.
int ranks_in(const Call& call, const WindowObject& window, MPI_Group group,
             std::vector<std::uint32_t>& ranks) {
  int error = MPI_SUCCESS;
  const Members* const members = find_group(call, group, error);
  if (members == nullptr) return error;
  for (const NodeId process : *members) {
    const int rank = rank_of(window.communicator.group.members, process);
    if (rank == MPI_UNDEFINED) {
      return window.fail(call, MPI_ERR_GROUP, "a process of the group has no part of the window");
    }
    ranks.push_back(static_cast<std::uint32_t>(rank));
  }
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Win_fence(int assertion, MPI_Win handle) {
  return with_window("MPI_Win_fence", handle, [&](const Call& call, WindowObject& window) {
    int error = check_assertion(call, window, assertion);
    if (error == MPI_SUCCESS) {
      error = window.check_epochs(call, window.epochs.may_begin(), other_epoch);
    }
    if (error != MPI_SUCCESS) return error;
    window.window->fence();
    window.epochs.is_fenced = (assertion & MPI_MODE_NOSUCCEED) == 0;
    return error;
  });
}

int MPI_Win_post(MPI_Group group, int assertion, MPI_Win handle) {
  return with_window("MPI_Win_post", handle, [&](const Call& call, WindowObject& window) {
    std::vector<std::uint32_t> origins;
    int error = window.check_epochs(call, !window.epochs.is_posted, "MPI_Win_wait is missing");
    if (error == MPI_SUCCESS) error = check_assertion(call, window, assertion);
    if (error == MPI_SUCCESS) error = ranks_in(call, window, group, origins);
    if (error != MPI_SUCCESS) return error;
    window.epochs.is_posted = true;
    window.window->post(origins);
    return error;
  });
}

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win handle) {
  return with_window("MPI_Win_start", handle, [&](const Call& call, WindowObject& window) {
    std::vector<std::uint32_t> targets;
    int error = window.check_epochs(call, window.epochs.may_begin(), other_epoch);
    if (error == MPI_SUCCESS) error = check_assertion(call, window, assertion);
    if (error == MPI_SUCCESS) error = ranks_in(call, window, group, targets);
    if (error != MPI_SUCCESS) return error;
    window.epochs.is_fenced = false;
    window.epochs.is_started = true;
    window.epochs.has_started.assign(window.parts.size(), false);
    for (const std::uint32_t target : targets) window.epochs.has_started[target] = true;
    window.window->start(targets);
    return error;
  });
}

int MPI_Win_complete(MPI_Win handle) {
  return end_epoch("MPI_Win_complete", handle, &Epochs::is_started, "MPI_Win_start is missing",
                   [](Window& window) { window.complete(); });
}

int MPI_Win_wait(MPI_Win handle) {
  return end_epoch("MPI_Win_wait", handle, &Epochs::is_posted, no_post,
                   [](Window& window) { window.wait(); });
}

int MPI_Win_test(MPI_Win handle, int* flag) {
  return with_window("MPI_Win_test", handle, [&](const Call& call, WindowObject& window) {
    const int error = window.check_epochs(call, window.epochs.is_posted, no_post);
    if (error != MPI_SUCCESS) return error;
    const bool is_over = library().questions->is([&] { return window.window->is_completed(); });
    window.epochs.is_posted = !is_over;
    *flag = is_over ? 1 : 0;
    return error;
  });
}

int MPI_Win_lock(int type, int rank, int assertion, MPI_Win handle) {
  const auto lock = [&](const Call& call, WindowObject& window, std::uint32_t target) {
    Epochs& epochs = window.epochs;
    const bool is_right = !epochs.is_started && !epochs.has_all && !epochs.has_lock[target];
    int error = window.check_epochs(call, is_right, other_epoch);
    if (error == MPI_SUCCESS) error = check_assertion(call, window, assertion);
    if (error == MPI_SUCCESS && type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED) {
      error =
          window.fail(call, MPI_ERR_LOCKTYPE,
                      fmt::format("{} is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE", type));
    }
    if (error != MPI_SUCCESS) return error;
    epochs.is_fenced = false;
    epochs.has_lock[target] = true;
    ++epochs.locks;
    window.window->lock(target, type == MPI_LOCK_EXCLUSIVE);
    return error;
  };
  return with_target("MPI_Win_lock", rank, handle, lock);
}

int MPI_Win_unlock(int rank, MPI_Win handle) {
  const auto unlock = [](const Call& call, WindowObject& window, std::uint32_t target) {
    const int error =
        window.check_epochs(call, window.epochs.has_lock[target], "MPI_Win_lock is missing");
    if (error != MPI_SUCCESS) return error;
    window.epochs.has_lock[target] = false;
    --window.epochs.locks;
    window.window->unlock(target);
    return error;
  };
  return with_target("MPI_Win_unlock", rank, handle, unlock);
}

int MPI_Win_lock_all(int assertion, MPI_Win handle) {
  return with_window("MPI_Win_lock_all", handle, [&](const Call& call, WindowObject& window) {
    int error = window.check_epochs(call, window.epochs.may_begin(), other_epoch);
    if (error == MPI_SUCCESS) error = check_assertion(call, window, assertion);
    if (error != MPI_SUCCESS) return error;
    window.epochs.is_fenced = false;
    window.epochs.has_all = true;
    window.window->lock_all();
    return error;
  });
}

int MPI_Win_unlock_all(MPI_Win handle) {
  return end_epoch("MPI_Win_unlock_all", handle, &Epochs::has_all, "MPI_Win_lock_all is missing",
                   [](Window& window) { window.unlock_all(); });
}

int MPI_Win_flush(int rank, MPI_Win handle) {
  return flush_target("MPI_Win_flush", rank, handle, &Window::flush);
}

int MPI_Win_flush_all(MPI_Win handle) {
  return flush_targets("MPI_Win_flush_all", handle,
                       [](WindowObject& window) { window.window->flush_all(); });
}

int MPI_Win_flush_local(int rank, MPI_Win handle) {
  return flush_target("MPI_Win_flush_local", rank, handle, &Window::flush_local);
}

int MPI_Win_flush_local_all(MPI_Win handle) {
  return flush_targets("MPI_Win_flush_local_all", handle, [](WindowObject& window) {
    for (std::uint32_t i = 0; i < window.parts.size(); ++i) window.window->flush_local(i);
  });
}

int MPI_Win_sync(MPI_Win handle) {
  return with_all("MPI_Win_sync", handle, [](Window&) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    library().transfer->turn();
  });
}
