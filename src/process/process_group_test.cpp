// SPDX-License-Identifier: Apache-2.0
// Groups, over messengers of one thread each.
#include "process/process_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "fabric/loopback/loopback.hpp"
#include "process/job_link.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

/// Time that passes only while nothing else happens.
class TestWaiter final : public Waiter {
 public:
  Instant now() override { return now_; }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant deadline) override {
    now_ = deadline == Instant::never() ? now_ + Duration::milliseconds(1) : deadline;
  }

 private:
  Instant now_{};
};

/// One process; the others are turned when it polls, so that one thread may wait for all.
template <class W>
struct MemberWith {
  MemberWith(LoopbackHub& hub, std::uint32_t self, std::uint32_t nodes)
      : fabric(std::move(hub.open(NodeId(self), Incarnation(1))).value()),
        messenger(*fabric, waiter,
                  {.self = NodeId(self), .nodes = nodes, .give_up_after = Duration::seconds(1)}),
        world(ProcessGroup::world(messenger, nodes)) {}
  W waiter;
  std::unique_ptr<Fabric> fabric;
  Messenger messenger;
  std::unique_ptr<ProcessGroup> world;
};
using Member = MemberWith<TestWaiter>;

void introduce(Fabric& to, NodeId id, const Fabric& peer) {
  EXPECT_TRUE(to.add_peer(id, Incarnation(1), peer.address()).ok());
}

struct Trio {
  Trio() {
    for (std::uint32_t i = 0; i < 3; ++i) members.push_back(std::make_unique<Member>(hub, i, 3));
    for (std::uint32_t i = 0; i < 3; ++i) {
      for (std::uint32_t j = 0; j < 3; ++j) {
        if (i == j) continue;
        introduce(*members[i]->fabric, NodeId(j), *members[j]->fabric);
      }
    }
  }
  /// Turns all until the operation of one of them is done.
  Result<std::size_t> wait(Communicator& of, Operation operation) {
    for (int i = 0; i < 1000 && !of.is_done(operation); ++i) {
      for (auto& member : members) {
        const Operation none = member->world->start_receive(member->world->rank(), Tag(99), {});
        (void)member->world->is_done(none);
        (void)member->world->wait(member->world->start_send(member->world->rank(), Tag(99), {}));
        (void)member->world->wait(none);
      }
    }
    return of.wait(operation);
  }
  LoopbackHub hub;
  std::vector<std::unique_ptr<Member>> members;
};

std::vector<std::byte> text(std::string_view s) {
  const auto bytes = std::as_bytes(std::span(s));
  return {bytes.begin(), bytes.end()};
}

TEST(group, members_of_a_subgroup_are_ranked_as_named_and_hear_nothing_of_the_world) {
  Trio trio;
  const std::vector<Rank> ranks = {Rank(2), Rank(0)};
  auto sub0 = trio.members[0]->world->subgroup(ranks);
  auto sub1 = trio.members[1]->world->subgroup(ranks);
  auto sub2 = trio.members[2]->world->subgroup(ranks);
  EXPECT_EQ(sub1, nullptr);
  EXPECT_EQ(sub0->rank(), Rank(1));
  EXPECT_EQ(sub2->rank(), Rank(0));
  EXPECT_EQ(sub0->generation(), sub2->generation());
  EXPECT_NE(sub0->generation(), trio.members[0]->world->generation());
  auto again = trio.members[0]->world->subgroup(ranks);
  EXPECT_NE(again->generation(), sub0->generation()) << "the same members, another group";

  // The same two processes and the same tag, in two groups.
  const auto in_world = text("world"), in_sub = text("sub!!");
  std::vector<std::byte> got(5);
  const Operation first = trio.members[0]->world->start_send(Rank(2), Tag(1), in_world);
  const Operation second = sub0->start_send(Rank(0), Tag(1), in_sub);
  const Operation from_sub = sub2->start_receive(Rank(1), Tag(1), got);
  ASSERT_TRUE(trio.wait(*sub2, from_sub).ok());
  EXPECT_EQ(got, in_sub);
  const Operation from_world = trio.members[2]->world->start_receive(Rank(0), Tag(1), got);
  ASSERT_TRUE(trio.wait(*trio.members[2]->world, from_world).ok());
  EXPECT_EQ(got, in_world);
  EXPECT_TRUE(trio.members[0]->world->wait(first).ok());
  EXPECT_TRUE(sub0->wait(second).ok());
}

TEST(group, an_error_names_the_rank_and_what_it_was_needed_for) {
  LoopbackHub hub;
  Member lonely(hub, 0, 2);
  std::vector<std::byte> room(8);
  const auto got = lonely.world->wait(lonely.world->start_receive(Rank(1), Tag(7), room));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::timed_out);
  EXPECT_THAT(got.error().message,
              HasSubstr("rank 1 was gone for 1 s, while receiving from rank 1 (tag 7, message 0)"));
}

/// Its clock goes on with each look at it.
class WatchingWaiter final : public Waiter {
 public:
  Instant now() override { return now_ = now_ + Duration::milliseconds(1); }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override {}
  Result<void> news(Instant) override { return word; }
  Result<void> word;

 private:
  Instant now_{};
};

/// Returns whether a loop of `is_done` ends, within more turns than it needs.
bool ends_when_polled(Communicator& world, Operation operation) {
  for (int i = 0; i < 3000; ++i) {
    if (world.is_done(operation)) return true;
  }
  return false;
}

TEST(messenger, says_of_a_peer_that_is_gone_to_a_loop_that_only_asks_whether_it_is_done) {
  LoopbackHub hub;
  MemberWith<WatchingWaiter> lonely(hub, 0, 2);
  const Operation receives = lonely.world->start_receive(Rank(1), Tag(7), {});
  ASSERT_TRUE(ends_when_polled(*lonely.world, receives));
  const auto got = lonely.world->wait(receives);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().message, HasSubstr("rank 1 was gone for 1 s"));
}

TEST(messenger, says_that_the_job_ends_to_a_loop_that_only_asks_whether_it_is_done) {
  LoopbackHub hub;
  MemberWith<WatchingWaiter> member(hub, 0, 2);
  const Operation receives = member.world->start_receive(Rank(1), Tag(7), {});
  EXPECT_FALSE(member.world->is_done(receives));
  member.waiter.word = Error{ErrorCode::cancelled, "rank 1 ended with code 7"};
  ASSERT_TRUE(ends_when_polled(*member.world, receives));
  const auto got = member.world->wait(receives);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "rank 1 ended with code 7");
}

/// A life of one of two processes of a job that keeps sent messages.
struct StoredMember {
  StoredMember(LoopbackHub& hub, std::uint32_t self, std::uint32_t life,
               message::OutboxRoom outbox = {})
      : fabric(std::move(hub.open(NodeId(self), Incarnation(life))).value()),
        messenger(*fabric, waiter,
                  {.self = NodeId(self),
                   .nodes = 2,
                   .incarnation = Incarnation(life),
                   .retain = true,
                   .fails_when_full = outbox.limit < ByteCount::gib(1),
                   .run = "this one"},
                  outbox),
        world(ProcessGroup::world(messenger, 2)) {}
  void meet(StoredMember& other, std::uint32_t id, std::uint32_t life) {
    ASSERT_TRUE(fabric->add_peer(NodeId(id), Incarnation(life), other.fabric->address()).ok());
  }
  TestWaiter waiter;
  std::unique_ptr<Fabric> fabric;
  Messenger messenger;
  std::unique_ptr<ProcessGroup> world;
};

/// A message to itself, which is waited for before it is sent.
void turn(StoredMember& member) {
  const Rank self = member.world->rank();
  const Operation receives = member.world->start_receive(self, Tag(99), {});
  (void)member.world->is_done(receives);
  EXPECT_TRUE(member.world->wait(member.world->start_send(self, Tag(99), {})).ok());
  EXPECT_TRUE(member.world->wait(receives).ok());
}

/// Sends words from the one to the other, which must receive the same.
void pass(StoredMember& from, StoredMember& to, std::string_view words) {
  const auto sent = text(words);
  std::vector<std::byte> got(sent.size());
  const Rank receiver = to.world->rank();
  const Operation sends = from.world->start_send(receiver, Tag(1), sent);
  const Operation receives = to.world->start_receive(from.world->rank(), Tag(1), got);
  for (int i = 0; i < 1000 && !to.world->is_done(receives); ++i) {
    turn(from);
  }
  ASSERT_TRUE(to.world->wait(receives).ok());
  ASSERT_TRUE(from.world->wait(sends).ok());
  EXPECT_EQ(got, sent);
}

TEST(kept_messages, of_a_process_without_room_for_one_end_there) {
  LoopbackHub hub;
  StoredMember full(hub, 0, 1, {.limit = ByteCount::kib(1)}), other(hub, 1, 1);
  full.meet(other, 1, 1);
  other.meet(full, 0, 1);
  const std::vector<std::byte> large(8 << 10);
  const auto small = text("small");
  std::vector<std::byte> got(large.size());
  const Operation receives = other.world->start_receive(Rank(0), Tag(1), got);
  const Operation first = full.world->start_send(Rank(1), Tag(1), large);
  // It would be taken for the first one.
  const Operation second = full.world->start_send(Rank(1), Tag(1), small);
  const Operation never = full.world->start_receive(Rank(1), Tag(1), got);
  EXPECT_FALSE(full.world->history()->store().ok());
  for (const Operation operation : {never, second, first}) {
    ASSERT_TRUE(full.world->is_done(operation));
    const auto ended = full.world->wait(operation);
    ASSERT_FALSE(ended.ok());
    EXPECT_THAT(ended.error().message, HasSubstr("the outbox is full"));
  }
  for (int i = 0; i < 100; ++i) turn(other);
  EXPECT_FALSE(other.world->is_done(receives));
}

// To keep a message takes as long as to send one, and nothing else looks at the fabric meanwhile.
TEST(kept_messages, are_given_to_those_who_asked_while_another_one_is_kept) {
  LoopbackHub hub;
  StoredMember a(hub, 0, 1), b(hub, 1, 1);
  a.meet(b, 1, 1);
  b.meet(a, 0, 1);
  pass(a, b, "one");
  const std::vector<std::byte> first(1 << 20, std::byte{1}), second(1 << 20, std::byte{2});
  std::vector<std::byte> got(1 << 20);
  const Operation sends_first = a.world->start_send(Rank(1), Tag(2), first);
  const Operation receives = b.world->start_receive(Rank(0), Tag(2), got);
  const Operation sends_second = a.world->start_send(Rank(1), Tag(2), second);
  bool is_there = false;
  for (int i = 0; i < 1000 && !is_there; ++i) is_there = b.world->is_done(receives);
  ASSERT_TRUE(is_there);
  EXPECT_TRUE(b.world->wait(receives).ok());
  EXPECT_EQ(got, first);
  EXPECT_TRUE(a.world->wait(sends_first).ok());
  EXPECT_TRUE(a.world->wait(sends_second).ok());
}

TEST(message_history, takes_a_later_life_to_where_an_earlier_one_was_stored) {
  LoopbackHub hub;
  StoredMember a(hub, 0, 1);
  auto b = std::make_unique<StoredMember>(hub, 1, 1);
  a.meet(*b, 1, 1);
  b->meet(a, 0, 1);
  pass(a, *b, "one");
  pass(*b, a, "two");
  ASSERT_NE(b->world->history(), nullptr);
  EXPECT_FALSE(b->world->history()->is_later_life());
  const auto stored = b->world->history()->store();
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  pass(a, *b, "three");
  pass(*b, a, "four");
  b.reset();

  StoredMember later(hub, 1, 2);
  MessageHistory& history = *later.world->history();
  EXPECT_TRUE(history.is_later_life());
  ASSERT_TRUE(history.resume(*stored).ok());
  a.meet(later, 1, 2);
  later.meet(a, 0, 1);
  // It repeats the operations behind that place, and gets the messages sent to it there.
  std::vector<std::byte> got(5);
  const Operation receives = later.world->start_receive(Rank(0), Tag(1), got);
  const Operation repeats = later.world->start_send(Rank(0), Tag(1), text("four"));
  for (int i = 0; i < 1000 && !later.world->is_done(receives); ++i) {
    turn(a);
  }
  ASSERT_TRUE(later.world->wait(receives).ok());
  ASSERT_TRUE(later.world->wait(repeats).ok());
  EXPECT_EQ(got, text("three"));
  pass(later, a, "five");  // a has had "four", and does not get it again
  pass(a, later, "six");
}

TEST(message_history, that_is_committed_lets_the_others_forget_what_was_received_before) {
  LoopbackHub hub;
  StoredMember a(hub, 0, 1), b(hub, 1, 1);
  a.meet(b, 1, 1);
  b.meet(a, 0, 1);
  MessageHistory& history = *a.world->history();
  const std::string many(10'000, 'm');
  ByteCount most{};
  for (int step = 0; step < 50; ++step) {
    pass(a, b, many);
    pass(b, a, "so that the other one has heard of it");
    most = std::max(most, history.kept());
    if (step == 49) break;
    ASSERT_TRUE(b.world->history()->store().ok());
    b.world->history()->commit();
    turn(b);
    turn(a);
  }
  // In blocks of a power of two.
  EXPECT_LE(most, ByteCount(2 * 16'384));
  EXPECT_GE(history.kept(), ByteCount(many.size()));
}

TEST(message_history, of_another_run_or_after_the_first_word_is_refused) {
  LoopbackHub hub;
  StoredMember a(hub, 0, 1), b(hub, 1, 1);
  a.meet(b, 1, 1);
  b.meet(a, 0, 1);
  pass(a, b, "one");
  const auto stored = a.world->history()->store();
  ASSERT_TRUE(stored.ok());
  const auto late = a.world->history()->resume(*stored);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::invalid_argument);
  const auto others = b.world->history()->resume(*stored);
  ASSERT_FALSE(others.ok());
  EXPECT_EQ(others.error().code, ErrorCode::not_found);
  (void)a.world->start_receive(Rank(1), Tag(5), {});
  EXPECT_FALSE(a.world->history()->store().ok()) << "while it receives";
}

/// Has a moment left for one turn after each look at the clock.
class ForgetfulWaiter final : public Waiter {
 public:
  Instant now() override { return *(recent_ = now_ = now_ + Duration::milliseconds(1)); }
  std::optional<Instant> recently() override { return std::exchange(recent_, std::nullopt); }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override {}
  Result<void> news(Instant) override {
    ++asked;
    return {};
  }
  int asked = 0;

 private:
  Instant now_{};
  std::optional<Instant> recent_;
};

// Or else the others would take it for dead, and it would miss that the job is over.
TEST(messenger, hears_the_news_and_sees_time_pass_though_all_it_waits_for_is_there) {
  LoopbackHub hub;
  Member sender(hub, 0, 2);
  MemberWith<ForgetfulWaiter> receiver(hub, 1, 2);
  introduce(*receiver.fabric, NodeId(0), *sender.fabric);
  introduce(*sender.fabric, NodeId(1), *receiver.fabric);
  ProcessGroup* const world = receiver.world.get();
  const Operation first = world->start_receive(Rank(0), Tag(1), {});
  (void)sender.world->start_send(Rank(1), Tag(1), {});
  const Operation never = sender.world->start_receive(Rank(1), Tag(2), {});  // to have turns
  for (int i = 0; i < 100 && !world->is_done(first); ++i) (void)sender.world->is_done(never);
  ASSERT_TRUE(world->is_done(first));
  const Instant begun = receiver.waiter.now();
  const int asked = receiver.waiter.asked;
  constexpr int messages = 20;
  for (int i = 0; i < messages; ++i) {
    const Operation receives = world->start_receive(Rank(0), Tag(1), {});
    (void)sender.world->start_send(Rank(1), Tag(1), {});
    (void)sender.world->is_done(never);
    ASSERT_TRUE(world->wait(receives).ok());
  }
  EXPECT_GE(receiver.waiter.asked - asked, messages / 2);
  EXPECT_GE(receiver.waiter.now() - begun, Duration::milliseconds(messages / 2));
}

/// The launcher's word comes while somebody waits.
class ToldWaiter final : public Waiter {
 public:
  Instant now() override { return Instant(); }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override { over_ = true; }
  bool is_over() const override { return over_; }

 private:
  bool over_ = false;
};

// A later life of a process may hear that the job is over in the middle of its program, which then
// may reuse its memory.
TEST(messenger, leaves_memory_alone_that_nobody_waits_for_any_more) {
  LoopbackHub hub;
  Member sender(hub, 0, 2);
  MemberWith<ToldWaiter> receiver(hub, 1, 2);
  introduce(*receiver.fabric, NodeId(0), *sender.fabric);
  introduce(*sender.fabric, NodeId(1), *receiver.fabric);
  ProcessGroup* const world = receiver.world.get();
  const std::vector<std::byte> sent(1 << 20, std::byte{1});
  std::vector<std::byte> got(sent.size());
  const Operation receives = world->start_receive(Rank(0), Tag(1), got);
  const auto none = world->wait(receives);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::cancelled);
  // The sender goes on as before, and so does the fabric.
  const Operation other = world->start_receive(Rank(0), Tag(2), {});
  const Operation sends = sender.world->start_send(Rank(1), Tag(1), sent);
  for (int i = 0; i < 100; ++i) {
    (void)sender.world->is_done(sends);
    (void)world->is_done(other);
  }
  EXPECT_EQ(got, std::vector<std::byte>(sent.size()));
}

/// A fabric whose network cannot register memory: too much is locked. Its peers may be silent.
class FullFabric final : public Fabric {
 public:
  explicit FullFabric(std::unique_ptr<Fabric> inner) : inner_(std::move(inner)) {}
  const FabricLimits& limits() const override { return inner_->limits(); }
  std::string_view name() const override { return inner_->name(); }
  std::string address() const override { return inner_->address(); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override {
    return inner_->add_peer(peer, incarnation, address);
  }
  void remove_peer(NodeId peer) override { inner_->remove_peer(peer); }
  Result<Region> expose(std::span<std::byte>) override {
    return Error{ErrorCode::exhausted, "Cannot allocate memory"};
  }
  void retract(const Region&) override { ADD_FAILURE() << "nothing was exposed"; }
  bool is_silent(NodeId) const override { return silent; }
  std::size_t post(std::span<const TxOp> ops) override { return inner_->post(ops); }
  std::size_t poll(Instant now, std::span<Completion> completions) override {
    return inner_->poll(now, completions);
  }
  WaitHint prepare_wait(Instant now) override { return inner_->prepare_wait(now); }

  bool silent = false;

 private:
  std::unique_ptr<Fabric> inner_;
};

TEST(messenger, waits_for_a_process_that_lives_and_has_yet_to_answer) {
  LoopbackHub hub;
  FullFabric fabric(std::move(hub.open(NodeId(0), Incarnation(1))).value());
  WatchingWaiter waiter;
  Messenger messenger(fabric, waiter,
                      {.self = NodeId(0), .nodes = 3, .give_up_after = Duration::seconds(1)});
  const auto world = ProcessGroup::world(messenger, 3);
  const Operation receives = world->start_receive(Rank(1), Tag(7), {});
  const Operation second = world->start_receive(Rank(2), Tag(7), {});
  fabric.silent = true;
  testing::internal::CaptureStdout();  // of the log
  EXPECT_FALSE(ends_when_polled(*world, receives));
  EXPECT_FALSE(ends_when_polled(*world, second));
  const std::string log = testing::internal::GetCapturedStdout();
  const std::string line =
      "rank 1 lives, and has answered nothing for 1 s since it started: it computes, or is "
      "stopped; rank 0 goes on waiting while receiving from rank 1 (tag 7, message 0)";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line), log.rfind(line)) << "more than once";
  EXPECT_THAT(log, HasSubstr("rank 2 lives, and has answered nothing"));
  fabric.silent = false;
  EXPECT_TRUE(ends_when_polled(*world, receives));
}

TEST(messenger, a_receive_whose_memory_cannot_be_registered_is_an_error_and_not_the_end) {
  LoopbackHub hub;
  FullFabric fabric(std::move(hub.open(NodeId(1), Incarnation(1))).value());
  TestWaiter waiter;
  Messenger messenger(fabric, waiter, {.self = NodeId(1), .nodes = 2});
  const auto world = ProcessGroup::world(messenger, 2);
  std::vector<std::byte> room(1 << 20);
  const Operation first = world->start_receive(Rank(0), Tag(5), room);
  const Operation second = world->start_receive(Rank(0), Tag(6), room);
  EXPECT_NE(first, second);
  EXPECT_TRUE(world->is_done(first));
  const auto got = world->wait(second);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::exhausted);
  EXPECT_EQ(got.error().message,
            "rank 1 cannot register 1048576 bytes to receive from rank 0 (tag 6): Cannot allocate "
            "memory; raise the limit of locked memory (ulimit -l), or use --fabric tcp");
  EXPECT_FALSE(world->wait(first).ok());
}

TEST(messenger, waiting_for_any_of_several_ends_with_the_first_that_is_ready) {
  LoopbackHub hub;
  const auto fabric = std::move(hub.open(NodeId(0), Incarnation(1))).value();
  TestWaiter waiter;
  Messenger messenger(*fabric, waiter, {.self = NodeId(0), .nodes = 1});
  const auto flow = [](std::uint32_t tag) {
    return message::FlowKey{.generation = Generation(7), .tag = Tag(tag)};
  };
  const std::array<Operation, 2> receives{messenger.start_receive(NodeId(0), flow(1), {}),
                                          messenger.start_receive(NodeId(0), flow(2), {})};
  EXPECT_TRUE(messenger.turn_once().ok());
  EXPECT_FALSE(messenger.is_ready(receives[1]));
  EXPECT_TRUE(messenger.wait(messenger.start_send(NodeId(0), flow(2), {})).ok());
  EXPECT_TRUE(messenger.wait_any(receives).ok());
  EXPECT_FALSE(messenger.is_ready(receives[0]));
  EXPECT_TRUE(messenger.is_ready(receives[1]));
}

TEST(messenger, a_receive_that_was_refused_is_ready) {
  LoopbackHub hub;
  FullFabric fabric(std::move(hub.open(NodeId(1), Incarnation(1))).value());
  TestWaiter waiter;
  Messenger messenger(fabric, waiter, {.self = NodeId(1), .nodes = 2});
  std::vector<std::byte> room(1 << 20);
  const std::array<Operation, 1> receives{
      messenger.start_receive(NodeId(0), {.generation = Generation(7), .tag = Tag(1)}, room)};
  EXPECT_TRUE(messenger.wait_any(receives).ok());
  EXPECT_TRUE(messenger.is_ready(receives[0]));
  EXPECT_FALSE(messenger.wait(receives[0]).ok());
}

TEST(job_link, a_description_survives_its_text_and_damage_is_refused) {
  JobDescription job{.self = NodeId(3),
                     .nodes = 8,
                     .nodes_here = 4,
                     .incarnation = Incarnation(2),
                     .fabric = "tcp",
                     .link = "1Gbit,5us",
                     .job_id = "j",
                     .retain = true,
                     .spill = "/tmp"};
  job.secret.assign("\x00\xff\x80 secret", 10);
  const auto read = read_job_description(to_text(job));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->self, job.self);
  EXPECT_EQ(read->secret, job.secret);
  EXPECT_EQ(read->link, job.link);
  EXPECT_EQ(read->retain, true);
  EXPECT_EQ(read->timeout, job.timeout);
  EXPECT_FALSE(read_job_description("{}").ok());
  EXPECT_FALSE(read_job_description("no json").ok());
  job.self = NodeId(8);
  EXPECT_FALSE(read_job_description(to_text(job)).ok());
}

/// The launcher's word is read in a turn, and not in a sleep.
class NewsWaiter final : public Waiter {
 public:
  Instant now() override { return Instant(); }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override { ++sleeps; }
  Result<void> news(Instant) override {
    over_ = true;
    return {};
  }
  bool is_over() const override { return over_; }
  int sleeps = 0;

 private:
  bool over_ = false;
};

TEST(messenger, does_not_sleep_once_news_has_ended_the_wait) {
  LoopbackHub hub;
  const auto fabric = std::move(hub.open(NodeId(0), Incarnation(1))).value();
  NewsWaiter waiter;
  Messenger messenger(*fabric, waiter, {.self = NodeId(0), .nodes = 1});
  EXPECT_TRUE(messenger.serve_until_over().ok());
  EXPECT_EQ(waiter.sleeps, 0);
}

}  // namespace
}  // namespace weft
