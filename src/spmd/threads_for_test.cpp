// SPDX-License-Identifier: Apache-2.0
#include "spmd/threads_for_test.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "base/check.hpp"

namespace weft::spmd {
namespace {

using Bytes = std::span<std::byte>;

/// A message on its way: copied, or lent until it is received.
struct Message {
  std::vector<std::byte> copy;
  std::span<const std::byte> bytes;
  std::uint64_t lending_operation = 0;  // 0: copied
};

/// Group, sender, receiver, tag.
using Flow = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>;

struct Hub {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Flow, std::deque<Message>> flows;
  std::map<std::uint64_t, Result<std::size_t>> done;
  std::uint64_t operations = 0;
  bool lends = false;  // senders' bytes are used in place until received
};

struct Receive {
  Flow flow;
  Bytes into;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Hub& hub, std::vector<std::uint32_t> members, std::uint32_t place,
                     std::uint64_t generation)
      : hub_(hub), members_(std::move(members)), place_(place), generation_(generation) {}

  Rank rank() const override { return Rank(place_); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(members_.size()); }
  Generation generation() const override { return Generation(generation_); }

  Operation start_send(Rank to, Tag tag, std::span<const std::byte> bytes) override {
    std::lock_guard lock(hub_.mutex);
    const std::uint64_t number = ++hub_.operations;
    Message message;
    message.bytes = bytes;
    message.lending_operation = number;
    if (!hub_.lends || to == rank()) {
      message.copy.assign(bytes.begin(), bytes.end());
      message.bytes = message.copy;
      message.lending_operation = 0;
      hub_.done.emplace(number, bytes.size());
    }
    hub_.flows[{generation_, place_, to.value(), tag.value()}].push_back(std::move(message));
    hub_.changed.notify_all();
    return Operation(number);
  }

  Operation start_receive(Rank from, Tag tag, std::span<std::byte> into) override {
    std::lock_guard lock(hub_.mutex);
    const std::uint64_t number = ++hub_.operations;
    receives_[number] = {{generation_, from.value(), place_, tag.value()}, into};
    order_[receives_[number].flow].push_back(number);
    return Operation(number);
  }

  Result<std::size_t> wait(Operation operation) override {
    std::unique_lock lock(hub_.mutex);
    hub_.changed.wait(lock, [&] { return progress(operation.number()); });
    auto result = hub_.done.at(operation.number());
    hub_.done.erase(operation.number());
    return result;
  }

  bool is_done(Operation operation) override {
    std::lock_guard lock(hub_.mutex);
    return progress(operation.number());
  }

  std::unique_ptr<Communicator> subgroup(std::span<const Rank> ranks) override {
    std::vector<std::uint32_t> members;
    for (const Rank rank : ranks) members.push_back(members_.at(rank.value()));
    const std::uint64_t generation = generation_ * 100 + ++subgroups_;
    const auto me = std::find(ranks.begin(), ranks.end(), rank());
    if (me == ranks.end()) return nullptr;
    return std::make_unique<ThreadCommunicator>(
        hub_, std::move(members), static_cast<std::uint32_t>(me - ranks.begin()), generation);
  }

 private:
  /// Receives arrived messages for any of this process's operations, so that senders can go on.
  bool progress(std::uint64_t wanted) {
    for (auto& [flow, numbers] : order_) {
      auto& messages = hub_.flows[flow];
      while (!numbers.empty() && !messages.empty()) {
        receive(numbers.front(), messages.front());
        numbers.pop_front();
        messages.pop_front();
        hub_.changed.notify_all();
      }
    }
    return hub_.done.contains(wanted);
  }

  void receive(std::uint64_t number, const Message& message) {
    const Receive& receive = receives_.at(number);
    if (message.bytes.size() > receive.into.size()) {
      hub_.done.emplace(number, Error{ErrorCode::corrupt, "a message longer than its buffer"});
    } else {
      std::copy(message.bytes.begin(), message.bytes.end(), receive.into.begin());
      hub_.done.emplace(number, message.bytes.size());
    }
    receives_.erase(number);
    if (message.lending_operation != 0) {
      hub_.done.emplace(message.lending_operation, message.bytes.size());
    }
  }

  Hub& hub_;
  std::vector<std::uint32_t> members_;
  std::uint32_t place_;
  std::uint64_t generation_;
  std::uint64_t subgroups_ = 0;
  std::map<std::uint64_t, Receive> receives_;
  std::map<Flow, std::deque<std::uint64_t>> order_;
};

class ThreadProcess final : public Process {
 public:
  explicit ThreadProcess(Communicator& world) : world_(world) {}
  Communicator& world() override { return world_; }
  Incarnation incarnation() const override { return Incarnation(1); }
  Duration elapsed() const override { return Duration(); }
  void compute(Duration) override {}

 private:
  Communicator& world_;
};

}  // namespace

void run_threads(std::uint32_t ranks, const std::function<void(Communicator&)>& body,
                 std::uint64_t seed) {
  Hub hub;
  hub.lends = seed % 2 == 1;
  std::vector<std::uint32_t> members(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) members[r] = r;
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    // Another thread starts first with another seed, and so sends first.
    const auto rank = static_cast<std::uint32_t>((i + seed) % ranks);
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(hub, members, rank, 1);
      body(communicator);
    });
  }
}

int run_program_in_threads(std::uint32_t ranks, const Program& program,
                           std::span<const std::string> arguments) {
  std::vector<int> codes(ranks);
  run_threads(ranks, [&](Communicator& world) {
    ThreadProcess process(world);
    codes[world.rank().value()] = program(process, arguments);
  });
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  return failed == codes.end() ? 0 : *failed;
}

}  // namespace weft::spmd
