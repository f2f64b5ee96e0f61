// SPDX-License-Identifier: Apache-2.0
// One rank of a test of the exchange, which starts it with mpirun and names the test.
#include "sim/mpi/test_ranks.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/mpi/mpi_exchange.hpp"

int main(int argc, char** argv) {
  using namespace weft::sim;
  if (argc != 2) return 2;
  const auto calls = MpiExchange::load();
  if (!calls) {
    fmt::print(stderr, "{}\n", calls.error().message);
    return 3;
  }
  // Small messages, so that batches are divided.
  auto exchange = MpiExchange::start(**calls, 1000);
  if (!exchange) return 4;
  const std::string_view what(argv[1]);
  if (what == "leave") {
    if ((*exchange)->rank() == 1) return 0;  // unfinished: the others must not wait for ever
    (*exchange)->turn({}, {}, {}, 0);
  }
  const std::string said = run_rank(what, **exchange);
  if ((*exchange)->rank() == 0) fmt::print("{}\n", said);
  (*exchange)->finish();
  return 0;
}
