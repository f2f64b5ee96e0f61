// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/libfabric.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "cluster.hpp"
#include "fabric/libfabric/fabric.hpp"
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
    // Tests of several runs at a time must not meet in /dev/shm.
    options_.job_secret = fmt::format("test {}", ::getpid());
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

// A provider that grants as little as the adapter can live with.
class WeakLibfabricFactory final : public LibfabricFactory {
 public:
  using LibfabricFactory::LibfabricFactory;

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    options_.self = self;
    options_.incarnation = incarnation;
    return ofi::LibfabricFabric::open(
        options_, {.one_segment = true, .unordered = true, .local_registration = true});
  }
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
                      implementation<WeakLibfabricFactory>("tcp_weak", "tcp", false),
                      implementation<ForkedLibfabricFactory>("tcp_processes", "tcp", false),
                      implementation<ForkedLibfabricFactory>("shm", "shm", false),
                      implementation<LibfabricFactory>("sockets", "sockets", false)),
    implementation_name);

// Stopped processes, seen by a peer whose clock is the test's.
class StoppedPeer : public ::testing::TestWithParam<const char*> {
 protected:
  // Polls node 0 alone for `span` of its own time. No real time needs to pass.
  static void poll_alone(Cluster& cluster, Instant& clock, Duration span) {
    const Instant end = clock + span;
    while (clock < end) {
      clock = clock + Duration::milliseconds(50);
      cluster[0].step(clock);
    }
  }
  static bool down(Cluster& cluster) {
    return cluster[0].events.back().kind == CompletionKind::peer_down;
  }
};

TEST_P(StoppedPeer, is_not_down_before_the_timeout_and_goes_on) {
  ForkedLibfabricFactory factory(GetParam(), false);
  Cluster cluster(factory, 2);
  Bytes memory(1 << 20);
  const auto region = cluster[1].fabric().expose(memory);
  ASSERT_TRUE(region.ok());
  auto& peer = static_cast<ForkedFabric&>(cluster[1].fabric());
  peer.signal(SIGSTOP);
  const Bytes data = pattern(1 << 20, 5);
  cluster[0].write(NodeId(1), region->remote, 0, data);
  cluster[0].send(NodeId(1), bytes_of("after the stop"));
  Instant clock = Cluster::now();
  poll_alone(cluster, clock, Duration::seconds(8));
  EXPECT_FALSE(down(cluster));
  peer.signal(SIGCONT);
  ASSERT_TRUE(cluster.drive([&] { return !cluster[1].messages.empty(); }));
  EXPECT_EQ(memory, data);
  EXPECT_FALSE(down(cluster));
}

TEST_P(StoppedPeer, is_down_after_the_timeout_and_up_again_when_it_goes_on) {
  ForkedLibfabricFactory factory(GetParam(), false);
  Cluster cluster(factory, 2);
  Bytes memory(1 << 20);
  const auto region = cluster[1].fabric().expose(memory);
  ASSERT_TRUE(region.ok());
  auto& peer = static_cast<ForkedFabric&>(cluster[1].fabric());
  peer.signal(SIGSTOP);
  for (std::uint64_t i = 0; i < 40; ++i) {
    cluster[0].write(NodeId(1), region->remote, 0, pattern(1 << 20, i));
  }
  Instant clock = Cluster::now();
  poll_alone(cluster, clock, Duration::seconds(12));
  EXPECT_TRUE(down(cluster));
  EXPECT_EQ(cluster[0].outstanding(), 0u);
  peer.signal(SIGCONT);
  // Both sides consider messages under way lost and begin anew.
  ASSERT_TRUE(cluster.drive([&] {
    return cluster[0].is_up(NodeId(1)) && cluster[1].is_up(NodeId(0)) &&
           cluster[1].events.size() >= 3;
  }));
  cluster[0].send(NodeId(1), bytes_of("anew"));
  ASSERT_TRUE(cluster.drive([&] { return !cluster[1].messages.empty(); }));
  EXPECT_EQ(cluster[1].messages.back().data, bytes_of("anew"));
}

INSTANTIATE_TEST_SUITE_P(libfabric, StoppedPeer, ::testing::Values("tcp", "shm"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::contract
