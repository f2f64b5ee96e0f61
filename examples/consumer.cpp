// SPDX-License-Identifier: Apache-2.0
// A consumer: a process of its own that reads timeslices in place, out of the memory of the compute
// nodes on this host. Start as many as you like: they share the work (policy one), and when one
// dies the others get its timeslices.
//
//   weft stream local --sink shm:demo --duration 60s &
//   example_consumer demo & example_consumer demo
#include <csignal>
#include <cstdio>

#include "weft/consumer.hpp"

namespace {
volatile std::sig_atomic_t stopped = 0;
}

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: %s NAME    as in weft stream … --sink shm:NAME\n", argv[0]);
    return 2;
  }
  std::signal(SIGINT, [](int) { stopped = 1; });

  weft::ConsumerOptions options;
  options.policy = weft::GroupPolicy::one;
  options.wait = weft::Duration::seconds(10);  // for the stream to start
  auto consumer = weft::Consumer::attach(argv[1], "example", options);
  if (!consumer) {
    std::fprintf(stderr, "%s\n", consumer.error().message.c_str());
    return 1;
  }
  std::uint64_t bytes = 0;
  while (!stopped && !consumer->ended()) {
    auto timeslice = consumer->next(weft::Duration::seconds(1));
    if (!timeslice) {
      std::fprintf(stderr, "%s\n", timeslice.error().message.c_str());
      return 1;
    }
    if (!*timeslice) continue;  // nothing came within a second
    const weft::TimesliceView& view = (*timeslice)->view();
    for (const weft::ComponentView& component : view.components) bytes += component.data.size();
  }  // the timeslice goes back here
  const weft::ConsumerCounts counts = consumer->counts();
  std::printf("%llu timeslices, %llu of them after another consumer, %llu bytes\n",
              static_cast<unsigned long long>(counts.timeslices),
              static_cast<unsigned long long>(counts.repeated),
              static_cast<unsigned long long>(bytes));
  return counts.lost > 0 ? 1 : 0;
}
