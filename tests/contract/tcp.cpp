// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/tcp.hpp"

#include <string_view>

#include "fabric_contract.hpp"

namespace weft::contract {
namespace {

class TcpFactory final : public FabricFactory {
 public:
  explicit TcpFactory(const char* listen, std::size_t max_connections)
      : listen_(listen), max_connections_(max_connections) {}
  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    TcpOptions options;
    options.self = self;
    options.incarnation = incarnation;
    options.listen = listen_;
    options.job_id = "contract";
    const auto secret =
        std::as_bytes(std::span(std::string_view("a secret of the contract suite")));
    options.secret.assign(secret.begin(), secret.end());
    options.max_connections = max_connections_;
    // Bounds how long the death of a peer without a connection stays unnoticed.
    options.peer_timeout = Duration::seconds(1);
    // Attempts of both sides cross as often as possible.
    options.retry_first = Duration();
    return open_tcp(options);
  }

 private:
  std::string listen_;
  std::size_t max_connections_;
};

// "evicting" has far fewer connections than peers: all of the contract holds all the same.
INSTANTIATE_TEST_SUITE_P(
    tcp, FabricContract,
    ::testing::Values(implementation<TcpFactory>("ipv4", "127.0.0.1:0", std::size_t{4096}),
                      implementation<TcpFactory>("ipv6", "[::1]:0", std::size_t{4096}),
                      implementation<TcpFactory>("unix_sockets", "unix:@", std::size_t{4096}),
                      implementation<TcpFactory>("evicting", "127.0.0.1:0", std::size_t{2}),
                      implementation<TcpFactory>("evicting_all", "unix:@", std::size_t{1})),
    implementation_name);

}  // namespace
}  // namespace weft::contract
