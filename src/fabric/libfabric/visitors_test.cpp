// SPDX-License-Identifier: Apache-2.0
// Strangers that connect to the provider's listener and prove nothing. The test sets the time.
#include "fabric/libfabric/visitors.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "fabric/libfabric/connections.hpp"
#include "fabric/libfabric/doorbell.hpp"
#include "fabric/libfabric/endpoint_address.hpp"
#include "fabric/libfabric/test_support.hpp"

namespace weft::ofi {
namespace {

constexpr Instant start{1'000'000'000};

Descriptor make_socket() {
  return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// A connection to the `sockaddr_in` in `name`.
Descriptor knock(std::span<const std::byte> name) {
  Descriptor socket = make_socket();
  EXPECT_EQ(
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(name.data()), sizeof(sockaddr_in)),
      0);
  return socket;
}

// False when the other side has ended the connection.
bool is_open(const Descriptor& socket) {
  std::byte byte{};
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) != 0;
}

// A listener, in the place of a provider's, that accepts everybody.
class visitors : public ::testing::Test {
 protected:
  visitors() : listener_(make_socket()), name_(sizeof(sockaddr_in)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 256), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    std::memcpy(name_.data(), &address, sizeof address);
    watch_.emplace(name_, true);
  }
  void let_in() {
    outside_.push_back(knock(name_));
    accept();
  }
  void accept() {
    inside_.emplace_back(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_GE(inside_.back().get(), 0);
  }

  Descriptor listener_;
  std::vector<std::byte> name_;
  std::optional<Visitors> watch_;
  std::vector<Descriptor> outside_, inside_;
};

TEST_F(visitors, that_get_no_answer_are_shown_out_after_five_seconds) {
  let_in();
  EXPECT_EQ(watch_->look(start), 0u);
  // Bytes from a stranger prove nothing.
  ASSERT_EQ(::send(outside_[0].get(), "hello", 5, MSG_NOSIGNAL), 5);
  EXPECT_EQ(watch_->look(start + Visitors::patience - Duration(1)), 0u);
  EXPECT_TRUE(is_open(outside_[0]));
  EXPECT_EQ(watch_->look(start + Visitors::patience), 1u);
  EXPECT_FALSE(is_open(outside_[0]));
  EXPECT_EQ(watch_->look(start + Visitors::patience * 2), 0u) << "once is enough";
}

TEST_F(visitors, that_were_answered_stay) {
  let_in();
  ASSERT_EQ(::send(inside_[0].get(), "!", 1, MSG_NOSIGNAL), 1);
  watch_->look(start);
  EXPECT_EQ(watch_->look(start + Visitors::patience * 10), 0u);
}

TEST_F(visitors, that_come_in_numbers_give_way_oldest_first) {
  for (std::size_t i = 0; i < Visitors::most; ++i) let_in();
  EXPECT_EQ(watch_->look(start), 0u);
  EXPECT_LT(watch_->next_look(), start + Duration::seconds(1)) << "more may be coming";
  for (int i = 0; i < 10; ++i) let_in();
  EXPECT_EQ(watch_->look(start + Duration::milliseconds(1)), 10u);
  for (std::size_t i = Visitors::most; i < outside_.size(); ++i) EXPECT_TRUE(is_open(outside_[i]));
}

TEST_F(visitors, with_the_descriptor_of_one_that_left_have_their_own_time) {
  let_in();
  EXPECT_EQ(watch_->look(start), 0u);
  outside_.push_back(knock(name_));
  const int descriptor = inside_[0].get();
  inside_.clear();
  accept();
  ASSERT_EQ(inside_[0].get(), descriptor);
  EXPECT_EQ(watch_->look(start + Visitors::patience), 0u);
}

TEST_F(visitors, of_other_listeners_are_not_looked_at) {
  let_in();
  Visitors elsewhere(std::vector<std::byte>(sizeof(sockaddr_in), std::byte{1}), true);
  elsewhere.look(start);
  EXPECT_EQ(elsewhere.look(start + Visitors::patience), 0u);
}

int descriptors() {
  int count = 0;
  for_each_descriptor([&](int) { ++count; });
  return count;
}

TEST(strangers, at_the_providers_listener_cost_no_descriptors_after_five_seconds) {
  Group group;
  Fabric& fabric = group.open(options_for(0));
  group.open(options_for(1));
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  const auto door = parse_endpoint_address(fabric.address());
  ASSERT_TRUE(door.has_value());
  constexpr int kCrowd = 100;
  std::vector<Descriptor> crowd;
  const int before = descriptors();
  Instant clock = now();
  std::array<Completion, 16> completions;
  const auto poll_both = [&](Duration step) {
    clock = clock + step;
    for (std::size_t i = 0; i < 2; ++i) group.fabric(i).poll(clock, completions);
  };
  for (int i = 0; i < kCrowd; ++i) {
    crowd.push_back(knock(door->name));
    if (i % 2 == 0) {
      ASSERT_EQ(::send(crowd.back().get(), "ab", 2, MSG_NOSIGNAL), 2);
    }
    poll_both(Duration::microseconds(10));
  }
  // The provider accepts one now and then, and closes it when its socket has come to an end.
  const Instant give_up = now() + Duration::seconds(60);
  bool all_out = false;
  while (!all_out && now() < give_up) {
    poll_both(Duration::milliseconds(5));
    all_out = descriptors() <= before + kCrowd && std::ranges::none_of(crowd, is_open);
  }
  EXPECT_TRUE(all_out);
  EXPECT_EQ(group.count(0, CompletionKind::peer_down), 0u);
}

}  // namespace
}  // namespace weft::ofi
