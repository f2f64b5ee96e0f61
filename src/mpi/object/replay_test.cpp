// SPDX-License-Identifier: Apache-2.0
// Programs full of wildcards, tests, probes, cancels and clocks, whose processes are killed at any
// moment: also between recording an outcome and sending a message that depends on it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "fabric/loopback/loopback.hpp"
#include "mpi/object/questions.hpp"
#include "process/simulated/fiber.hpp"

namespace weft::mpi {
namespace {

constexpr std::size_t ranks = 3;
constexpr int sends_per_rank = 12;
constexpr std::int32_t end_tag = 3;
constexpr std::size_t log_bytes = 64 << 10;

const Datatype content_type(Basic::bytes);

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return Rng(a * 31 + b).next();
}

/// Suspends its process wherever it waits, and now and then where it does not.
class FiberWaiter final : public Waiter {
 public:
  FiberWaiter(std::uint64_t seed, const Instant& now) : rng_(seed), now_(now) {}
  Instant now() override { return now_; }
  void busy(Instant) override {
    if (rng_.below(4) == 0) pause();
  }
  void idle(Instant, Fabric&, Instant) override { pause(); }
  void pause() {
    if (fiber != nullptr) fiber->suspend();
  }
  void maybe_pause() {
    if (rng_.below(3) == 0) pause();
  }
  Fiber* fiber = nullptr;

 private:
  Rng rng_;
  const Instant& now_;
};

/// The content of every message.
struct Content {
  std::uint64_t state = 0;  ///< of its sender's program: depends on all it met before
  std::uint64_t serial = 0;
};

/// One life of a process, and its program.
class Life {
 public:
  Life(LoopbackHub& hub, std::uint32_t self, std::uint32_t number, std::uint64_t seed,
       std::vector<std::uint64_t>& memory, std::vector<std::uint64_t>& sent, std::int64_t& counter,
       const Instant& now)
      : seed_(seed),
        sent_(sent),
        counter_(counter),
        waiter_(seed * 100 + self * 10 + number, now),
        now_(now),
        fabric_(std::move(hub.open(NodeId(self), Incarnation(number))).value()),
        messenger_(*fabric_, waiter_,
                   {.self = NodeId(self),
                    .nodes = ranks,
                    .incarnation = Incarnation(number),
                    .fabric = {},
                    .eager_limit = 256,
                    .retain = true,
                    .give_up_after = Duration::max()}),
        group_(world_group(ranks, NodeId(self))),
        transfer_(messenger_),
        questions_(transfer_),
        log_(std::as_writable_bytes(std::span(memory))),
        fiber_(ByteCount::kib(64), [this] { run(); }) {
    questions_.use(log_, {.rank = self});
    transfer_.open(group_);
    waiter_.fiber = &fiber_;
  }
  ~Life() { fiber_.unwind(); }

  Fabric& fabric() { return *fabric_; }
  void resume() { fiber_.resume(); }
  bool is_finished() const { return is_finished_; }
  std::string trouble() const {
    return transfer_.failure() ? transfer_.failure()->message : trouble_;
  }
  std::uint64_t received() const { return received_; }

 private:
  struct Receive {
    Request request;
    std::vector<std::byte> memory = std::vector<std::byte>(2048);
  };

  void run() {
    probes_ = seed_ % 2 == 0;
    if (!probes_) {
      for (Receive& receive : receives_) post(receive);
    }
    for (int i = 0; i < sends_per_rank && good(); ++i) {
      state_ = mixed(state_, questions_.tell_time((now_ - Instant{}).to_nanoseconds()));
      const std::int64_t ticket = questions_.once([this] { return counter_++; });
      state_ = mixed(state_, static_cast<std::uint64_t>(ticket));
      send(static_cast<std::uint32_t>(state_ >> 20) % ranks, 1 + state_ % 2);
      look(false);
    }
    for (std::uint32_t to = 0; to < ranks && good(); ++to) send(to, end_tag);
    while ((ends_ < ranks || received_ < expected_) && good()) look(state_ % 3 == 0);
    // All that was sent to this process has come.
    for (std::size_t i = 0; !probes_ && good() && i < receives_.size(); ++i) {
      questions_.cancel(receives_[i].request);
      if (!receives_[i].request.status.is_cancelled) trouble_ = "a receive took a message too many";
    }
    is_finished_ = good();
    for (;;) {
      transfer_.turn();
      waiter_.pause();
      if (fiber_.unwinding()) return;
    }
  }
  bool good() const { return trouble().empty(); }

  void post(Receive& receive) {
    receive.request = Request{};
    questions_.receive(group_, match::any_source, match::any_tag,
                       {receive.memory.data(), receive.memory.size(), &content_type},
                       receive.request);
  }

  void send(std::uint32_t to, std::uint64_t tag) {
    waiter_.maybe_pause();
    const Content content{.state = state_, .serial = serials_[to]++};
    std::vector<std::byte> memory(state_ % 4 == 0 ? 1000 : sizeof content);
    std::memcpy(memory.data(), &content, sizeof content);
    // Each life sends the same as those before it.
    if (sent_.size() == sends_) sent_.push_back(state_);
    if (sent_[sends_++] != state_) trouble_ = "a life sent something else than an earlier one";
    Request request;
    transfer_.send(group_, to, static_cast<std::int32_t>(tag),
                   {memory.data(), memory.size(), &content_type}, state_ % 5 == 0, request);
    // Others may wait in the same way until this process takes their messages.
    while (good() && !questions_.is([&] { return request.done; })) look(false);
  }

  void look(bool waits) {
    waiter_.maybe_pause();
    if (probes_) {
      const auto found = questions_.probe(group_, match::any_source, match::any_tag, waits);
      state_ = mixed(state_, found ? 1 : 0);
      if (!found) return waiter_.pause();
      waiter_.maybe_pause();
      Receive& receive = receives_[0];
      receive.request = Request{};
      questions_.receive(group_, found->source, found->tag,
                         {receive.memory.data(), receive.memory.size(), &content_type},
                         receive.request);
      transfer_.until([&] { return receive.request.done; });
      return take(receive);
    }
    const auto places =
        questions_.some(receives_.size(), state_ % 2 == 0, waits, [&](std::size_t i) {
          return receives_[i].request.done ? Questions::State::done : Questions::State::under_way;
        });
    state_ = mixed(state_, places.size());
    if (places.empty()) waiter_.pause();
    const std::vector<std::uint32_t> found(places.begin(), places.end());
    for (const std::uint32_t place : found) {
      take(receives_[place]);
      if (good()) post(receives_[place]);
    }
  }

  void take(const Receive& receive) {
    if (!good()) return;
    const Status& status = receive.request.status;
    Content content;
    std::memcpy(&content, receive.memory.data(), sizeof content);
    // Two receives may be found done in the other order.
    std::uint64_t& seen = seen_from_[status.source];
    const bool in_order = !probes_ || seen == (std::uint64_t{1} << content.serial) - 1;
    if (!in_order || (seen >> content.serial & 1) != 0) trouble_ = "a message came out of order";
    seen |= std::uint64_t{1} << content.serial;
    if (status.tag == end_tag) {
      ++ends_;
      expected_ += content.serial + 1;
    }
    ++received_;
    state_ = mixed(mixed(state_, content.state), status.source);
  }

  std::uint64_t seed_;
  std::vector<std::uint64_t>& sent_;  // states of the sender, by number of the message
  std::int64_t& counter_;             // of all processes; outlives them
  FiberWaiter waiter_;
  const Instant& now_;
  std::unique_ptr<Fabric> fabric_;
  Messenger messenger_;
  Group group_;
  Transfer transfer_;
  Questions questions_;
  determinant::OutcomeLog log_;
  bool probes_ = false;
  bool is_finished_ = false;
  std::uint64_t state_ = 1;
  std::size_t sends_ = 0;
  std::uint64_t received_ = 0, expected_ = 0;
  std::size_t ends_ = 0;
  std::array<std::uint64_t, ranks> serials_{}, seen_from_{};
  std::array<Receive, 2> receives_;
  std::string trouble_;
  Fiber fiber_;
};

class Job {
 public:
  explicit Job(std::uint64_t seed) : seed_(seed), rng_(seed) {
    for (std::uint32_t i = 0; i < ranks; ++i) {
      logs_[i].resize(log_bytes / 8);
      restart(i);
    }
  }

  /// True: all got through.
  bool run() {
    int kills = static_cast<int>(rng_.below(5));
    for (int step = 0; step < 100'000 && trouble().empty(); ++step) {
      now_ = now_ + Duration::microseconds(1 + rng_.below(50));
      if (kills > 0 && rng_.below(150) == 0) {
        for (auto n = 1 + rng_.below(2); n > 0 && kills > 0; --n, --kills) kill();
      }
      const auto i = static_cast<std::uint32_t>(rng_.below(ranks));
      if (lives_[i] == nullptr) {
        if (rng_.below(4) == 0) restart(i);
        continue;
      }
      lives_[i]->resume();
      if (all_finished()) return true;
    }
    return false;
  }

  std::string trouble() const {
    for (const auto& life : lives_) {
      if (life != nullptr && !life->trouble().empty()) return life->trouble();
    }
    return {};
  }
  std::uint64_t received() const {
    std::uint64_t all = 0;
    for (const auto& life : lives_) all += life->received();
    return all;
  }
  int restarts() const { return restarts_; }
  std::int64_t counter() const { return counter_; }

 private:
  void kill() {
    auto& life = lives_[rng_.below(ranks)];
    if (life == nullptr) return;
    life.reset();
    ++restarts_;
  }
  void restart(std::uint32_t i) {
    ++numbers_[i];
    lives_[i] =
        std::make_unique<Life>(hub_, i, numbers_[i], seed_, logs_[i], sent_[i], counter_, now_);
    for (std::uint32_t k = 0; k < ranks; ++k) {
      if (k == i || lives_[k] == nullptr) continue;
      Fabric &ours = lives_[i]->fabric(), &theirs = lives_[k]->fabric();
      EXPECT_TRUE(ours.add_peer(NodeId(k), Incarnation(numbers_[k]), theirs.address()).ok());
      EXPECT_TRUE(theirs.add_peer(NodeId(i), Incarnation(numbers_[i]), ours.address()).ok());
    }
  }
  bool all_finished() const {
    for (const auto& life : lives_) {
      if (life == nullptr || !life->is_finished()) return false;
    }
    return true;
  }

  std::uint64_t seed_;
  Rng rng_;
  Instant now_{};
  LoopbackHub hub_;
  std::array<std::vector<std::uint64_t>, ranks> logs_, sent_;
  std::int64_t counter_ = 0;
  std::array<std::uint32_t, ranks> numbers_{};
  std::array<std::unique_ptr<Life>, ranks> lives_;
  int restarts_ = 0;
};

/// WEFT_SEED=N: that seed alone. WEFT_SEEDS=N: so many.
TEST(replay, a_killed_process_goes_through_what_its_earlier_life_went_through) {
  const char* one = std::getenv("WEFT_SEED");
  const char* many = std::getenv("WEFT_SEEDS");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t count = many != nullptr ? std::strtoull(many, nullptr, 10) : 300;
  const std::uint64_t last = one != nullptr ? first : first + count - 1;
  int restarts = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto again = fmt::format("\nWEFT_SEED={} mpi_object_test --gtest_filter=replay.*", seed);
    Job job(seed);
    const bool got_through = job.run();
    ASSERT_EQ(job.trouble(), "") << again;
    ASSERT_TRUE(got_through) << "it did not end" << again;
    ASSERT_EQ(job.received(), ranks * (sends_per_rank + ranks)) << again;
    ASSERT_EQ(job.counter(), ranks * sends_per_rank) << "not once" << again;
    restarts += job.restarts();
  }
  fmt::print("{} processes were started anew\n", restarts);
  EXPECT_TRUE(restarts > 0 || one != nullptr);
}

}  // namespace
}  // namespace weft::mpi
