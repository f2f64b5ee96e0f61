// SPDX-License-Identifier: Apache-2.0
#include "contestants.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft::bench {

namespace {

constexpr std::size_t kWindow = 8;  // writes outstanding

std::span<std::byte> slice(Memory& memory, std::size_t index, std::size_t size) {
  const std::size_t slots = memory.size() / size;
  return std::span(memory).subspan(index % slots * size, size);
}

class Plain final : public Contestant {
 public:
  Plain(Descriptor socket, Memory& memory) : socket_(std::move(socket)), memory_(memory) {}

  void push(std::size_t count, std::size_t size, Waiting waiting) override {
    for (std::size_t i = 0; i < count; ++i) send_all(slice(memory_, i, size), waiting);
    std::array<std::byte, 1> done;
    receive_all(done, waiting);
  }
  void absorb(std::size_t count, std::size_t size, Waiting waiting) override {
    for (std::size_t i = 0; i < count; ++i) receive_all(slice(memory_, i, size), waiting);
    send_all(std::array<std::byte, 1>{}, waiting);
  }
  void ping(std::size_t count, Waiting waiting) override {
    std::array<std::byte, 8> ball{};
    for (std::size_t i = 0; i < count; ++i) {
      send_all(ball, waiting);
      receive_all(ball, waiting);
    }
  }
  void pong(std::size_t count, Waiting waiting) override {
    std::array<std::byte, 8> ball{};
    for (std::size_t i = 0; i < count; ++i) {
      receive_all(ball, waiting);
      send_all(ball, waiting);
    }
  }

 private:
  static int flags(Waiting waiting) { return waiting == Waiting::blocking ? 0 : MSG_DONTWAIT; }
  // After a call that could not do anything.
  void wait_for(short event, Waiting waiting) const {
    WEFT_CHECK(errno == EAGAIN, "{}", std::strerror(errno));
    if (waiting == Waiting::spinning) return;
    pollfd descriptor{socket_.get(), event, 0};
    ::poll(&descriptor, 1, 1000);
  }
  void send_all(std::span<const std::byte> data, Waiting waiting) {
    while (!data.empty()) {
      const ssize_t n =
          ::send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL | flags(waiting));
      if (n < 0) {
        wait_for(POLLOUT, waiting);
      } else {
        data = data.subspan(static_cast<std::size_t>(n));
      }
    }
  }
  void receive_all(std::span<std::byte> data, Waiting waiting) {
    while (!data.empty()) {
      const ssize_t n = ::recv(socket_.get(), data.data(), data.size(), flags(waiting));
      WEFT_CHECK(n != 0, "the other process is gone");
      if (n < 0) {
        wait_for(POLLIN, waiting);
      } else {
        data = data.subspan(static_cast<std::size_t>(n));
      }
    }
  }

  Descriptor socket_;
  Memory& memory_;
};

class OverFabric final : public Contestant {
 public:
  OverFabric(std::unique_ptr<Fabric> fabric, NodeId peer, const Channel& channel, Memory& memory)
      : fabric_(std::move(fabric)), peer_(peer), memory_(memory) {
    channel.say(fabric_->address());
    const auto added = fabric_->add_peer(peer, Incarnation(1), channel.hear());
    WEFT_CHECK(added.ok(), "{}", added.error().message);
    while (!is_up_) turn(Waiting::sleeping);
    const auto region = fabric_->expose(memory);
    const RemoteRegion mine = region->remote;
    TxOp op = message(std::as_bytes(std::span(&mine, 1)));
    post(op);
    while (received_ == 0) turn(Waiting::sleeping);
    received_ = 0;
  }

  void push(std::size_t count, std::size_t size, Waiting waiting) override {
    for (std::size_t i = 0; i < count; ++i) {
      while (outstanding_ >= kWindow) turn(waiting);
      TxOp op = message(slice(memory_, i, size));
      op.kind = OpKind::write;
      op.region = theirs_;
      op.region_offset = i % (memory_.size() / size) * size;
      post(op);
    }
    say();
    await(1, waiting);
  }
  void absorb(std::size_t, std::size_t, Waiting waiting) override {
    await(1, waiting);
    say();
    while (outstanding_ > 0) turn(waiting);
  }
  void ping(std::size_t count, Waiting waiting) override {
    for (std::size_t i = 0; i < count; ++i) {
      say();
      await(1, waiting);
    }
  }
  void pong(std::size_t count, Waiting waiting) override {
    for (std::size_t i = 0; i < count; ++i) {
      await(1, waiting);
      say();
    }
    while (outstanding_ > 0) turn(waiting);
  }

 private:
  TxOp message(std::span<const std::byte> data) const {
    TxOp op;
    op.peer = peer_;
    op.segments[0] = data;
    return op;
  }
  void post(const TxOp& op) {
    ++outstanding_;
    WEFT_CHECK(fabric_->post({&op, 1}) == 1, "refused");
  }
  void say() { post(message(ball_)); }
  void await(std::size_t count, Waiting waiting) {
    while (received_ < count) turn(waiting);
    received_ -= count;
  }
  // One turn of a driver loop.
  void turn(Waiting waiting) {
    const std::size_t n = fabric_->poll(clock_now(), completions_);
    for (std::size_t i = 0; i < n; ++i) take(completions_[i]);
    if (n > 0 || waiting == Waiting::spinning) return;
    const WaitHint hint = fabric_->prepare_wait(clock_now());
    if (hint.ready) return;
    pollfd descriptor{hint.descriptor, POLLIN, 0};
    ::poll(&descriptor, 1, 1000);
  }
  void take(const Completion& completion) {
    switch (completion.kind) {
      case CompletionKind::received:
        ++received_;
        if (completion.data.size() == sizeof theirs_ && theirs_.key == 0) {
          std::memcpy(&theirs_, completion.data.data(), sizeof theirs_);
        }
        break;
      case CompletionKind::peer_up:
        is_up_ = true;
        break;
      case CompletionKind::peer_down:
        WEFT_CHECK(false, "the other process is gone");
        break;
      default:
        --outstanding_;
    }
  }

  std::unique_ptr<Fabric> fabric_;
  NodeId peer_;
  Memory& memory_;
  std::array<std::byte, 8> ball_{};
  std::array<Completion, 16> completions_;
  RemoteRegion theirs_;
  bool is_up_ = false;
  std::size_t received_ = 0;
  std::size_t outstanding_ = 0;
};

}  // namespace

std::unique_ptr<Contestant> make_plain(bool active, const std::string& listen,
                                       const Channel& channel, Memory& memory) {
  auto address = tcp::parse_address(listen);
  WEFT_CHECK(address.ok(), "{}", address.error().message);
  Descriptor socket;
  if (active) {
    address = tcp::parse_address(channel.hear());
    WEFT_CHECK(tcp::start_connect(*address, {}, socket) != tcp::ConnectState::refused);
    pollfd descriptor{socket.get(), POLLOUT, 0};
    ::poll(&descriptor, 1, 10'000);
  } else {
    const auto listener = tcp::listen_on(*address, {});
    WEFT_CHECK(listener.ok(), "{}", listener.error().message);
    channel.say(tcp::to_text(*address));
    pollfd descriptor{listener->get(), POLLIN, 0};
    ::poll(&descriptor, 1, 10'000);
    int error = 0;
    socket = tcp::accept_from(listener->get(), {}, error);
  }
  WEFT_CHECK(socket.open());
  ::fcntl(socket.get(), F_SETFL, 0);  // MSG_DONTWAIT says when not to block
  return std::make_unique<Plain>(std::move(socket), memory);
}

std::unique_ptr<Contestant> make_fabric(bool active, const std::string& listen,
                                        const Channel& channel, Memory& memory) {
  TcpOptions options;
  options.self = NodeId(active ? 0 : 1);
  options.incarnation = Incarnation(1);
  options.listen = listen;
  options.secret.resize(32);
  auto fabric = open_tcp(options);
  WEFT_CHECK(fabric.ok(), "{}", fabric.error().message);
  return std::make_unique<OverFabric>(std::move(*fabric), NodeId(active ? 1 : 0), channel, memory);
}

}  // namespace weft::bench
