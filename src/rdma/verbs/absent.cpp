// SPDX-License-Identifier: Apache-2.0
// In place of the rest, where libibverbs was not there when weft was built.
#include "rdma/verbs/bench.hpp"

namespace weft::rdma {
namespace {

Error absent() {
  return {ErrorCode::io,
          "this weft was built without verbs: install libibverbs-dev and build it again"};
}

}  // namespace

Result<BenchOutcome> run_bench(const BenchOptions&, const HostPort&, const StopCheck&) {
  return absent();
}
Result<void> measure_timeouts(const BenchOptions&, const HostPort&,
                              const std::vector<std::uint8_t>&, const StopCheck&,
                              const std::function<void(const TimeoutPoint&)>&) {
  return absent();
}
Result<void> serve_bench(const ServeOptions&, const StopCheck&, const ServerNews&) {
  return absent();
}

}  // namespace weft::rdma
