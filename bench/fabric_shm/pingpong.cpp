// SPDX-License-Identifier: Apache-2.0
// Question: how far are the shared-memory and the TCP fabric, without weft's messages, from Open
// MPI and MPICH? Prints, per size, "BYTES LATENCY_US BANDWIDTH_GBS" as ../message/pingpong.cpp
// does, for
// ../message/run.py. Up to max_message weft sends messages, which the receiver copies out; beyond,
// it writes into memory that was exposed before, where an MPI also finds out where to put it.
//
//   bench_fabric_shm FABRIC SIZE…     shm, shm-pull (writes from 16 KiB on are fetched from the
//                                     sender's memory), tcp (127.0.0.1) or unix
//
// Forks the second process; each is bound to a core of its own. Aborts when anything fails.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "fabric/shm/shm.hpp"
#include "fabric/tcp/tcp.hpp"
#include "measuring.hpp"
#include "weft/fabric.hpp"

namespace weft::bench {
namespace {

struct Sample {
  std::size_t size = 0;
  double latency_us = 0;     ///< half a round trip
  double bandwidth_gbs = 0;  ///< windows of 16
};

constexpr std::size_t kWindow = 16;
constexpr std::string_view kSecret = "a secret of this benchmark alone";

template <class Options>
Options common(NodeId self) {
  Options options;
  options.self = self;
  options.incarnation = Incarnation(1);
  const auto secret = std::as_bytes(std::span(kSecret));
  options.secret.assign(secret.begin(), secret.end());
  return options;
}

std::unique_ptr<Fabric> open(const std::string& name, NodeId self) {
  if (name.starts_with("shm")) {
    auto options = common<ShmOptions>(self);
    if (name == "shm-pull") options.pull_from = 16 * 1024;
    auto opened = open_shm(options);
    WEFT_CHECK(opened.ok(), "{}", opened.error().message);
    return std::move(*opened);
  }
  auto options = common<TcpOptions>(self);
  options.listen = name == "unix" ? "unix:@" : "127.0.0.1:0";
  auto opened = open_tcp(options);
  WEFT_CHECK(opened.ok(), "{}", opened.error().message);
  return std::move(*opened);
}

// One of the two processes.
class Party {
 public:
  Party(const std::string& fabric, NodeId self, std::size_t largest, const Channel& channel)
      : self_(self),
        peer_(1 - self.value()),
        fabric_(open(fabric, self)),
        sent_(largest, std::byte{1}),
        received_into_(largest, std::byte{2}) {
    channel.say(fabric_->address());
    const auto added = fabric_->add_peer(peer_, Incarnation(1), channel.hear());
    WEFT_CHECK(added.ok(), "{}", added.error().message);
    while (!is_up_) turn();
    const auto region = fabric_->expose(received_into_);
    WEFT_CHECK(region.ok());
    const RemoteRegion mine = region->remote;
    post(OpKind::send, std::as_bytes(std::span(&mine, 1)));
    await_message();
  }

  Sample measure(std::size_t size) {
    Sample sample{size, 0, 0};
    const std::size_t rounds = std::clamp<std::size_t>(400'000'000 / (size + 20'000), 4, 20'000);
    sample.latency_us = timed(rounds, [&] { round(size); }) / 2 * 1e6;
    const std::size_t windows =
        std::clamp<std::size_t>(400'000'000 / ((size + 2000) * kWindow), 2, 400);
    const double seconds = timed(windows, [&] { window(size); });
    sample.bandwidth_gbs = static_cast<double>(kWindow * size) / seconds / 1e9;
    return sample;
  }

 private:
  template <class Work>
  double timed(std::size_t count, const Work& work) {
    for (std::size_t i = 0; i < count / 10 + 1; ++i) work();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) work();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    return all.count() / static_cast<double>(count);
  }
  void round(std::size_t size) {
    if (self_ == NodeId(0)) transfer(size);
    await_message();
    if (self_ == NodeId(1)) transfer(size);
  }
  void window(std::size_t size) {
    if (self_ == NodeId(1)) {
      // Messages all count; writes are announced by one message behind them.
      const bool are_messages = size <= fabric_->limits().max_message;
      for (std::size_t k = 0; k < (are_messages ? kWindow : 1); ++k) await_message();
      post(OpKind::send, {});
      return;
    }
    const bool are_messages = size <= fabric_->limits().max_message;
    for (std::size_t k = 0; k < kWindow; ++k) put(size);
    if (!are_messages) post(OpKind::send, {});
    await_message();
  }
  // As a message, or as a write and a message that says so.
  void transfer(std::size_t size) {
    put(size);
    if (size > fabric_->limits().max_message) post(OpKind::send, {});
  }
  void put(std::size_t size) {
    const bool is_message = size <= fabric_->limits().max_message;
    post(is_message ? OpKind::send : OpKind::write, std::span(sent_).first(size));
  }
  void post(OpKind kind, std::span<const std::byte> data) {
    TxOp op;
    op.kind = kind;
    op.peer = peer_;
    op.segments[0] = data;
    op.region = theirs_;
    while (fabric_->post({&op, 1}) == 0) turn();
    ++outstanding_;
  }
  void await_message() {
    while (messages_ == 0) turn();
    --messages_;
  }
  void turn() {
    // Reading the clock takes several times as long as polling shared memory: a spinning driver
    // does not do it each time. No fabric needs it to.
    if (++turns_ % kTurnsPerClock == 0) now_ = clock_now();
    const std::size_t n = fabric_->poll(now_, completions_);
    for (std::size_t i = 0; i < n; ++i) take(completions_[i]);
  }
  void take(const Completion& completion) {
    switch (completion.kind) {
      case CompletionKind::received:
        ++messages_;
        // The first says where to write to; more may have come with it.
        if (theirs_.length == 0) {
          std::memcpy(&theirs_, completion.data.data(), sizeof theirs_);
        }
        // The message is read, as a receiver would read it.
        last_.assign(completion.data.begin(),
                     completion.data.begin() +
                         static_cast<std::ptrdiff_t>(std::min(completion.data.size(), kLooked)));
        if (completion.data.size() > kLooked) {
          std::memcpy(received_into_.data(), completion.data.data(), completion.data.size());
        }
        break;
      case CompletionKind::peer_up:
        is_up_ = true;
        break;
      case CompletionKind::peer_down:
      case CompletionKind::failed:
        check_failed(__FILE__, __LINE__, "peer", "the other process is gone");
      case CompletionKind::sent:
      case CompletionKind::written:
        --outstanding_;
        break;
    }
  }

  static constexpr std::size_t kLooked = 64;
  static constexpr std::size_t kTurnsPerClock = 8;

  NodeId self_;
  NodeId peer_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<std::byte> sent_, received_into_;
  std::vector<std::byte> last_;
  RemoteRegion theirs_;
  std::array<Completion, 32> completions_;
  std::size_t messages_ = 0;
  std::size_t outstanding_ = 0;
  std::size_t turns_ = 0;
  Instant now_ = clock_now();
  bool is_up_ = false;
};

void pingpong(const std::string& fabric, const std::vector<std::size_t>& sizes) {
  std::array<int, 2> to_child{}, to_parent{};
  WEFT_CHECK(::pipe(to_child.data()) == 0 && ::pipe(to_parent.data()) == 0);
  const std::size_t largest = std::max<std::size_t>(64, std::ranges::max(sizes));
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(1);
    const Channel channel{to_child[0], to_parent[1]};
    Party party(fabric, NodeId(1), largest, channel);
    for (const std::size_t size : sizes) party.measure(size);
    channel.say("done");
    channel.hear();  // until the other has nothing more to say
    ::_exit(0);
  }
  pin(0);
  const Channel channel{to_parent[0], to_child[1]};
  {
    Party party(fabric, NodeId(0), largest, channel);
    for (const std::size_t size : sizes) {
      const Sample s = party.measure(size);
      fmt::print("{} {:.4f} {:.4f}\n", s.size, s.latency_us, s.bandwidth_gbs);
    }
    channel.hear();
  }
  channel.say("bye");
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    fmt::print(stderr, "bench_fabric_shm: name a fabric and sizes: bench_fabric_shm shm 8\n");
    return 2;
  }
  std::vector<std::size_t> sizes;
  for (std::size_t i = 1; i < words.size(); ++i) sizes.push_back(std::stoull(words[i]));
  weft::bench::pingpong(words[0], sizes);
}
