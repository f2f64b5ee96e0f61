// SPDX-License-Identifier: Apache-2.0
#include "testbed/relay.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>

#include "testbed/clock.hpp"
#include "testbed/held_packets.hpp"

namespace weft::testbed {
namespace {

// A sleeper may wake so much later than it asked for: the rest is spent looking.
constexpr Duration kLateWaking = Duration::microseconds(60);
constexpr std::size_t kLargestPacket = 65'536;
constexpr int kMostAtOnce = 64;

class Relay {
 public:
  Relay(int first, int second, Duration latency, RelayCounters& counters)
      : devices_{first, second}, latency_(latency), counters_(counters) {}

  void turn() {
    for (std::size_t from = 0; from < devices_.size(); ++from) take(from);
    Instant next = Instant::never();
    for (std::size_t from = 0; from < devices_.size(); ++from) {
      release(from);
      next = std::min(next, held_[from].next_due());
    }
    await(next);
  }

 private:
  void take(std::size_t from) {
    for (int i = 0; i < kMostAtOnce; ++i) {
      const ssize_t n = ::read(devices_[from], buffer_.data(), buffer_.size());
      if (n <= 0) return;
      const std::span packet(buffer_.data(), static_cast<std::size_t>(n));
      counters_.packets[from].fetch_add(1, std::memory_order_relaxed);
      counters_.bytes[from].fetch_add(packet.size(), std::memory_order_relaxed);
      held_[from].push(clock_now() + latency_, packet);
    }
  }

  void release(std::size_t from) {
    HeldPackets& held = held_[from];
    while (!held.empty() && held.next_due() <= clock_now()) {
      const auto packet = held.first();
      // The kernel refuses packets that are malformed; a wire would lose them, too.
      [[maybe_unused]] const auto n = ::write(devices_[1 - from], packet.data(), packet.size());
      held.pop();
    }
  }

  // Sleeps until there is something to do, or shortly before.
  void await(Instant next) {
    std::array<pollfd, 2> readable{{{devices_[0], POLLIN, 0}, {devices_[1], POLLIN, 0}}};
    if (next == Instant::never()) {
      ::ppoll(readable.data(), readable.size(), nullptr, nullptr);
      return;
    }
    const Duration left = next - clock_now() - kLateWaking;
    if (left <= Duration{}) return;
    const timespec timeout{left.ticks() / 1'000'000'000, left.ticks() % 1'000'000'000};
    ::ppoll(readable.data(), readable.size(), &timeout, nullptr);
  }

  std::array<int, 2> devices_;
  Duration latency_;
  RelayCounters& counters_;
  std::array<HeldPackets, 2> held_;
  std::array<std::byte, kLargestPacket> buffer_;
};

}  // namespace

void relay(int first, int second, Duration latency, RelayCounters& counters) {
  ::prctl(PR_SET_NAME, "weft-relay");
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  static Relay one(first, second, latency, counters);
  for (;;) one.turn();
}

}  // namespace weft::testbed
