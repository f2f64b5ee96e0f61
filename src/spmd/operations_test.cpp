// SPDX-License-Identifier: Apache-2.0
// Transitions whose messages fail.
#include "spmd/operations.hpp"

#include <gtest/gtest.h>

#include <set>

#include "weft/spmd/container.hpp"

namespace weft::spmd {
namespace {

/// The communicator of rank 0 of three. The test decides which messages the others send.
class FailingCommunicator final : public Communicator {
 public:
  Rank rank() const override { return Rank(0); }
  std::uint32_t size() const override { return 3; }
  Generation generation() const override { return Generation(1); }
  Operation start_send(Rank, Tag, std::span<const std::byte> bytes) override {
    return start(bytes.size());
  }
  Operation start_receive(Rank, Tag, std::span<std::byte> into) override {
    return start(into.size() - cut_);
  }
  Result<std::size_t> wait(Operation operation) override {
    EXPECT_EQ(open_.erase(operation.number()), 1u) << "waited for twice";
    if (operation.number() == failing_) return Error{ErrorCode::unavailable, "rank 2 is gone"};
    if (operation.number() > failing_) return Error{ErrorCode::cancelled, "a later error"};
    return bytes_[operation.number()];
  }
  bool is_done(Operation) override { return true; }
  std::unique_ptr<Communicator> subgroup(std::span<const Rank>) override { return nullptr; }

  std::uint64_t failing_ = 1000;
  std::size_t cut_ = 0;  // that received messages are too short by
  std::set<std::uint64_t> open_;

 private:
  Operation start(std::size_t bytes) {
    bytes_.push_back(bytes);
    open_.insert(bytes_.size() - 1);
    return Operation(bytes_.size() - 1);
  }
  std::vector<std::size_t> bytes_;
};

Result<void> deal(FailingCommunicator& world) {
  const Group group(world);
  const Space space(12);
  Container<double> data(group, space);
  EXPECT_TRUE(data.switch_to(block(space, 3), Flow::none).ok());
  return data.switch_to(cyclic(space, 3));
}

TEST(failing_transition, waits_for_everything_and_gives_the_first_error) {
  FailingCommunicator world;
  world.failing_ = 1;
  const auto done = deal(world);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "rank 2 is gone");
  EXPECT_TRUE(world.open_.empty());
}

TEST(failing_transition, refuses_a_message_of_another_length) {
  FailingCommunicator world;
  world.cut_ = 8;
  const auto done = deal(world);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(world.open_.empty());
}

TEST(failing_transition, of_a_reduction_waits_for_everything) {
  FailingCommunicator world;
  world.failing_ = 0;
  const Group group(world);
  const Space space(3);
  Container<double> data(group, space);
  ASSERT_TRUE(data.initialise(all(space, 3), 1).ok());
  const auto done = data.reduce(all(space, 3), Reduction<double>::sum());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "rank 2 is gone");
  EXPECT_TRUE(world.open_.empty());
}

TEST(failing_transition, that_is_given_up_half_way_waits_for_what_it_started) {
  FailingCommunicator world;
  const Group group(world);
  const Space space(12);
  const Partitioning from = block(space, 3);
  const Partitioning to = cyclic(space, 3);
  Container<double> data(group, space);
  data.reserve({from, to});
  ASSERT_TRUE(data.switch_to(from, Flow::none).ok());
  {
    auto sequence = data.prepare(group.transition(from, to, Flow::preserve));
    sequence.start();
    EXPECT_EQ(world.open_.size(), 4u);
  }
  EXPECT_TRUE(world.open_.empty());
}

}  // namespace
}  // namespace weft::spmd
