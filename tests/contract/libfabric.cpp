// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/libfabric.hpp"

#include "fabric_contract.hpp"
#include "forked_fabric.hpp"

// Provider net leaks memory of each connection (1.17). Leaks of the adapter's own are looked for by
// its unit tests, which have no such exception.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfabric.so";
}

namespace weft::contract {
namespace {

class LibfabricFactory : public FabricFactory {
 public:
  LibfabricFactory(const char* provider, bool emulate_writes) {
    options_.provider = provider;
    if (options_.provider != "shm") options_.bind_address = "127.0.0.1";
    options_.emulate_writes = emulate_writes;
    // Large enough for ofi_rxm to fetch long messages: they complete after short ones that follow.
    if (emulate_writes) options_.max_message = 64 * 1024;
    options_.job_secret = "the secret of this test";
    options_.max_outstanding = 256;
    options_.receive_buffers = 64;
    options_.heartbeat_interval = Duration::milliseconds(200);
    // As SIGKILL: nobody is told.
    options_.farewell = false;
  }

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    options_.self = self;
    options_.incarnation = incarnation;
    return open_libfabric(options_);
  }

 protected:
  LibfabricOptions options_;
};

// Each endpoint in a process of its own, which shm insists on.
class ForkedLibfabricFactory final : public LibfabricFactory {
 public:
  using LibfabricFactory::LibfabricFactory;

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    return ForkedFabric::open([&] { return LibfabricFactory::open(self, incarnation); });
  }
  void kill(std::unique_ptr<Fabric> endpoint) override {
    static_cast<ForkedFabric&>(*endpoint).kill();
  }
};

INSTANTIATE_TEST_SUITE_P(
    libfabric, FabricContract,
    ::testing::Values(implementation<LibfabricFactory>("tcp", "tcp", false),
                      implementation<LibfabricFactory>("tcp_emulated_writes", "tcp", true),
                      implementation<ForkedLibfabricFactory>("tcp_processes", "tcp", false),
                      implementation<ForkedLibfabricFactory>("shm", "shm", false),
                      implementation<LibfabricFactory>("sockets", "sockets", false)),
    implementation_name);

}  // namespace
}  // namespace weft::contract
