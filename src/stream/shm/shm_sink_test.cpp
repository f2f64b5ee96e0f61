// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/rng.hpp"
#include "stream/shm/channel.hpp"
#include "stream/shm/protocol.hpp"
#include "stream/shm/shm_sink_for_test.hpp"

namespace weft::shm_test {
namespace {

// Publishes on a thread of its own, as a driver does.
std::thread publish_in_thread(ComputeNode& node, int count, bool in_ring = true) {
  return std::thread([&node, count, in_ring] {
    for (int i = 0; i < count; ++i) {
      const auto r = node.publish(in_ring);
      EXPECT_TRUE(r.ok()) << r.error().message;
    }
    EXPECT_TRUE(node.sink().finish().ok());
  });
}

TEST(shm_sink, one_consumer_reads_everything_in_order_until_the_end) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all");
  auto publisher = publish_in_thread(node, 200);
  auto consumer = attach(name, "g", GroupPolicy::all, 4);
  std::uint64_t expected = 0;
  while (!consumer.ended()) {
    auto t = consumer.next(patience);
    ASSERT_TRUE(t.ok()) << t.error().message;
    if (!*t) continue;
    EXPECT_EQ((**t)->index.value(), expected++);
    expect_content((*t)->view());
  }
  publisher.join();
  EXPECT_EQ(expected, 200u);
  EXPECT_EQ(node.sink().summary().timeslices, 200u);
  EXPECT_EQ(node.sink().summary().dropped, 0u);
  EXPECT_EQ(node.held(), 0u);
}

TEST(shm_sink, bytes_are_the_compute_nodes_own_and_read_only) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all");
  auto consumer = attach(name, "g", GroupPolicy::all);
  std::thread publisher([&] { EXPECT_TRUE(node.publish().ok()); });
  auto t = take(consumer);
  publisher.join();
  EXPECT_EQ(t->components[1].data[5], std::byte{1});
  node.arena().ring(1).memory()[5] = std::byte{99};
  EXPECT_EQ(t->components[1].data[5], std::byte{99});
}

TEST(shm_sink, memory_that_cannot_be_shared_is_copied_and_given_back_at_once) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all&copy=32KiB");
  auto publisher = publish_in_thread(node, 50, false);
  auto consumer = attach(name, "g", GroupPolicy::all, 8);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto t = take(consumer);
    EXPECT_EQ(t->index.value(), i);
    expect_content(t.view());
  }
  publisher.join();
  EXPECT_EQ(node.held(), 0u);
}

TEST(shm_sink, timeslice_that_can_never_be_copied_is_an_error_that_names_the_option) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all&copy=4KiB");
  auto consumer = attach(name, "g", GroupPolicy::all);
  const auto r = node.publish(false);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("copy="), std::string::npos) << r.error().message;
}

TEST(shm_sink, slow_consumer_of_policy_skip_misses_counted_and_never_blocks) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:skip");
  auto consumer = attach(name, "g", GroupPolicy::skip);
  ASSERT_TRUE(node.publish().ok());
  {
    const auto held = take(consumer);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(node.publish().ok());  // over the held one's memory
    expect_content(held.view());
    EXPECT_EQ(node.held(), 0u);
  }
  // The release is on its way: publish until the consumer is given one again.
  for (;;) {
    ASSERT_TRUE(node.publish().ok());
    auto t = consumer.next(Duration::milliseconds(1));
    ASSERT_TRUE(t.ok());
    if (t->has_value()) break;
  }
  ASSERT_TRUE(node.sink().finish().ok());
  while (!consumer.ended()) ASSERT_TRUE(consumer.next(patience).ok());
  EXPECT_GE(consumer.counts().missed, 100u);
  EXPECT_EQ(consumer.counts().timeslices + node.sink().summary().dropped, node.published());
}

TEST(shm_sink, without_consumers_timeslices_pass_and_are_counted) {
  ComputeNode node(unique_name());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(node.publish().ok());
  EXPECT_EQ(node.held(), 0u);
  ASSERT_TRUE(node.sink().finish().ok());
  EXPECT_EQ(node.sink().summary().dropped, 10u);
}

TEST(shm_sink, consumers_join_and_leave_a_running_stream) {
  const std::string name = unique_name();
  ComputeNode node(name);
  auto stays = attach(name, "g", GroupPolicy::all, 64);
  std::optional<Consumer> guest;
  std::uint64_t seen = 0;
  // The sink learns of a consumer on its own thread: publish until the first one is through.
  while (seen == 0) {
    ASSERT_TRUE(node.publish().ok());
    auto t = stays.next(Duration::milliseconds(1));
    ASSERT_TRUE(t.ok());
    if (*t) seen = (**t)->index.value() + 1;
  }
  for (int round = 0; round < 20; ++round) {
    guest = attach(name, "g", GroupPolicy::all);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(node.publish().ok());
      while (seen < node.published()) EXPECT_EQ(take(stays)->index.value(), seen++);
      auto t = guest->next(Duration());
      ASSERT_TRUE(t.ok());
      if (t->has_value()) expect_content((*t)->view());
    }
    guest.reset();
  }
  ASSERT_TRUE(node.sink().finish().ok());
  EXPECT_EQ(node.held(), 0u);
}

TEST(shm_sink, groups_do_not_influence_each_other) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=a:all,b:one:2");
  auto a = attach(name, "a", GroupPolicy::all, 16);
  auto b1 = attach(name, "b", GroupPolicy::one, 16);
  auto b2 = attach(name, "b", GroupPolicy::one, 16);
  auto publisher = publish_in_thread(node, 100);
  std::multiset<std::uint64_t> at_a, at_b;
  while (at_a.size() < 100 || at_b.size() < 100) {
    for (Consumer* c : {&a, &b1, &b2}) {
      auto t = c->next(Duration::milliseconds(1));
      ASSERT_TRUE(t.ok());
      if (t->has_value()) (c == &a ? at_a : at_b).insert((**t)->index.value());
    }
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(at_a.count(i), 1u);
    EXPECT_EQ(at_b.count(i), 1u);
  }
  publisher.join();
  EXPECT_GT(b1.counts().timeslices, 0u);
  EXPECT_GT(b2.counts().timeslices, 0u);
}

TEST(shm_sink, consumer_attaches_to_every_compute_node_of_the_host_also_to_later_ones) {
  const std::string name = unique_name();
  ComputeNode second(name + "?groups=g:one", 1, 2);
  auto consumer = attach(name, "g", GroupPolicy::one);
  ASSERT_TRUE(second.publish().ok());
  EXPECT_EQ(take(consumer).compute(), 1u);
  ComputeNode first(name + "?groups=g:one", 0, 2);
  std::thread publisher([&] { EXPECT_TRUE(first.publish().ok()); });
  EXPECT_EQ(take(consumer).compute(), 0u);
  publisher.join();
  EXPECT_EQ(consumer.counts().attached, 2u);
}

TEST(shm_sink, timeslice_outlives_its_consumer_and_its_compute_node) {
  const std::string name = unique_name();
  auto node = std::make_unique<ComputeNode>(name + "?groups=g:all");
  std::optional<Consumer> consumer = attach(name, "g", GroupPolicy::all);
  std::thread publisher([&] { EXPECT_TRUE(node->publish().ok()); });
  auto t = take(*consumer);
  publisher.join();
  consumer.reset();
  node.reset();
  expect_content(t.view());
}

TEST(shm_sink, consumer_that_leaves_gives_back_what_it_has_not_released) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one:2");
  std::optional<Consumer> leaves = attach(name, "g", GroupPolicy::one, 2);
  auto stays = attach(name, "g", GroupPolicy::one, 4);
  auto publisher = publish_in_thread(node, 5);
  auto kept = take(*leaves);
  const std::uint64_t index = kept->index.value();
  leaves.reset();
  std::multiset<std::uint64_t> seen;
  while (!stays.ended()) {
    auto t = stays.next(patience);
    ASSERT_TRUE(t.ok()) << t.error().message;
    if (t->has_value()) seen.insert((**t)->index.value());
  }
  publisher.join();
  EXPECT_EQ(seen, (std::multiset<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept->index.value(), index) << "still readable";
}

TEST(shm_channel, messages_of_a_peer_that_closed_with_others_unread_are_not_lost) {
  const std::string name = unique_name();
  auto listener = shm::listen_at({name, 0});
  auto client = shm::connect_to({name, 0});
  ASSERT_TRUE(listener.ok() && client.ok());
  const auto server = shm::accept_from(listener->get());
  const std::array<std::byte, 3> message{};
  ASSERT_EQ(shm::send_message(server.get(), message), shm::Transfer::done);
  ASSERT_EQ(shm::send_message(client->get(), message), shm::Transfer::done);
  *client = Descriptor();
  std::array<std::byte, 16> buffer;
  EXPECT_EQ(shm::receive_message(server.get(), buffer, false).size, 3u);
  EXPECT_EQ(shm::receive_message(server.get(), buffer, false).state, shm::Transfer::closed);
}

TEST(shm_channel, one_call_turns_away_a_bounded_number_of_strangers) {
  const std::string name = unique_name();
  const auto listener = shm::listen_at({name, 0});
  ASSERT_TRUE(listener.ok());
  std::vector<Descriptor> crowd;
  for (int i = 0; i < shm::most_turned_away + 4; ++i) {
    auto stranger = shm::connect_to({name, 0});
    ASSERT_TRUE(stranger.ok());
    crowd.push_back(std::move(*stranger));
  }
  const auto nobody = [](int) { return false; };
  EXPECT_LT(shm::accept_from(listener->get(), nobody).get(), 0);
  EXPECT_EQ(errno, EAGAIN);
  for (int left = 4; left > 0; --left) EXPECT_GE(shm::accept_from(listener->get()).get(), 0);
  EXPECT_LT(shm::accept_from(listener->get()).get(), 0);
}

TEST(shm_sink, a_path_that_is_no_socket_is_refused_and_left_alone) {
  const auto folder = std::filesystem::temp_directory_path() / unique_name();
  std::filesystem::create_directory(folder);
  const std::string name = (folder / "socket").string();
  std::ofstream(name + ".0") << "somebody's results";
  EXPECT_FALSE(shm::listen_at({name, 0}).ok());
  shm::unlink_address({name, 0});
  EXPECT_TRUE(std::filesystem::exists(name + ".0"));
  std::filesystem::remove_all(folder);
}

TEST(shm_sink, plain_consume_returns_when_the_timeslice_is_back) {
  const std::string name = unique_name();
  SinkPlace place;
  auto sink = open_shm_sink(name + "?groups=g:all", place);
  ASSERT_TRUE(sink.ok());
  std::thread publisher([&] {
    EXPECT_TRUE((*sink)->consume(TimesliceView{}).ok());
    EXPECT_TRUE((*sink)->finish().ok());
  });
  auto consumer = attach(name, "g", GroupPolicy::all);
  take(consumer).release();
  publisher.join();
}

TEST(shm_sink, name_can_be_a_path_and_a_dead_sockets_file_is_replaced) {
  const auto folder = std::filesystem::temp_directory_path() / unique_name();
  std::filesystem::create_directory(folder);
  const std::string name = (folder / "socket").string();
  {
    auto left_behind = shm::listen_at({name, 0});
    ASSERT_TRUE(left_behind.ok());
  }
  EXPECT_TRUE(std::filesystem::exists(name + ".0"));
  {
    ComputeNode node(name + "?groups=g:all");
    auto consumer = attach(name, "g", GroupPolicy::all);
    std::thread publisher([&] { EXPECT_TRUE(node.publish().ok()); });
    expect_content(take(consumer).view());
    publisher.join();
  }
  EXPECT_FALSE(std::filesystem::exists(name + ".0"));
  std::filesystem::remove_all(folder);
}

TEST(shm_sink, name_in_use_is_an_error) {
  const std::string name = unique_name();
  ComputeNode node(name);
  const auto second = open_shm_sink(name, SinkPlace{});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another process uses this name"), std::string::npos);
}

TEST(shm_sink, wrong_options_are_named) {
  for (const char* rest :
       {"", "a b", "x?held=0", "x?held=1e9", "x?copy=lots", "x?groups=g", "x?groups=g:some",
        "x?groups=g:one:0", "x?groups=g:one,g:all", "x?colour=red", "x?linger=5", "/"}) {
    const auto sink = open_shm_sink(rest, SinkPlace{});
    ASSERT_FALSE(sink.ok()) << rest;
    EXPECT_EQ(sink.error().code, ErrorCode::invalid_argument) << rest;
    EXPECT_EQ(sink.error().message.find('\n'), std::string::npos);
  }
}

TEST(consumer, attach_names_what_is_wrong) {
  EXPECT_EQ(Consumer::attach(unique_name(), "g").error().code, ErrorCode::timed_out);
  EXPECT_EQ(Consumer::attach("a b", "g").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Consumer::attach("a", "").error().code, ErrorCode::invalid_argument);
  ConsumerOptions options;
  options.depth = 65;
  EXPECT_EQ(Consumer::attach("a", "g", options).error().code, ErrorCode::invalid_argument);
}

TEST(consumer, another_policy_than_the_groups_is_refused_with_the_reason) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one");
  auto consumer = attach(name, "g", GroupPolicy::all);
  const auto r = consumer.next(patience);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("has policy one"), std::string::npos) << r.error().message;
}

TEST(consumer, wait_finds_a_compute_node_that_starts_later) {
  const std::string name = unique_name();
  std::thread late([&] {
    ConsumerOptions options;
    options.wait = patience;
    auto consumer = Consumer::attach(name, "g", options);
    ASSERT_TRUE(consumer.ok()) << consumer.error().message;
    take(*consumer);
  });
  ComputeNode node(name + "?groups=g:all");
  ASSERT_TRUE(node.publish().ok());
  late.join();
}

// ---- wrong consumers

struct Stranger {
  explicit Stranger(const std::string& name) {
    auto s = shm::connect_to({name, 0});
    EXPECT_TRUE(s.ok());
    if (s.ok()) socket = std::move(*s);
  }
  bool send(std::span<const std::byte> bytes, int descriptor = -1) const {
    return shm::send_message(socket.get(), bytes, descriptor) == shm::Transfer::done;
  }
  bool send(const shm::FromConsumer& message) const {
    std::array<std::byte, shm::max_message> buffer;
    return send(std::span(buffer).first(shm::encode(message, buffer)));
  }
  Descriptor socket;
};

class HostileConsumers : public testing::Test {
 protected:
  // The good consumer still gets everything, while `attack` runs.
  template <class Attack>
  void expect_no_harm(Attack attack) {
    auto good = attach(name_, "g", GroupPolicy::one, 4);
    auto publisher = publish_in_thread(node_, 100);
    for (std::uint64_t i = 0; i < 100; ++i) {
      attack();
      EXPECT_EQ(take(good)->index.value(), i);
    }
    publisher.join();
  }
  const std::string name_ = unique_name();
  ComputeNode node_{name_ + "?groups=g:one&consumers=8"};
};

TEST_F(HostileConsumers, random_messages_only_end_their_connection) {
  Rng rng(7);
  expect_no_harm([&] {
    const Stranger stranger(name_);
    std::array<std::byte, 2000> bytes;
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(256));
    bytes[0] = static_cast<std::byte>(rng.below(9));
    bytes[1] = bytes[2] = bytes[3] = std::byte{0};
    stranger.send(std::span(bytes).first(1 + rng.below(bytes.size())));
  });
}

TEST_F(HostileConsumers, descriptors_that_come_unasked_do_not_stay) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  expect_no_harm([&] {
    const Stranger stranger(name_);
    const std::array<std::byte, 4> bytes{};
    for (int i = 0; i < 10; ++i) stranger.send(bytes, 0);
  });
  EXPECT_LE(open_files(), before + 20);
}

TEST_F(HostileConsumers, releases_of_others_timeslices_and_second_hellos_are_refused) {
  expect_no_harm([&] {
    const Stranger stranger(name_);
    stranger.send(shm::Release{1});
    const Stranger twice(name_);
    twice.send(shm::Hello{GroupPolicy::skip, 1, "other"});
    twice.send(shm::Hello{GroupPolicy::skip, 1, "other"});
    const Stranger member(name_);
    member.send(shm::Hello{GroupPolicy::skip, 64, "third"});
    for (std::uint64_t i = 0; i < 100; ++i) member.send(shm::Release{i * 3});
  });
}

TEST_F(HostileConsumers, too_many_connections_are_turned_away) {
  std::vector<std::unique_ptr<Stranger>> crowd;
  expect_no_harm([&] {
    if (crowd.size() < 50) crowd.push_back(std::make_unique<Stranger>(name_));
  });
}

TEST_F(HostileConsumers, running_out_of_descriptors_turns_the_next_one_away_and_no_more) {
  auto good = attach(name_, "g", GroupPolicy::one, 4);
  ASSERT_TRUE(node_.publish().ok());
  EXPECT_EQ(take(good)->index.value(), 0u);  // known to the sink by now
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit few = old;
  few.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Descriptor> all;
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) all.emplace_back(fd);
  all.pop_back();  // for the stranger's own end
  const Stranger stranger(name_);
  pollfd closed{stranger.socket.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 30'000), 1);
  std::array<std::byte, 16> buffer;
  EXPECT_EQ(shm::receive_message(stranger.socket.get(), buffer, false).state,
            shm::Transfer::closed);
  ASSERT_TRUE(node_.publish().ok());
  EXPECT_EQ(take(good)->index.value(), 1u);
  all.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
}

TEST_F(HostileConsumers, one_that_never_reads_costs_only_what_its_depth_allows) {
  const Stranger member(name_);
  member.send(shm::Hello{GroupPolicy::skip, 64, "deaf"});
  expect_no_harm([] {});
}

}  // namespace
}  // namespace weft::shm_test
