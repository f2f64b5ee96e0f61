// SPDX-License-Identifier: Apache-2.0
//
// Question: how fast is the packet simulator on one core, what does a node cost, and how do both
// grow? Uniform random traffic at 70 % load, packets of 4 KiB, credits. Must hold: at 1,024 nodes
// in three tiers 5 million packet-hops per second with one service level, 3 million with 16, and
// less than 100 MB; at 16,384 nodes 2 million. The exit code is 1 when it does not. For comparison,
// measured elsewhere on such a machine: CODES/ROSS 0.4 to 0.46 million, htsim about 2 million
// without lanes.
// How much faster are two parts on two cores? At least 1.5 times at 1,024 nodes, with the same
// trace. For comparison, two simulations that know nothing of each other: no division can gain more
// than these have together, since they share caches and memory as parts do, and wait for nobody.
// And: what does the event queue contribute? Against heaps, a 4-ary one and the standard library's
// binary one, holding as many events as those networks do.
//
//   bench_simulate [ROUNDS]      each size in a process of its own, medians over rounds
//   bench_simulate ROUNDS NETWORK LEVELS MICROSECONDS [PARTS]      that one only, and its trace;
//                                                          PARTS above 1: compared with one part
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "measuring.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/partition/thread_exchange.hpp"
#include "sim/traffic_run/traffic_run.hpp"

namespace {

using namespace weft;
using namespace weft::sim;
using bench::median;
using bench::seconds_since;

struct Size {
  std::string topology;
  std::size_t levels;
  std::int64_t duration_us;
  double required_hops_per_s = 0;
  double most_megabytes = 1e9;
  std::uint32_t parts = 1;
};

struct Figures {
  double hops_per_s = 0;
  double cpu_ns_per_hop = 0;
  double events_per_hop = 0;
  double megabytes = 0;
  double bytes_per_node = 0;
  std::uint64_t trace_hash = 0;
};

TrafficOutcome simulate(const Size& size) {
  Scenario scenario;
  scenario.topology = size.topology;
  scenario.duration = Duration::microseconds(size.duration_us);
  scenario.network.levels.resize(size.levels);
  scenario.traffic = one_per_level({.load = 0.7}, size.levels);
  TrafficOutcome outcome;
  run_in_threads(size.parts, [&](Exchange& exchange) {
    const auto r = run_traffic(scenario, exchange);
    if (!r || r->all.delivered != r->all.messages) _exit(2);
    if (exchange.rank() == 0) outcome = *r;
  });
  return outcome;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Figures run(const Size& size) {
  const auto start = std::chrono::steady_clock::now();
  const TrafficOutcome r = simulate(size);
  const auto hops = static_cast<double>(r.packet_hops);
  return {.hops_per_s = hops / seconds_since(start),
          .cpu_ns_per_hop = cpu_seconds() * 1e9 / hops,
          .events_per_hop = static_cast<double>(r.events) / hops,
          .megabytes = static_cast<double>(r.memory_bytes) / 1e6,
          .bytes_per_node = static_cast<double>(r.memory_bytes) / r.hosts,
          .trace_hash = r.trace_hash};
}

/// So many runs at once, each in a process of its own, so that memory is that of one run. Returns
/// the figures of one of them, with the rates of all added up.
Figures run_apart(const Size& size, std::uint32_t runs = 1) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) std::abort();
  for (std::uint32_t i = 0; i < runs; ++i) {
    if (fork() != 0) continue;
    const Figures f = run(size);
    _exit(write(pipe_ends[1], &f, sizeof f) == sizeof f ? 0 : 1);
  }
  close(pipe_ends[1]);
  Figures one;
  double rates = 0;
  for (std::uint32_t i = 0; i < runs; ++i) {
    if (read(pipe_ends[0], &one, sizeof one) != sizeof one) std::exit(2);
    rates += one.hops_per_s;
  }
  close(pipe_ends[0]);
  while (wait(nullptr) > 0) continue;
  one.hops_per_s = rates;
  return one;
}

/// Prints what the parts gain over one part, and as many simulations that are independent. Returns
/// whether the parts do the same, and are so many times as fast.
bool compare_parts(const Size& size, int rounds, double required_gain) {
  Size one = size;
  one.parts = 1;
  struct Series {
    std::string name;
    std::vector<double> rates, gains;
    double megabytes = 0;
  };
  std::array<Series, 3> series = {Series{.name = "one part"},
                                  {.name = fmt::format("{} parts", size.parts)},
                                  {.name = fmt::format("{} simulations", size.parts)}};
  bool same = true;
  for (int i = 0; i < rounds; ++i) {
    const std::array figures = {run_apart(one), run_apart(size), run_apart(one, size.parts)};
    for (std::size_t k = 0; k < series.size(); ++k) {
      series[k].rates.push_back(figures[k].hops_per_s);
      series[k].gains.push_back(figures[k].hops_per_s / figures[0].hops_per_s);
      series[k].megabytes = figures[k].megabytes;
      same = same && figures[k].trace_hash == figures[0].trace_hash;
    }
  }
  fmt::print("\n{:<32}{:>16}{:>18}{:>14}{:>9}\n",
             fmt::format("{}, {} levels", size.topology, size.levels), "M packet-hops/s",
             "least to most", "times one", "MB");
  for (const Series& s : series) {
    const auto [least, most] = std::minmax_element(s.rates.begin(), s.rates.end());
    fmt::print("{:<32}{:>16.2f}{:>18}{:>14.2f}{:>9.1f}\n", s.name, median(s.rates) / 1e6,
               fmt::format("{:.2f} to {:.2f}", *least / 1e6, *most / 1e6), median(s.gains),
               s.megabytes);
  }
  if (!same) fmt::print("the traces differ\n");
  std::fflush(stdout);
  return same && median(series[1].gains) >= required_gain;
}

/// Prints a row; whether the size is as fast as it must be.
bool measure(const Size& size, int rounds) {
  std::vector<double> rates, cpu;
  Figures f;
  for (int i = 0; i < rounds; ++i) {
    f = run_apart(size);
    rates.push_back(f.hops_per_s);
    cpu.push_back(f.cpu_ns_per_hop);
  }
  const double rate = median(rates);
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  fmt::print("{:<16}{:>7}{:>16.2f}{:>9.0f}%{:>12.0f}{:>12.2f}{:>9.1f}{:>16.0f}  {:016x}\n",
             size.topology, size.levels, rate / 1e6, (*most - *least) / rate * 100, median(cpu),
             f.events_per_hop, f.megabytes, f.bytes_per_node, f.trace_hash);
  std::fflush(stdout);
  return rate >= size.required_hops_per_s && f.megabytes < size.most_megabytes;
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
  std::vector<Size> sizes = {
      {"fat-tree:64", 1, 4000},
      {"fat-tree:64", 16, 4000},
      {"fat-tree:1024", 1, 400, 5e6, 100},
      {"fat-tree:1024", 2, 400, 0, 100},
      {"fat-tree:1024", 16, 400, 3e6, 100},
      {"fat-tree:16384", 1, 30, 2e6},
      {"fat-tree:16384", 16, 30},
  };
  const bool one = argc > 4;
  if (one) {
    const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
    sizes = {{argv[2], number(3), static_cast<std::int64_t>(number(4))}};
    if (argc > 5) sizes[0].parts = static_cast<std::uint32_t>(number(5));
  }
  if (one && sizes[0].parts > 1) return compare_parts(sizes[0], rounds, 0) ? 0 : 1;
  bool good = true;
  fmt::print("{:<16}{:>7}{:>16}{:>10}{:>12}{:>12}{:>9}{:>16}  {}\n", "network", "levels",
             "M packet-hops/s", "spread", "CPU ns/hop", "events/hop", "MB", "bytes per node",
             "trace");
  for (const Size& size : sizes) good = measure(size, rounds) && good;
  if (one) return good ? 0 : 1;
  if (std::thread::hardware_concurrency() >= 2) {
    good = compare_parts({.topology = "fat-tree:1024", .levels = 1, .duration_us = 400, .parts = 2},
                         rounds, 1.5) &&
           good;
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
