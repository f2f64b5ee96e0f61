// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages between processes that one thread turns.
#include "mpi/object/transfer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/rng.hpp"
#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using testing::World;

struct Pair : World {
  Pair() : World(2) {}
};

const Datatype byte_type(Basic::bytes);
const Datatype int_type(Basic::int32);

Buffer bytes_at(std::vector<std::uint8_t>& memory) {
  return {memory.data(), memory.size(), &byte_type};
}

std::vector<std::uint8_t> pattern(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> memory(size);
  std::iota(memory.begin(), memory.end(), first);
  return memory;
}

constexpr std::size_t small = 100, in_a_body = 10'000, large = 50'000;

TEST(transfer, messages_of_every_size_arrive_expected_or_not) {
  for (const std::size_t size : {std::size_t{0}, small, in_a_body, large}) {
    for (const bool expected : {false, true}) {
      Pair pair;
      auto out = pattern(size, 7);
      std::vector<std::uint8_t> in(size);
      Request send, receive;
      if (expected) pair[1].receive(pair.group(1), 0, 5, bytes_at(in), receive);
      pair[0].send(pair.group(0), 1, 5, bytes_at(out), false, send);
      pair.turn();
      if (!expected) pair[1].receive(pair.group(1), 0, 5, bytes_at(in), receive);
      pair.turn();
      ASSERT_TRUE(send.done && receive.done) << size;
      EXPECT_EQ(in, out);
      EXPECT_EQ(receive.status.bytes, size);
    }
  }
}

TEST(transfer, a_synchronous_send_is_done_when_it_was_matched) {
  Pair pair;
  auto out = pattern(small, 1);
  std::vector<std::uint8_t> in(small);
  Request send, receive;
  pair[0].send(pair.group(0), 1, 5, bytes_at(out), true, send);
  pair.turn();
  EXPECT_FALSE(send.done);
  pair[1].receive(pair.group(1), match::any_source, match::any_tag, bytes_at(in), receive);
  pair.turn();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(receive.status.tag, 5);
}

// To tell the sender of a match is to send: what the fabric has meanwhile must not be looked at
// there.
TEST(transfer, what_arrives_while_a_match_is_told_comes_behind_what_was_matched) {
  for (const std::size_t size : {small, in_a_body, large}) {
    Pair pair;
    auto first = pattern(size, 1);
    auto second = pattern(size, 2);
    std::vector<std::uint8_t> in(size), behind(size);
    Request sends[2], receives[2];
    pair[0].send(pair.group(0), 1, 5, bytes_at(first), true, sends[0]);
    pair.turn();
    pair[0].send(pair.group(0), 1, 5, bytes_at(second), true, sends[1]);
    for (int i = 0; i < 50; ++i) pair[0].turn();
    pair[1].receive(pair.group(1), 0, 5, bytes_at(in), receives[0]);
    pair[1].receive(pair.group(1), 0, 5, bytes_at(behind), receives[1]);
    pair.turn();
    ASSERT_TRUE(receives[0].done && receives[1].done) << size;
    EXPECT_EQ(in, first) << size;
    EXPECT_EQ(behind, second) << size;
  }
}

TEST(transfer, a_message_that_is_too_long_fills_the_buffer_and_no_more) {
  for (const std::size_t size : {small, in_a_body, large}) {
    Pair pair;
    auto out = pattern(size, 3);
    std::vector<std::uint8_t> in(size);
    Request send, receive;
    const Buffer half{in.data(), size / 2, &byte_type};
    pair[1].receive(pair.group(1), 0, 5, half, receive);
    pair[0].send(pair.group(0), 1, 5, bytes_at(out), false, send);
    pair.turn();
    ASSERT_TRUE(send.done && receive.done);
    EXPECT_TRUE(receive.status.is_truncated);
    EXPECT_TRUE(std::equal(in.begin(), in.begin() + static_cast<long>(size / 2), out.begin()));
    EXPECT_EQ(in[size / 2], 0);
  }
}

TEST(transfer, a_probe_says_what_waits_and_leaves_it) {
  Pair pair;
  auto out = pattern(in_a_body, 3);
  Request send;
  EXPECT_FALSE(pair[1].probe(pair.group(1), 0, match::any_tag).has_value());
  pair[0].send(pair.group(0), 1, 9, bytes_at(out), false, send);
  pair.turn();
  for (int i = 0; i < 2; ++i) {
    const auto found = pair[1].probe(pair.group(1), match::any_source, match::any_tag);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->tag, 9);
    EXPECT_EQ(found->bytes, in_a_body);
  }
}

TEST(transfer, a_cancelled_receive_takes_nothing) {
  Pair pair;
  auto out = pattern(small, 3);
  std::vector<std::uint8_t> first(small), second(small);
  Request cancelled, receive, send;
  pair[1].receive(pair.group(1), 0, 5, bytes_at(first), cancelled);
  pair[1].cancel(cancelled);
  EXPECT_TRUE(cancelled.done && cancelled.status.is_cancelled);
  pair[1].receive(pair.group(1), 0, 5, bytes_at(second), receive);
  pair[0].send(pair.group(0), 1, 5, bytes_at(out), false, send);
  pair.turn();
  EXPECT_EQ(second, out);
  EXPECT_EQ(first, std::vector<std::uint8_t>(small));
}

TEST(transfer, values_with_gaps_arrive_where_they_belong) {
  Pair pair;
  std::vector<Block> every_other;
  for (std::int64_t i = 0; i < 4000; ++i) every_other.push_back({1, 8 * i, &int_type});
  const Datatype gaps(every_other);
  std::vector<std::int32_t> out(8000), in(8000, -1);
  std::iota(out.begin(), out.end(), 0);
  Request send, receive;
  pair[0].send(pair.group(0), 1, 5, {out.data(), 1, &gaps}, false, send);
  pair[1].receive(pair.group(1), 0, 5, {in.data(), 1, &gaps}, receive);
  pair.turn();
  ASSERT_TRUE(send.done && receive.done);
  for (std::size_t i = 0; i < 7999; ++i) {
    ASSERT_EQ(in[i], i % 2 == 0 ? static_cast<std::int32_t>(i) : -1);
  }
}

TEST(transfer, an_extracted_message_is_out_of_the_way_of_later_receives) {
  for (const std::size_t size : {small, in_a_body, large}) {
    Pair pair;
    auto first = pattern(size, 3), second = pattern(size, 9);
    std::vector<std::uint8_t> in(size);
    std::vector<std::byte> memory;
    Request send_first, send_second, extracted, receive;
    EXPECT_FALSE(pair[1].extract(pair.group(1), 0, 5, extracted, memory));
    pair[0].send(pair.group(0), 1, 5, bytes_at(first), false, send_first);
    pair[0].send(pair.group(0), 1, 5, bytes_at(second), false, send_second);
    pair.turn();
    ASSERT_TRUE(pair[1].extract(pair.group(1), match::any_source, 5, extracted, memory));
    pair[1].receive(pair.group(1), 0, 5, bytes_at(in), receive);
    pair.turn();
    ASSERT_TRUE(extracted.done && receive.done) << size;
    EXPECT_EQ(std::memcmp(memory.data(), first.data(), size), 0);
    EXPECT_EQ(in, second);
  }
}

TEST(transfer, a_process_that_talks_to_itself_hears_others) {
  Pair pair;
  std::vector<std::uint8_t> in(small), from_other(small), out(small);
  Request other, send;
  pair[0].receive(pair.group(0), 1, 5, bytes_at(from_other), other);
  pair[1].send(pair.group(1), 0, 5, bytes_at(out), false, send);
  pair[1].turn();
  for (int i = 0; i < 1000 && !other.done; ++i) {
    Request own_send, own_receive;
    pair[0].receive(pair.group(0), 0, 5, bytes_at(in), own_receive);
    pair[0].send(pair.group(0), 0, 5, bytes_at(out), false, own_send);
    pair[0].until([&] { return own_receive.done && own_send.done; });
    pair[1].turn();
  }
  EXPECT_TRUE(other.done);
}

TEST(transfer, bodies_to_itself_come_in_the_order_of_their_messages) {
  Pair pair;
  std::array<std::vector<std::uint8_t>, 2> out = {pattern(large, 3), pattern(large, 9)}, in;
  std::array<Request, 2> sends, receives;
  for (auto& memory : in) memory.resize(large);
  // The first is matched when it comes, the second when it is received.
  pair[0].receive(pair.group(0), 0, 5, bytes_at(in[0]), receives[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    pair[0].send(pair.group(0), 0, 5, bytes_at(out[i]), false, sends[i]);
  }
  pair[0].receive(pair.group(0), 0, 5, bytes_at(in[1]), receives[1]);
  pair.turn();
  ASSERT_TRUE(receives[0].done && receives[1].done);
  EXPECT_EQ(in, out);
}

/// Counts how often it goes on, and finishes the third time.
class Counter final : public Task {
 public:
  explicit Counter(int& count) : count_(count) {}
  bool advance() override { return ++count_ == 3; }

 private:
  int& count_;
};

TEST(transfer, a_task_goes_on_when_something_was_done_and_ends_when_it_is_finished) {
  Pair pair;
  int count = 0;
  pair[1].start(std::make_unique<Counter>(count));
  EXPECT_EQ(count, 1);
  pair.turn();
  EXPECT_EQ(count, 1);  // nothing came
  std::vector<std::uint8_t> out(small);
  std::array<Request, 4> sends;
  for (Request& send : sends) {
    pair[0].send(pair.group(0), 1, 5, bytes_at(out), false, send);
    pair.turn();
  }
  EXPECT_EQ(count, 3);
}

TEST(transfer, short_messages_of_collectives_come_in_their_order_expected_or_not) {
  Pair pair;
  ASSERT_TRUE(pair[0].has_short(pair.group(0)));
  const auto out = pattern(40, 3);
  std::array<std::uint8_t, 40> in{};
  std::array<bool, 40> sent{}, received{};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto receive = [&](std::size_t k) {
      pair[1].receive_short(pair.group(1), 0, std::as_writable_bytes(std::span(&in[k], 1)),
                            received[k]);
    };
    // Half of them are expected, and other messages do not meet their receives.
    if (i % 2 == 0) receive(i);
    pair[0].send_short(pair.group(0), 1, std::as_bytes(std::span(&out[i], 1)), sent[i]);
    auto other = pattern(small, 1);
    Request send;
    pair[0].send(pair.group(0), 1, 0, bytes_at(other), false, send);
    pair.turn();
    if (i % 2 == 1) receive(i);
    ASSERT_TRUE(sent[i] && received[i]) << i;
  }
  EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
  EXPECT_EQ(pair[1].counts().waiting, in.size());
}

TEST(transfer, a_short_message_that_is_longer_than_its_receive_is_an_error) {
  Pair pair;
  const auto out = pattern(9, 3);
  std::array<std::uint8_t, 8> in{};
  bool sent = false, received = false;
  pair[1].receive_short(pair.group(1), 0, std::as_writable_bytes(std::span(in)), received);
  pair[0].send_short(pair.group(0), 1, std::as_bytes(std::span(out)), sent);
  pair.turn();
  EXPECT_FALSE(received);
  ASSERT_TRUE(pair[1].failure());
  EXPECT_NE(pair[1].failure()->message.find("sent 9 bytes in a collective"), std::string::npos);
}

TEST(transfer, short_messages_of_two_different_collective_calls_are_an_error_that_names_both) {
  using collective::Operation;
  const auto failure_of = [](const auto& begin_a, const auto& begin_b, bool expected) {
    Pair pair;
    const std::array<std::byte, 4> out{};
    std::array<std::byte, 4> in{};
    bool sent = false, received = false;
    begin_a(pair[0], pair.group(0));
    begin_b(pair[1], pair.group(1));
    if (expected) pair[1].receive_short(pair.group(1), 0, in, received);
    pair[0].send_short(pair.group(0), 1, out, sent);
    pair.turn();
    if (!expected) pair[1].receive_short(pair.group(1), 0, in, received);
    return pair[1].failure() ? pair[1].failure()->message : std::string(received ? "" : "nothing");
  };
  const auto call = [](Operation operation, std::uint32_t root, int earlier = 0) {
    return [=](Transfer& transfer, const Group& group) {
      for (int i = 0; i <= earlier; ++i) transfer.begin_collective(group, operation, root);
    };
  };
  const auto broadcast = call(Operation::broadcast, 0);
  const auto nameless = [](Transfer&, const Group&) {};
  const std::string end =
      ": call the same operations with the same root and counts everywhere, in the same order";
  const std::string first =
      "rank 0 of the job is in broadcast with root 0 of this communicator, collective call 1 "
      "there; ";
  for (const bool expected : {false, true}) {
    EXPECT_EQ(failure_of(broadcast, broadcast, expected), "");
    EXPECT_EQ(failure_of(broadcast, nameless, expected), "");
    EXPECT_EQ(failure_of(nameless, broadcast, expected), "");
    EXPECT_EQ(
        failure_of(broadcast, call(Operation::broadcast, 1), expected),
        first +
            "this rank is in broadcast with root 1 of this communicator, collective call 1 there" +
            end);
    EXPECT_EQ(
        failure_of(broadcast, call(Operation::allreduce, 0), expected),
        first + "this rank is in allreduce of this communicator, collective call 1 there" + end);
    EXPECT_EQ(
        failure_of(broadcast, call(Operation::broadcast, 0, 1), expected),
        first +
            "this rank is in broadcast with root 0 of this communicator, collective call 2 there" +
            end);
  }
  // Names have 20 bits for the number, and users see all of it.
  constexpr int many = (1 << 20) + 4;
  const std::string late =
      failure_of(call(Operation::barrier, 0, many - 1), call(Operation::barrier, 0, many), true);
  EXPECT_NE(late.find(fmt::format("call {} there; ", many)), std::string::npos) << late;
  EXPECT_NE(late.find(fmt::format("call {} there: ", many + 1)), std::string::npos) << late;
}

TEST(transfer, processes_that_wait_for_each_other_in_two_collective_calls_end_with_both_names) {
  using collective::Operation;
  const auto failure_of = [](std::int32_t tag, CallKind kind, std::uint32_t other_root) {
    Pair pair;
    const std::vector<std::byte> bytes(large);
    bool sent[2] = {false, false};
    for (const std::size_t i : {0, 1}) {
      const collective::Request call{.operation = Operation::broadcast,
                                     .root = i == 0 ? 0 : other_root};
      if (tag == 0) {
        pair[i].begin_collective(pair.group(i), call.operation, call.root);
      } else {
        pair[i].begin_collective_on(pair.group(i), tag, kind, call);
      }
      // Nobody receives it: each is the root.
      const auto to = static_cast<std::uint32_t>(1 - i);
      pair[i].send_plain(pair.group(i), to, tag, bytes, sent[i]);
    }
    const Instant end = Instant{} + Duration::seconds(10);
    Waiter& waiter = pair.members[0]->waiter;
    pair.members[0]->waiter.on_idle = [&] { pair[1].turn(); };
    pair[0].until([&] { return sent[0] || pair[1].failure() || waiter.now() > end; });
    return pair[1].failure() ? pair[1].failure()->message : std::string();
  };
  for (const auto& [tag, kind, adjective, number] :
       {std::tuple{0, CallKind::blocking, "", ", collective call 1 there"},
        std::tuple{1, CallKind::nonblocking, "nonblocking ", ", collective call 1 there"},
        std::tuple{65, CallKind::persistent, "persistent ", ""}}) {
    EXPECT_EQ(
        failure_of(tag, kind, 1),
        fmt::format("rank 0 of the job is in {0}broadcast with root 0 of this communicator{1}; "
                    "this rank is in {0}broadcast with root 1 of this communicator{1}: call the "
                    "same operations with the same root and counts everywhere, in the same order",
                    adjective, number));
    EXPECT_EQ(failure_of(tag, kind, 0), "");
  }
}

TEST(transfer, a_call_that_is_over_in_all_members_is_not_taken_for_the_next_one_with_its_tag) {
  using collective::Operation;
  constexpr std::int32_t tag = 65;
  Pair pair;
  for (const std::size_t i : {0, 1}) {
    pair[i].begin_collective_on(pair.group(i), tag, CallKind::persistent,
                                {.operation = Operation::barrier});
    pair[i].forget_collective_on(pair.group(i), tag);
  }
  pair[0].begin_collective_on(pair.group(0), tag, CallKind::persistent,
                              {.operation = Operation::broadcast});
  const std::vector<std::byte> bytes(large);
  bool sent = false;
  pair[0].send_plain(pair.group(0), 1, tag, bytes, sent);
  Waiter& waiter = pair.members[0]->waiter;
  const Instant end = waiter.now() + Duration::seconds(10);
  pair.members[0]->waiter.on_idle = [&] { pair[1].turn(); };
  pair[0].until([&] { return sent || pair[1].failure() || waiter.now() > end; });
  EXPECT_EQ(pair[1].failure() ? pair[1].failure()->message : "", "");
}

/// Sends and receives a message of a collective operation as plans do: by its size.
void send_collective(Pair& pair, std::span<const std::byte> bytes, bool& done) {
  if (bytes.size() <= pair[0].longest_short()) {
    pair[0].send_short(pair.group(0), 1, bytes, done);
  } else {
    pair[0].send_plain(pair.group(0), 1, 0, bytes, done);
  }
}

void receive_collective(Pair& pair, std::span<std::byte> into, bool& done) {
  if (into.size() <= pair[1].longest_short()) {
    pair[1].receive_short(pair.group(1), 0, into, done);
  } else {
    pair[1].receive_plain(pair.group(1), 0, 0, into, done);
  }
}

TEST(transfer, a_message_of_a_collective_of_another_size_than_its_receive_is_an_error) {
  constexpr std::array<std::size_t, 6> sizes{0, 40, 4000, 5000, large, 2 * large};
  for (const std::size_t sent_bytes : sizes) {
    for (const std::size_t wanted_bytes : sizes) {
      for (const bool expected : {false, true}) {
        if (sent_bytes == wanted_bytes) continue;
        Pair pair;
        const std::vector<std::byte> out(sent_bytes);
        std::vector<std::byte> in(wanted_bytes);
        bool sent = false, received = false;
        if (expected) receive_collective(pair, in, received);
        pair.turn();
        send_collective(pair, out, sent);
        pair.turn();
        if (!expected) receive_collective(pair, in, received);
        pair.turn();
        ASSERT_TRUE(pair[1].failure()) << sent_bytes << ' ' << wanted_bytes << ' ' << expected;
        EXPECT_EQ(pair[1].failure()->message,
                  fmt::format("rank 0 sent {} bytes in a collective operation in which this rank "
                              "expects {}; use the same counts and operations everywhere",
                              sent_bytes, wanted_bytes))
            << expected;
      }
    }
  }
}

TEST(transfer, bytes_that_are_no_message_of_mpi_are_an_error) {
  const auto failure_of = [](const std::vector<std::uint8_t>& bytes) {
    Pair pair;
    auto& messenger = pair.members[0]->messenger;
    const message::FlowKey envelopes{.generation =
                                         pair.group(0).generation_for(Purpose::envelopes)};
    const Operation operation =
        messenger.start_send(NodeId(1), envelopes, std::as_bytes(std::span(bytes)));
    pair.turn();
    EXPECT_TRUE(messenger.is_ready(operation));
    return pair[1].failure() ? pair[1].failure()->message : std::string();
  };
  // Tag, body, match, short, whole; and, of one that is not whole, the number of its bytes.
  const std::vector<std::uint8_t> whole = {5, 0, 0, 0, 0, 0, 0, 1, 42};
  const std::vector<std::uint8_t> sized = {5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 42};
  EXPECT_EQ(failure_of(whole), "");
  EXPECT_EQ(failure_of(sized), "");
  const auto refuses = [&](std::vector<std::uint8_t> bytes) {
    EXPECT_EQ(failure_of(bytes), fmt::format("rank 0 sent {} bytes that are no message of MPI; use "
                                             "the same version of weft everywhere",
                                             bytes.size()));
  };
  for (std::size_t length = 0; length < 8; ++length) {
    refuses({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
  }
  for (std::size_t length = 8; length < sized.size(); ++length) {
    refuses({sized.begin(), sized.begin() + static_cast<std::ptrdiff_t>(length)});
  }
  const auto changed = [](std::vector<std::uint8_t> bytes, std::size_t at, std::uint8_t value) {
    bytes[at] = value;
    return bytes;
  };
  refuses(changed(whole, 3, 0x80));  // no program has negative tags
  for (const std::size_t at : {4, 5, 6}) refuses(changed(whole, at, 1));
  for (const std::size_t at : {4, 5, 7}) refuses(changed(sized, at, 2));
  refuses(changed(sized, 6, 5));
  const std::vector<std::uint8_t> empty(whole.begin(), whole.end() - 1);
  for (const std::uint8_t value : {1, 2, 3, 4}) refuses(changed(empty, 6, value));
  refuses(changed(sized, 8, 2));
  refuses(changed(sized, 4, 1));  // its body is elsewhere
}

TEST(transfer, short_and_plain_messages_of_collectives_come_in_any_order_of_sizes) {
  Rng rng(11);
  Pair pair;
  constexpr std::size_t messages = 200;
  std::vector<std::vector<std::byte>> out, in;
  for (std::size_t i = 0; i < messages; ++i) {
    const std::size_t size = std::array{std::size_t{40}, std::size_t{4000}, large}[rng.below(3)];
    out.emplace_back(size, static_cast<std::byte>(i));
    in.emplace_back(size);
  }
  std::array<bool, messages> sent{}, received{};
  std::size_t sends = 0, receives = 0;
  while (sends < messages || receives < messages) {
    if (sends < messages && rng.below(2) == 0) {
      send_collective(pair, out[sends], sent[sends]);
      ++sends;
    } else if (receives < messages) {
      receive_collective(pair, in[receives], received[receives]);
      ++receives;
    }
    if (rng.below(4) == 0) pair.turn(1);
  }
  pair.turn(200);
  EXPECT_FALSE(pair[1].failure()) << pair[1].failure()->message;
  EXPECT_TRUE(std::all_of(received.begin(), received.end(), [](bool done) { return done; }));
  EXPECT_EQ(in, out);
}

TEST(call_name, is_sound_if_some_process_may_say_it) {
  const CallName said(collective::Operation::exclusive_scan, 7, 9, CallKind::persistent);
  EXPECT_TRUE(CallName::of(said.with(0)).is_sound());
  EXPECT_TRUE(CallName().is_sound());
  EXPECT_FALSE(CallName::of(12 << 16).is_sound()) << "there are eleven operations";
  EXPECT_FALSE(CallName::of(1 << 24).is_sound()) << "a root, and no operation";
  EXPECT_FALSE(CallName::of(3 << 21 | 1 << 16).is_sound()) << "there are three kinds";
}

TEST(transfer, groups_in_which_tasks_send_have_no_short_messages) {
  Group other = world_group(2, NodeId(0));
  other.generation = Generation(77);
  Pair pair;
  EXPECT_FALSE(pair[0].has_short(other));
  pair[0].open(other, {.by_tasks = true});
  EXPECT_FALSE(pair[0].has_short(other));
}

/// Sends of a few tags and all sizes to a peer whose receives come in an order of their own. Of
/// each tag the n-th receive gets the n-th message.
TEST(transfer, the_order_of_each_tag_is_kept_whatever_comes_first) {
  const char* one = std::getenv("WEFT_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t last = one != nullptr ? first : 8;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto again =
        fmt::format("\nWEFT_SEED={} mpi_object_test --gtest_filter=transfer.the_order*", seed);
    Rng rng(seed);
    Pair pair;
    constexpr std::size_t messages = 40, tags = 3;
    std::array<std::vector<std::size_t>, tags> sizes;  // sent, by tag
    std::array<std::size_t, tags> received{};
    std::vector<std::vector<std::uint8_t>> memory;
    memory.reserve(2 * messages);
    std::vector<std::unique_ptr<Request>> requests;
    std::size_t sent = 0, taken = 0;
    while (sent < messages || taken < messages) {
      const auto tag = static_cast<std::size_t>(rng.below(tags));
      requests.push_back(std::make_unique<Request>());
      if (sent < messages && rng.below(2) == 0) {
        const std::size_t size = std::array{small, in_a_body, large}[rng.below(3)] + sent++;
        sizes[tag].push_back(size);
        memory.push_back(pattern(size, static_cast<std::uint8_t>(size)));
        pair[0].send(pair.group(0), 1, static_cast<std::int32_t>(tag), bytes_at(memory.back()),
                     rng.below(3) == 0, *requests.back());
      } else if (received[tag] < sizes[tag].size()) {
        memory.emplace_back(sizes[tag][received[tag]++]);
        ++taken;
        pair[1].receive(pair.group(1), 0, static_cast<std::int32_t>(tag), bytes_at(memory.back()),
                        *requests.back());
      } else {
        requests.pop_back();
      }
      if (rng.below(4) == 0) pair.turn(1);
    }
    pair.turn(200);
    for (const auto& request : requests) {
      ASSERT_TRUE(request->done && !request->status.is_truncated) << again;
    }
    for (const auto& bytes : memory) {
      ASSERT_EQ(bytes, pattern(bytes.size(), static_cast<std::uint8_t>(bytes.size()))) << again;
    }
  }
}

}  // namespace
}  // namespace weft::mpi
