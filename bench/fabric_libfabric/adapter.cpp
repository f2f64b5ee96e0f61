// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/check.hpp"
#include "contestants.hpp"
#include "fabric/libfabric/libfabric.hpp"

namespace weft::bench {
namespace {

constexpr std::uint32_t kActive = 1;

class Adapter final : public Contestant {
 public:
  Adapter(const std::string& provider, bool active, const Exchange& exchange)
      : memory_(kMemory, std::byte{1}), peer_(active ? 0 : kActive) {
    LibfabricOptions options;
    options.provider = provider;
    if (provider != "shm") options.bind_address = "127.0.0.1";
    options.self = NodeId(active ? kActive : 0);
    options.job_secret = "benchmark";
    options.spin = true;
    options.farewell = false;  // the process that ends first must not end the other's last wait
    auto fabric = open_libfabric(options);
    WEFT_CHECK(fabric.ok(), "{}", fabric.error().message);
    fabric_ = std::move(*fabric);
    const auto region = fabric_->expose(memory_);
    WEFT_CHECK(region.ok(), "{}", region.error().message);
    const std::string peer = exchange(
        fmt::format("{} {} {}", fabric_->address(), region->remote.base, region->remote.key));
    const std::size_t blank = peer.find(' ');
    std::size_t end = 0;
    target_.base = std::stoull(peer.substr(blank + 1), &end);
    target_.key = std::stoull(peer.substr(blank + 1 + end));
    target_.length = kMemory;
    WEFT_CHECK(fabric_->add_peer(peer_, Incarnation(0), peer.substr(0, blank)).ok());
    while (!up_) turn();
    settle();
  }

  void push(std::size_t count, std::size_t size) override {
    std::size_t posted = 0;
    written_ = 0;
    while (written_ < count) {
      while (posted < count && posted - written_ < kInFlight && write(posted, size)) ++posted;
      turn();
    }
    send();
    await_message();
  }

 private:
  void turn() {
    std::array<Completion, 16> completions;
    const std::size_t n = fabric_->poll(clock_now(), completions);
    for (std::size_t i = 0; i < n; ++i) {
      switch (completions[i].kind) {
        case CompletionKind::received:
          ++messages_;
          break;
        case CompletionKind::written:
          ++written_;
          break;
        case CompletionKind::peer_up:
          up_ = true;
          break;
        case CompletionKind::sent:
          break;
        case CompletionKind::failed:
        case CompletionKind::peer_down:
          WEFT_CHECK(false, "the peer went down");
          break;
      }
    }
  }
  void settle() override {
    for (int i = 0; i < kSettle; ++i) turn();
  }
  void await_message() override {
    while (messages_ == 0) turn();
    --messages_;
  }
  void send() override {
    TxOp op;
    op.peer = peer_;
    op.segments[0] = std::span<const std::byte>(memory_).first(8);
    while (fabric_->post({&op, 1}) == 0) turn();
  }
  bool write(std::size_t number, std::size_t size) {
    const std::size_t at = number * size % (kMemory - size + 1);
    TxOp op;
    op.kind = OpKind::write;
    op.peer = peer_;
    op.segments[0] = std::span<const std::byte>(memory_).subspan(at, size);
    op.region = target_;
    op.region_offset = at;
    return fabric_->post({&op, 1}) == 1;
  }

  std::vector<std::byte> memory_;
  NodeId peer_;
  std::unique_ptr<Fabric> fabric_;
  RemoteRegion target_;
  bool up_ = false;
  std::size_t messages_ = 0;
  std::size_t written_ = 0;
};

}  // namespace

std::unique_ptr<Contestant> make_adapter(const std::string& provider, bool active,
                                         const Exchange& exchange) {
  return std::make_unique<Adapter>(provider, active, exchange);
}

}  // namespace weft::bench
