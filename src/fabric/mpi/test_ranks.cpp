// SPDX-License-Identifier: Apache-2.0
// One rank, which the tests of the fabric over MPI start with mpirun. Rank 0 prints "ok" when all
// is as promised (include/weft/fabric.hpp); a rank that finds an error prints it, and ends all.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include "base/crc32c.hpp"
#include "base/rng.hpp"
#include "fabric/mpi/mpi.hpp"

namespace weft {
namespace {

#define REQUIRE(condition)                                                                    \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      fmt::print(stderr, "rank {}: {}:{}: not {}\n", rank(), __func__, __LINE__, #condition); \
      std::_Exit(1);                                                                          \
    }                                                                                         \
  } while (false)

using Bytes = std::vector<std::byte>;

constexpr std::size_t area = 40 << 20;  // of each pair; more than two parts of a write
constexpr std::uint64_t writes_per_pair = 40;
constexpr std::size_t alive_for = 120;  // seconds; only a failing test lasts so long

struct Announcement {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  std::uint32_t is_acknowledgement = 0;
};

Bytes random_bytes(Rng& rng, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

class Rank {
 public:
  explicit Rank(std::unique_ptr<MpiFabric> fabric)
      : fabric_(std::move(fabric)), peers_(fabric_->size()), rng_(fabric_->self().value() + 1) {
    for (std::uint32_t i = 0; i < fabric_->size(); ++i) {
      if (i == rank()) continue;
      REQUIRE(!fabric_->is_silent(NodeId(i)));
      REQUIRE(fabric_->add_peer(NodeId(i), Incarnation(1), mpi_address(NodeId(i))));
      REQUIRE(fabric_->is_silent(NodeId(i)));  // it was not heard yet
    }
    REQUIRE(!fabric_->add_peer(NodeId(rank()), Incarnation(1), mpi_address(NodeId(rank()))).ok());
    REQUIRE(!fabric_->add_peer(NodeId(77), Incarnation(1), "mpi:77").ok());
    drive([&] { return count_up() + 1 == peers_.size(); });
    for (std::uint32_t i = 0; i < fabric_->size(); ++i) REQUIRE(!fabric_->is_silent(NodeId(i)));
  }

  std::uint32_t rank() const { return fabric_->self().value(); }

  void exchange_regions() {
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (i == rank()) continue;
      peers_[i].memory.resize(area);
      auto region = fabric_->expose(peers_[i].memory);
      REQUIRE(region.ok());
      peers_[i].own = *region;
      send(i, std::as_bytes(std::span(&region->remote, 1)));
    }
    drive([&] { return count(&Peer::has_region) + 1 == peers_.size(); });
  }

  /// Writes of all sizes, each followed by a message that names the bytes that must be in place.
  void exchange_writes() {
    for (std::uint64_t n = 0; n < writes_per_pair; ++n) {
      for (std::uint32_t i = 0; i < peers_.size(); ++i) {
        if (i != rank()) write(i, n);
      }
    }
    drive([&] {
      for (std::uint32_t i = 0; i < peers_.size(); ++i) {
        if (i != rank() &&
            (peers_[i].seen != writes_per_pair || peers_[i].acknowledged != writes_per_pair)) {
          return false;
        }
      }
      return pending_ == 0;
    });
  }

  /// A rank that writes where it must not is down for its victim, and then up again.
  void be_refused() {
    if (peers_.size() < 2) return;
    const std::uint32_t other = rank() ^ 1u;
    if (other >= peers_.size()) return;
    if ((rank() & 1) == 0) {
      RemoteRegion forged = peers_[other].region;
      forged.length = std::size_t{1} << 40;
      const Bytes data = random_bytes(rng_, 40 << 20);
      post({.kind = OpKind::write,
            .peer = NodeId(other),
            .segments = {std::span(data).first(1000), std::span(data).subspan(1000)},
            .region = forged,
            .region_offset = area - 100});
      drive([&] { return peers_[other].downs == 1 && pending_ == 0; });
    }
    drive([&] { return peers_[other].downs == 1 && peers_[other].is_up; });
  }

  void say_goodbye() {
    const Bytes last(100);
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (i != rank()) send(i, last);
    }
    drive([&] { return count(&Peer::said_goodbye) + 1 == peers_.size() && pending_ == 0; });
  }

 private:
  struct Peer {
    bool is_up = false;
    bool has_region = false;
    bool said_goodbye = false;
    std::size_t downs = 0;
    std::uint64_t seen = 0;
    std::uint64_t acknowledged = 0;
    Bytes memory;
    Region own;
    RemoteRegion region;
  };

  std::size_t count(bool Peer::*what) const {
    std::size_t n = 0;
    for (const Peer& peer : peers_) n += peer.*what ? 1 : 0;
    return n;
  }
  std::size_t count_up() const { return count(&Peer::is_up); }

  void write(std::uint32_t to, std::uint64_t n) {
    const std::size_t most = n % 10 == 9 ? area : n % 3 == 0 ? 200'000 : 500;
    const std::size_t size = rng_.below(most + 1), offset = rng_.below(area - size + 1);
    // One write at a time in a region: its bytes must stay until the receiver has checked them.
    drive([&] { return peers_[to].acknowledged == n; });
    kept_.push_back(random_bytes(rng_, size));
    const Bytes& data = kept_.back();
    const std::size_t cut = rng_.below(size + 1);
    post({.kind = OpKind::write,
          .peer = NodeId(to),
          .segments = {std::span(data).first(cut), std::span(data).subspan(cut)},
          .region = peers_[to].region,
          .region_offset = offset});
    const Announcement announcement{n, offset, size, crc32c(data), 0};
    send(to, std::as_bytes(std::span(&announcement, 1)));
    if (kept_.size() > 8) {
      drive([&] { return pending_ == 0; });
      kept_.clear();
    }
  }

  void send(std::uint32_t to, std::span<const std::byte> bytes) {
    const std::size_t cut = rng_.below(bytes.size() + 1);
    post({.kind = OpKind::send,
          .peer = NodeId(to),
          .segments = {bytes.first(cut), bytes.subspan(cut)}});
  }
  void post(const TxOp& op) {
    TxOp own = op;
    own.context = ++last_context_;
    contexts_.insert(own.context);
    ++pending_;
    while (fabric_->post({&own, 1}) == 0) turn();
  }

  void receive(std::uint32_t from, std::span<const std::byte> data) {
    Peer& peer = peers_[from];
    REQUIRE(peer.is_up);
    if (!peer.has_region) {
      REQUIRE(data.size() == sizeof peer.region);
      std::memcpy(&peer.region, data.data(), data.size());
      peer.has_region = true;
      return;
    }
    if (data.size() == 100) {
      peer.said_goodbye = true;
      return;
    }
    Announcement announcement;
    REQUIRE(data.size() == sizeof announcement);
    std::memcpy(&announcement, data.data(), data.size());
    if (announcement.is_acknowledgement != 0) {
      REQUIRE(announcement.number == peer.acknowledged);
      ++peer.acknowledged;
      return;
    }
    REQUIRE(announcement.number == peer.seen);
    ++peer.seen;
    const auto there = std::span(peer.memory).subspan(announcement.offset, announcement.size);
    REQUIRE(crc32c(there) == announcement.checksum);
    announcement.is_acknowledgement = 1;
    answers_.emplace_back(from, announcement);
  }

  void turn() {
    static const auto begun = std::chrono::steady_clock::now();
    const auto passed = std::chrono::steady_clock::now() - begun;
    const Instant now(std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
    REQUIRE(passed < std::chrono::seconds(alive_for));
    const std::size_t n = fabric_->poll(now, std::span(completions_).first(1 + rng_.below(16)));
    for (std::size_t i = 0; i < n; ++i) take(completions_[i]);
    if (n == 0) (void)fabric_->prepare_wait(now);
  }
  void take(const Completion& completion) {
    Peer& peer = peers_[completion.peer.value()];
    if (completion.kind == CompletionKind::received) {
      receive(completion.peer.value(), completion.data);
    } else if (completion.kind == CompletionKind::peer_up) {
      REQUIRE(!peer.is_up && completion.incarnation == Incarnation(1));
      peer.is_up = true;
    } else if (completion.kind == CompletionKind::peer_down) {
      REQUIRE(peer.is_up);
      peer.is_up = false;
      ++peer.downs;
    } else {
      REQUIRE(contexts_.erase(completion.context) == 1);
      --pending_;
    }
  }
  template <class Done>
  void drive(Done&& done) {
    while (!done()) {
      turn();
      while (!answers_.empty()) {
        const auto [to, answer] = answers_.front();
        answers_.pop_front();
        send(to, std::as_bytes(std::span(&answer, 1)));
      }
    }
  }

  std::unique_ptr<MpiFabric> fabric_;
  std::vector<Peer> peers_;
  Rng rng_;
  std::uint64_t last_context_ = 0;
  std::size_t pending_ = 0;
  std::set<std::uint64_t> contexts_;
  std::deque<Bytes> kept_;
  std::deque<std::pair<std::uint32_t, Announcement>> answers_;
  std::array<Completion, 16> completions_;
};

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  using namespace weft;
  auto fabric = open_mpi("mpi");
  if (!fabric) {
    fmt::print(stderr, "{}\n", fabric.error().message);
    return 3;
  }
  // Unfinished: MPI ends all others.
  if (argc > 1 && std::string_view(argv[1]) == "die" && (*fabric)->self() == NodeId(0))
    std::_Exit(1);
  Rank rank(std::move(*fabric));
  rank.exchange_regions();
  rank.exchange_writes();
  rank.be_refused();
  rank.say_goodbye();
  if (rank.rank() == 0) fmt::print("ok\n");
  return 0;
}
