// SPDX-License-Identifier: Apache-2.0
//
// Question: how fast is the packet simulator on one core, what does a node cost, and how do both
// grow? Uniform random traffic at 70 % load, packets of 4 KiB, credits and two lanes on.
// Must hold: 5 million packet-hops per second at 64 nodes, 4 million at 1,024 nodes in three
// levels with less than 100 MB; the exit code is 1 when it does not. For comparison, measured
// elsewhere on such a machine: CODES/ROSS 0.4 to 0.46 million, htsim about 2 million without lanes.
// And: what does the event queue contribute? Against heaps, a 4-ary one and the standard library's
// binary one, holding as many events as those networks do.
//
//   bench_simulate [ROUNDS]      each size in a process of its own, medians over rounds
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <queue>
#include <vector>

#include "base/rng.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/run/uniform.hpp"

namespace {

using namespace weft;
using namespace weft::sim;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Size {
  const char* topology;
  std::int64_t duration_us;
  double required_hops_per_s;
};
constexpr std::array sizes{
    Size{"fat-tree:64", 4000, 5e6}, Size{"fat-tree:256", 1000, 0}, Size{"fat-tree:1024", 400, 4e6},
    Size{"fat-tree:4096", 100, 0},  Size{"fat-tree:16384", 30, 0},
};

struct Figures {
  double hops_per_s = 0;
  double events_per_hop = 0;
  double megabytes = 0;
  double bytes_per_node = 0;
};

Figures run(const Size& size) {
  UniformOptions options;
  options.topology = size.topology;
  options.duration = PicoDuration::microseconds(size.duration_us);
  options.network.levels = {{}, {}};
  const auto start = std::chrono::steady_clock::now();
  const auto r = run_uniform(options);
  if (!r || r->delivered != r->messages) _exit(2);
  const auto hops = static_cast<double>(r->packet_hops);
  return {.hops_per_s = hops / seconds_since(start),
          .events_per_hop = static_cast<double>(r->events) / hops,
          .megabytes = static_cast<double>(r->memory_bytes) / 1e6,
          .bytes_per_node = static_cast<double>(r->memory_bytes) / r->hosts};
}

/// In a process of its own, so that memory is that of one run.
Figures run_apart(const Size& size) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Figures f = run(size);
    _exit(write(pipe_ends[1], &f, sizeof f) == sizeof f ? 0 : 1);
  }
  close(pipe_ends[1]);
  Figures f;
  if (read(pipe_ends[0], &f, sizeof f) != sizeof f) std::exit(2);
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return f;
}

struct Later {
  bool operator()(const Event& a, const Event& b) const { return b < a; }
};
struct StandardQueue {
  std::priority_queue<Event, std::vector<Event>, Later> events;
  void push(const Event& e) { events.push(e); }
  Event pop() {
    const Event e = events.top();
    events.pop();
    return e;
  }
};

/// Nanoseconds for a pop and a push at a steady number of events.
template <class Queue>
double hold(std::size_t pending) {
  Rng rng(7);
  Queue queue;
  std::uint32_t sequence = 0;
  const auto add = [&](std::int64_t now) {
    queue.push({.time = PicoInstant(now + static_cast<std::int64_t>(rng.below(800'000))),
                .source = 0,
                .sequence = sequence++});
  };
  for (std::size_t i = 0; i < pending; ++i) add(0);
  constexpr int steps = 1'000'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) add(queue.pop().time.ticks());
  return seconds_since(start) * 1e9 / steps;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  bool good = true;
  fmt::print("{:<16}{:>16}{:>10}{:>14}{:>10}{:>16}\n", "network", "M packet-hops/s", "spread",
             "events/hop", "MB", "bytes per node");
  for (const Size& size : sizes) {
    std::vector<double> rates;
    Figures f;
    for (int i = 0; i < rounds; ++i) {
      f = run_apart(size);
      rates.push_back(f.hops_per_s);
    }
    const double rate = median(rates);
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    fmt::print("{:<16}{:>16.2f}{:>9.0f}%{:>14.2f}{:>10.1f}{:>16.0f}\n", size.topology, rate / 1e6,
               (*most - *least) / rate * 100, f.events_per_hop, f.megabytes, f.bytes_per_node);
    good = good && rate >= size.required_hops_per_s;
    if (std::string_view(size.topology) == "fat-tree:1024") good = good && f.megabytes < 100;
  }
  fmt::print("\n{:<16}{:>16}{:>16}{:>16}\n", "pending events", "event queue ns", "4-ary heap ns",
             "std heap ns");
  for (const std::size_t pending : {300UL, 5000UL, 100'000UL}) {
    std::vector<double> own, heap, standard;
    for (int i = 0; i < rounds; ++i) {
      own.push_back(hold<EventQueue>(pending));
      heap.push_back(hold<EventHeap>(pending));
      standard.push_back(hold<StandardQueue>(pending));
    }
    fmt::print("{:<16}{:>16.1f}{:>16.1f}{:>16.1f}\n", pending, median(own), median(heap),
               median(standard));
  }
  return good ? 0 : 1;
}
