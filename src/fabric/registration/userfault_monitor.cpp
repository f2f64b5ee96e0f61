// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/make_error.hpp"
#include "fabric/registration/memory_monitor.hpp"

namespace weft::fabric {
namespace {

constexpr std::uint64_t everything = ~std::uint64_t{0};

/// A thread that unmaps watched memory waits until its event has been read. The reading thread must
/// therefore not allocate, as that could unmap memory itself and wait for itself for ever: it
/// writes events into a ring of fixed size, and the thread that takes them does the rest.
class UserfaultMonitor final : public MemoryMonitor {
 public:
  UserfaultMonitor(int descriptor, int wake)
      : descriptor_(descriptor), wake_(wake), thread_([this] { read_events(); }) {}
  ~UserfaultMonitor() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
    thread_.join();
    ::close(descriptor_);
    ::close(wake_);
  }
  UserfaultMonitor(const UserfaultMonitor&) = delete;
  UserfaultMonitor& operator=(const UserfaultMonitor&) = delete;

  Result<void> watch(std::uint64_t address, std::uint64_t bytes) override {
    // Write protection is asked for and never used: it is the mode without faults to serve.
    uffdio_register range{};
    range.range = {.start = address, .len = bytes};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (::ioctl(descriptor_, UFFDIO_REGISTER, &range) == 0) return {};
    return make_error(ErrorCode::io, "memory at {:x} cannot be watched: {}", address,
                      std::strerror(errno));
  }
  bool has_changes() const override {
    return announced_.load() != taken_.load() || overflowed_.load();
  }

  std::size_t take(std::span<MemoryChange> changes) override {
    std::size_t n = 0;
    if (!changes.empty() && overflowed_.exchange(false)) changes[n++] = {0, everything};
    while (n < changes.size() && announced_.load() != taken_.load()) {
      // Announced before it was read: wait for the few instructions in between.
      while (stored_.load(std::memory_order_acquire) == taken_.load()) {
        if (announced_.load() == taken_.load()) return n;
        std::this_thread::yield();
      }
      changes[n++] = ring_[taken_.load() % ring_.size()];
      taken_.fetch_add(1, std::memory_order_release);
    }
    return n;
  }

 private:
  void read_events() {
    std::array<pollfd, 2> waits{pollfd{descriptor_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    for (;;) {
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
      if (waits[1].revents != 0) return;
      if (waits[0].revents == 0) continue;
      announced_.fetch_add(1);
      uffd_msg message{};
      const ssize_t size = ::read(descriptor_, &message, sizeof message);
      if (size != static_cast<ssize_t>(sizeof message)) {
        announced_.fetch_sub(1);
        continue;
      }
      store(message);
    }
  }

  void store(const uffd_msg& message) {
    MemoryChange change;
    if (message.event == UFFD_EVENT_REMAP) {
      change = {message.arg.remap.from, message.arg.remap.len};
    } else if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
      change = {message.arg.remove.start, message.arg.remove.end - message.arg.remove.start};
    }
    const std::uint64_t place = stored_.load(std::memory_order_relaxed);
    if (place - taken_.load(std::memory_order_acquire) == ring_.size()) {
      overflowed_ = true;  // changes were not taken for long: all addresses count as changed
      announced_.fetch_sub(1);
      return;
    }
    ring_[place % ring_.size()] = change;
    stored_.store(place + 1, std::memory_order_release);
  }

  int descriptor_;
  int wake_;
  std::array<MemoryChange, 4096> ring_{};
  std::atomic<std::uint64_t> announced_{0}, stored_{0}, taken_{0};
  std::atomic<bool> overflowed_{false};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<MemoryMonitor>> make_userfault_monitor() {
  const auto refused = [](const char* what) {
    return make_error(ErrorCode::unavailable, "{}: {}", what, std::strerror(errno));
  };
  const int descriptor = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (descriptor < 0) return refused("userfaultfd");
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP |
                 UFFD_FEATURE_PAGEFAULT_FLAG_WP;
#ifdef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
  api.features |= UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
#endif
  if (::ioctl(descriptor, UFFDIO_API, &api) != 0) {
    const Error error = refused("userfaultfd lacks events of munmap");
    ::close(descriptor);
    return error;
  }
  const int wake = ::eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    const Error error = refused("eventfd");
    ::close(descriptor);
    return error;
  }
  return std::unique_ptr<MemoryMonitor>(std::make_unique<UserfaultMonitor>(descriptor, wake));
}

}  // namespace weft::fabric
