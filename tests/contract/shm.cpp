// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/shm.hpp"

#include <string_view>

#include "fabric_contract.hpp"
#include "forked_fabric.hpp"

namespace weft::contract {
namespace {

class ShmFactory : public FabricFactory {
 public:
  ShmFactory(std::size_t pull_from, std::size_t ring_size, std::size_t max_message,
             bool pull_when_faster = false) {
    options_.job_id = "contract";
    const auto secret =
        std::as_bytes(std::span(std::string_view("a secret of the contract suite")));
    options_.secret.assign(secret.begin(), secret.end());
    options_.pull_from = pull_from;
    options_.pull_when_faster = pull_when_faster;
    options_.ring_size = ring_size;
    options_.max_message = max_message;
    // Attempts of both sides cross as often as possible.
    options_.retry_first = Duration();
  }
  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    ShmOptions options = options_;
    options.self = self;
    options.incarnation = incarnation;
    auto opened = open_shm(options);
    if (!opened.ok()) return opened.error();
    return std::unique_ptr<Fabric>(std::move(*opened));
  }

 private:
  ShmOptions options_;
};

// Each endpoint in a process of its own, killed with SIGKILL.
class ForkedShmFactory final : public ShmFactory {
 public:
  using ShmFactory::ShmFactory;

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    return ForkedFabric::open([&] { return ShmFactory::open(self, incarnation); });
  }
  void kill(std::unique_ptr<Fabric> endpoint) override {
    static_cast<ForkedFabric&>(*endpoint).kill();
  }
};

constexpr std::size_t kKiB = 1024;

INSTANTIATE_TEST_SUITE_P(
    shm, FabricContract,
    ::testing::Values(
        implementation<ShmFactory>("pull", 4 * kKiB, 256 * kKiB, 64 * kKiB),
        implementation<ShmFactory>("copy", 0 * kKiB, 256 * kKiB, 64 * kKiB),
        implementation<ShmFactory>("small_ring", 0 * kKiB, 16 * kKiB, 4 * kKiB),
        implementation<ForkedShmFactory>("processes_pull", 4 * kKiB, 256 * kKiB, 64 * kKiB),
        implementation<ForkedShmFactory>("processes_either", 4 * kKiB, 256 * kKiB, 64 * kKiB, true),
        implementation<ForkedShmFactory>("processes_copy", 0 * kKiB, 256 * kKiB, 64 * kKiB)),
    implementation_name);

}  // namespace
}  // namespace weft::contract
