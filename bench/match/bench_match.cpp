// SPDX-License-Identifier: Apache-2.0
// Question: what does an exact match cost behind 0 to 32,768 unexpected messages of other tags, and
// behind as many posted receives? Limit: the same for any number, but for caches; at most 200 ns
// for a message that waits and is then received, 100 ns for one that a receive waits for. The
// competitor is a queue that is searched from the oldest entry on, as many MPIs have it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <list>

#include "core/match/matcher.hpp"
#include "measuring.hpp"

namespace {

using weft::bench::median_ns;
using weft::match::Envelope;
using weft::match::Matcher;

Envelope tagged(std::int32_t tag) {
  return {.context = 1, .source = 0, .tag = tag};
}

/// Arrives behind those that wait, and is received.
double unexpected_ns(std::int32_t waiting) {
  Matcher matcher;
  for (std::int32_t t = 1; t <= waiting; ++t) matcher.arrive(tagged(t), 0);
  return median_ns(31, 20'000, [&](int) {
    matcher.arrive(tagged(0), 1);
    matcher.post(tagged(0), 2);
  });
}

/// Is posted behind those that wait, and its message arrives.
double expected_ns(std::int32_t waiting) {
  Matcher matcher;
  for (std::int32_t t = 1; t <= waiting; ++t) matcher.post(tagged(t), 0);
  return median_ns(31, 20'000, [&](int) {
    matcher.post(tagged(0), 2);
    matcher.arrive(tagged(0), 1);
  });
}

double scanned_ns(std::int32_t waiting) {
  std::list<Envelope> messages;
  for (std::int32_t t = 1; t <= waiting; ++t) messages.push_back(tagged(t));
  return median_ns(31, 200, [&](int) {
    messages.push_back(tagged(0));
    messages.erase(std::find(messages.begin(), messages.end(), tagged(0)));
  });
}

}  // namespace

int main() {
  for (const std::int32_t waiting : {0, 32, 1'024, 32'768}) {
    std::printf("%6d wait: unexpected %.0f ns, expected %.0f ns; looked through %.0f ns\n", waiting,
                unexpected_ns(waiting), expected_ns(waiting), scanned_ns(waiting));
  }
}
