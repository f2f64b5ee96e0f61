// SPDX-License-Identifier: Apache-2.0
// One machine at a time, its peers played by hand: for effects that a whole job shows only when
// messages cross in one way of many.
#include <gtest/gtest.h>

#include <cstring>

#include "core/schedule/grant.hpp"
#include "core/schedule/in_order.hpp"
#include "core/stream/compute_machine.hpp"
#include "core/stream/input_machine.hpp"

namespace weft::stream {
namespace {

/// Memory whose second half mirrors the first.
struct Mirrored {
  explicit Mirrored(std::size_t size) : bytes(2 * size) {}
  MirroredBytes view() { return {bytes.data(), bytes.size() / 2}; }
  std::vector<std::byte> bytes;
};

/// Messages of a machine that went to a peer, in order, writes among them as empty ones.
struct Sent {
  NodeId peer{};
  std::vector<std::byte> bytes;
  std::uint64_t context = 0;
};

/// A machine with its outbox.
template <class Machine>
struct Alone {
  template <class... Arguments>
  explicit Alone(Arguments&&... arguments) : machine(std::forward<Arguments>(arguments)...) {}

  void up(std::uint32_t peer, std::uint32_t incarnation = 1) {
    machine.on_completion(now, {.kind = CompletionKind::peer_up,
                                .peer = NodeId(peer),
                                .incarnation = Incarnation(incarnation)});
  }
  void down(std::uint32_t peer) {
    machine.on_completion(now, {.kind = CompletionKind::peer_down, .peer = NodeId(peer)});
  }
  template <class Message>
  void receive(std::uint32_t peer, const Message& message) {
    std::array<std::byte, 4096> memory{};
    wire::Writer writer(memory);
    encode(message, writer);
    Completion c{.kind = CompletionKind::received, .peer = NodeId(peer)};
    c.data = std::span(memory).first(writer.size());
    machine.on_completion(now, c);
  }
  /// Runs one turn; returns the operations that the machine wanted to send.
  std::vector<Sent> turn() {
    machine.turn(now, out);
    std::vector<Sent> sent;
    for (const TxOp& op : out.tx) {
      Sent s{.peer = op.peer, .bytes = {}, .context = op.context};
      if (op.kind == OpKind::send) {
        for (const auto& part : op.segments) {
          s.bytes.insert(s.bytes.end(), part.begin(), part.end());
        }
      }
      sent.push_back(std::move(s));
    }
    out.posted(out.tx.size());
    return sent;
  }

  Instant now{};
  Outbox out;
  Machine machine;
};

std::size_t count(const std::vector<Sent>& sent, MessageType type) {
  return static_cast<std::size_t>(std::count_if(sent.begin(), sent.end(), [type](const Sent& s) {
    return !s.bytes.empty() && message_type(s.bytes) == type;
  }));
}

IndexSet all(std::uint32_t n) {
  return IndexSet(n, true);
}

/// Node 0, which leads; all others are played by hand.
struct InputAlone {
  explicit InputAlone(Roster r, std::size_t contribution = 64, std::size_t ring = 1 << 16,
                      std::size_t window = 4096, int microslices = 8)
      : roster(r),
        ring_bytes(ring),
        content(std::size_t{1} << 22),
        descriptors(1 << 20),
        buffer(content.view(), descriptors.view()),
        alone(InputConfig{.roster = r, .window = window}, buffer,
              schedule::make_best_effort_input()) {
    for (std::uint32_t node = 1; node < roster.nodes(); ++node) alone.up(node);
    for (int i = 0; i < microslices; ++i) {
      buffer.reserve(contribution);
      buffer.commit({.size = static_cast<std::uint32_t>(contribution)});
    }
  }
  /// The first view that it leads to.
  std::uint32_t first_view() const { return roster.inputs; }
  /// Everybody promises, and offers memory in the view that comes of it.
  std::vector<Sent> begin(bool offers = true) {
    alone.turn();
    for (std::uint32_t node = 1; node < roster.nodes(); ++node) {
      alone.receive(node, Promise{.number = first_view(), .next = {}, .done = {}});
    }
    alone.turn();
    for (std::uint32_t c = 0; offers && c < roster.computes; ++c) {
      Hello hello{.view = first_view()};
      hello.data.length = ring_bytes;
      hello.descriptors.length = 64 * sizeof(ContributionDescriptor);
      alone.receive(roster.compute_node(c).value(), hello);
    }
    return alone.turn();
  }

  Roster roster;
  std::size_t ring_bytes;
  Mirrored content;
  Mirrored descriptors;
  InputBuffer buffer;
  Alone<InputMachine> alone;
};

/// A view says of so many timeslices that they are done: others would be built again when the view
/// changes, while this input node waits for nobody to ask.
TEST(an_input_node_alone, has_no_more_timeslices_under_way_than_a_view_can_name) {
  const Roster roster{1, 1};
  const std::size_t named = max_done_words(roster) * 64;
  InputAlone input(roster, 1, 1 << 20, 1 << 20, static_cast<int>(named) + 100);
  input.begin(false);
  Hello hello{.view = input.first_view()};
  hello.data.length = input.ring_bytes;
  hello.descriptors.length = (1 << 15) * sizeof(ContributionDescriptor);
  input.alone.receive(roster.compute_node(0).value(), hello);
  for (int i = 0; i < 2000; ++i) input.alone.turn();
  EXPECT_EQ(input.alone.machine.counters().contributions, named);
}

TEST(an_input_node_alone, announces_small_contributions_together) {
  InputAlone input(Roster{1, 1});
  const auto sent = input.begin();
  EXPECT_EQ(input.alone.machine.counters().contributions, 8u);
  EXPECT_EQ(count(sent, MessageType::written), 1u);
}

/// A compute node that hears of them only together waits for the last while it has the first; its
/// credit for all comes back at once, and the link idles meanwhile.
TEST(an_input_node_alone, announces_large_contributions_one_by_one) {
  InputAlone input(Roster{1, 1}, 128 << 10, 1 << 21);
  const auto sent = input.begin();
  EXPECT_EQ(input.alone.machine.counters().contributions, 8u);
  EXPECT_EQ(count(sent, MessageType::written), 8u);
  const auto first =
      std::find_if(sent.begin(), sent.end(), [](const Sent& s) { return !s.bytes.empty(); });
  EXPECT_EQ(first - sent.begin(), 2) << "behind the writes of content and descriptor";
}

TEST(an_input_node_alone, does_not_credit_compute_nodes_with_what_others_built) {
  InputAlone input(Roster{2, 1});
  input.begin();
  ASSERT_EQ(input.alone.machine.view().number, input.first_view());
  // Others went on without this node, and are a hundred timeslices further.
  View later{.number = 9, .first = TimesliceIndex(100)};
  later.inputs = IndexSet(2);
  later.inputs.insert(1);
  later.computes = all(1);
  later.forgotten = IndexSet(1);
  input.alone.receive(1, later);
  ASSERT_EQ(input.alone.machine.view().number, 9u);
  for (const BuiltBy& built : input.alone.machine.built_by()) {
    EXPECT_EQ(built.run.count, 0u) << "compute node " << built.compute;
  }
}

/// Its leader decides by the promise's list of done timeslices.
TEST(an_input_node_alone, does_not_count_as_done_what_was_given_up_after_its_promise) {
  InputAlone input(Roster{2, 1});
  input.begin(false);
  Prepare prepare{.number = 5, .base = input.first_view()};
  prepare.inputs = all(2);
  prepare.computes = all(1);
  prepare.forgotten = IndexSet(1);
  input.alone.receive(1, prepare);
  const auto sent = input.alone.turn();
  ASSERT_EQ(count(sent, MessageType::promise), 1u);
  const TimesliceIndex before = input.alone.machine.consumed();
  input.alone.receive(2, GivenUp{.view = input.first_view(), .below = TimesliceIndex(1000)});
  EXPECT_EQ(input.alone.machine.consumed(), before);
}

/// A node that was stopped hears of both when it continues, over two connections.
/// With 512 input nodes, numbers of views that follow each other agree in their last 9 bits.
TEST(an_input_node_alone, takes_no_write_of_an_earlier_view_for_one_of_this_view) {
  InputAlone input(Roster{512, 1});
  const NodeId compute = input.roster.compute_node(0);
  const auto earlier = input.begin();
  const std::uint32_t number = 2 * input.first_view();
  input.alone.receive(1, Prepare{.number = number,
                                 .base = input.first_view(),
                                 .inputs = all(512),
                                 .computes = all(1),
                                 .forgotten = IndexSet(1)});
  input.alone.turn();
  input.alone.receive(
      1, View{.number = number, .inputs = all(512), .computes = all(1), .forgotten = IndexSet(1)});
  Hello hello{.view = number};
  hello.data.length = input.ring_bytes;
  hello.descriptors.length = 64 * sizeof(ContributionDescriptor);
  input.alone.receive(compute.value(), hello);
  const auto again = input.alone.turn();
  ASSERT_EQ(input.alone.machine.counters().contributions, 16u);
  input.alone.receive(compute.value(),
                      Credit{.view = number, .received = 8, .released = 8, .released_bytes = 0});
  const auto complete = [&](const std::vector<Sent>& writes) {
    for (const Sent& write : writes) {
      if (!PairSender::is_write(write.context)) continue;
      input.alone.machine.on_completion(
          {}, {.kind = CompletionKind::written, .peer = compute, .context = write.context});
    }
  };
  complete(earlier);
  EXPECT_EQ(input.alone.machine.consumed(), TimesliceIndex(0)) << "its bytes are being written";
  complete(again);
  EXPECT_EQ(input.alone.machine.consumed(), TimesliceIndex(8));
}

TEST(an_input_node_alone, skips_what_was_given_up_in_a_view_that_it_hears_of_later) {
  InputAlone input(Roster{1, 1});
  input.alone.turn();
  const TimesliceIndex below(3);
  input.alone.receive(1, GivenUp{.view = input.first_view(), .below = below});
  input.begin();
  ASSERT_EQ(input.alone.machine.view().number, input.first_view());
  EXPECT_EQ(input.alone.machine.consumed(), below);
}

/// Its source may read a pipe, which cannot go back.
TEST(an_input_node_alone, keeps_what_it_read_when_it_joins_the_stream_in_the_midst_of_that) {
  InputAlone input(Roster{2, 1});
  input.begin(false);
  View others{.number = 5, .inputs = IndexSet(2), .computes = all(1), .forgotten = IndexSet(1)};
  others.inputs.insert(1);
  input.alone.receive(1, others);
  input.alone.receive(
      1,
      Prepare{
          .number = 7, .base = 5, .inputs = all(2), .computes = all(1), .forgotten = IndexSet(1)});
  input.alone.turn();
  input.alone.receive(1, View{.number = 7,
                              .first = TimesliceIndex(3),
                              .inputs = all(2),
                              .computes = all(1),
                              .forgotten = IndexSet(1)});
  ASSERT_EQ(input.alone.machine.consumed(), TimesliceIndex(3));
  EXPECT_FALSE(input.alone.machine.take_seek());
  EXPECT_EQ(input.buffer.oldest(), 3u);
  EXPECT_EQ(input.buffer.next(), 8u);
}

TEST(an_input_node_alone, passes_over_any_number_of_timeslices_that_were_given_up_at_once) {
  for (const std::uint64_t below : {std::uint64_t{1} << 40, std::uint64_t{1} << 62}) {
    InputAlone input(Roster{1, 2});
    input.begin(false);
    // No credit: nothing is under way.
    for (const std::uint32_t compute : {1U, 2U}) {
      input.alone.receive(compute,
                          GivenUp{.view = input.first_view(), .below = TimesliceIndex(below)});
    }
    EXPECT_EQ(input.alone.machine.consumed(), TimesliceIndex(below));
    EXPECT_EQ(input.alone.machine.take_seek(), below);
    EXPECT_EQ(input.alone.machine.counters().refused_messages, 0U);
    input.alone.turn();
    input.buffer.reserve(1);
    input.buffer.commit({});
    EXPECT_EQ(input.alone.machine.readiness(TimesliceIndex(below)),
              schedule::Readiness::unreachable);
  }
}

/// Its leader waits for the promise, and others for the node itself, while it looks at what is
/// done.
TEST(an_input_node_alone, leaves_a_view_of_any_length_at_once) {
  const TimesliceIndex far_off(std::uint64_t{1} << 40);
  InputAlone input(Roster{2, 2});
  input.begin(false);
  for (const std::uint32_t compute : {2U, 3U}) {
    input.alone.receive(compute, GivenUp{.view = input.first_view(), .below = far_off});
  }
  Prepare prepare{.number = 5, .base = input.first_view(), .inputs = all(2), .computes = all(2)};
  prepare.forgotten = all(2);
  input.alone.receive(1, prepare);
  const auto sent = input.alone.turn();
  const auto promised = std::find_if(sent.begin(), sent.end(), [](const Sent& s) {
    return message_type(s.bytes) == MessageType::promise;
  });
  ASSERT_NE(promised, sent.end());
  const auto promise = decode_promise(promised->bytes, input.roster);
  ASSERT_TRUE(promise && promise->done.size() == 2);
  EXPECT_EQ(promise->done[0].below, far_off);
  EXPECT_EQ(promise->done[1].below, far_off.plus(1));
  View next{.number = 5, .first = far_off.plus(4), .inputs = all(2), .computes = all(2)};
  next.forgotten = all(2);
  input.alone.receive(1, next);
  const auto built = input.alone.machine.built_by();
  ASSERT_EQ(built.size(), 2U);
  for (const BuiltBy& b : built) EXPECT_EQ(b.run.count, far_off.value() / 2 + 2);
}

TEST(an_input_node_alone, goes_on_with_what_one_of_its_compute_nodes_still_waits_for) {
  InputAlone input(Roster{1, 2});
  input.begin();
  input.alone.receive(2, GivenUp{.view = input.first_view(), .below = TimesliceIndex(1ULL << 40)});
  input.alone.turn();
  using schedule::Readiness;
  EXPECT_EQ(input.alone.machine.readiness(TimesliceIndex(8)), Readiness::no_data);
  EXPECT_EQ(input.alone.machine.readiness(TimesliceIndex(9)), Readiness::started);
  input.buffer.reserve(1);
  input.buffer.commit({});
  EXPECT_EQ(input.alone.machine.readiness(TimesliceIndex(8)), Readiness::sendable);
}

TEST(an_input_node_alone, refuses_to_pass_over_more_than_any_stream_has) {
  InputAlone input(Roster{1, 1});
  input.begin(false);
  for (const TimesliceIndex below : {TimesliceIndex::max(), TimesliceIndex((1ULL << 62) + 1)}) {
    input.alone.receive(1, GivenUp{.view = input.first_view(), .below = below});
    input.alone.receive(1, GivenUp{.view = input.first_view() + 1, .below = below});
  }
  EXPECT_EQ(input.alone.machine.counters().refused_messages, 4U);
  EXPECT_EQ(input.alone.machine.consumed(), TimesliceIndex(0));
  EXPECT_FALSE(input.alone.machine.take_seek());
}

TEST(an_input_node_alone, passes_over_no_more_than_the_stream_has) {
  InputAlone input(Roster{1, 1});
  input.begin(false);
  input.alone.machine.on_source_ended();
  input.alone.receive(1, GivenUp{.view = input.first_view(), .below = TimesliceIndex(1ULL << 40)});
  EXPECT_EQ(input.alone.machine.consumed(), TimesliceIndex(8));
  EXPECT_EQ(count(input.alone.turn(), MessageType::bye), 1U);
}

/// Compute node 0 of a job whose input nodes are played by hand.
struct ComputeAlone {
  explicit ComputeAlone(Roster r, Duration give_up_after,
                        std::unique_ptr<schedule::ComputeSchedule> schedule =
                            std::make_unique<schedule::SilentComputeSchedule>())
      : roster(r),
        content(r.inputs, Mirrored(4096)),
        records(r.inputs, std::vector<ContributionDescriptor>(16)),
        alone(ComputeConfig{.roster = r, .give_up_after = give_up_after}, memory(),
              std::move(schedule)) {
    for (std::uint32_t i = 0; i < roster.inputs; ++i) alone.up(i);
  }
  std::vector<PairMemory> memory() {
    std::vector<PairMemory> pairs;
    for (std::uint32_t i = 0; i < roster.inputs; ++i) {
      pairs.push_back(
          {.data = content[i].view(), .descriptors = std::as_bytes(std::span(records[i]))});
    }
    return pairs;
  }
  /// Takes it from its question to its view.
  std::vector<Sent> begin(View view) {
    view.inputs = all(roster.inputs);
    view.computes = all(roster.computes);
    view.forgotten = IndexSet(roster.computes);
    Prepare prepare{.number = view.number, .base = alone.machine.current_view().number};
    prepare.inputs = view.inputs;
    prepare.computes = view.computes;
    prepare.forgotten = view.forgotten;
    alone.receive(0, prepare);
    alone.turn();
    alone.receive(0, view);
    written.assign(roster.inputs, 0);
    return alone.turn();
  }
  void contribute(std::uint32_t input, std::uint64_t timeslice) {
    ContributionDescriptor& d = records[input][written[input] % 16];
    d = {.timeslice = timeslice, .position = 0, .size = 0, .microslices = 0};
    alone.receive(input, Written{.view = alone.machine.current_view().number,
                                 .descriptors = ++written[input]});
  }
  std::size_t delivered() {
    alone.turn();
    const std::size_t n = alone.out.deliver.size();
    alone.out.deliver.clear();
    alone.out.built.clear();
    return n;
  }

  Roster roster;
  std::vector<Mirrored> content;
  std::vector<std::vector<ContributionDescriptor>> records;
  std::vector<std::uint64_t> written;
  Alone<ComputeMachine> alone;
};

/// It may have gone on elsewhere: whether to do without it is for the next view to say.
TEST(a_compute_node_alone, does_not_give_up_on_an_input_node_that_is_not_connected) {
  ComputeAlone compute(Roster{2, 1}, Duration::milliseconds(20));
  compute.begin({.number = 1});
  compute.contribute(0, 0);
  compute.alone.down(1);
  compute.alone.now = compute.alone.now + Duration::milliseconds(100);
  EXPECT_EQ(compute.delivered(), 0u);
  compute.alone.up(1);
  EXPECT_EQ(compute.delivered(), 1u) << "connected again, and late";
}

/// A contribution to a timeslice that the sink still holds would meet the held one.
TEST(a_compute_node_alone, offers_no_memory_while_the_sink_holds_what_is_to_come_again) {
  ComputeAlone compute(Roster{2, 1}, Duration::milliseconds(20));
  EXPECT_EQ(count(compute.begin({.number = 1}), MessageType::hello), 2u);
  compute.contribute(0, 0);
  compute.alone.now = compute.alone.now + Duration::milliseconds(100);
  ASSERT_EQ(compute.delivered(), 1u) << "without node 1, of whose ring the sink holds nothing";
  // The input nodes do not know that it was delivered, and begin with it again.
  EXPECT_EQ(count(compute.begin({.number = 2}), MessageType::hello), 0u);
  compute.alone.machine.release(TimesliceIndex(0));
  EXPECT_EQ(count(compute.alone.turn(), MessageType::hello), 2u);
}

/// Waits for a moment until it is asked, and then for the next one.
struct Waiting final : schedule::ComputeSchedule {
  void on_grid(Instant now, const schedule::RoundGrid&, std::uint32_t) override { due = now; }
  void on_input(Instant, std::uint32_t, bool) override {}
  void on_contribution(Instant, std::uint32_t, TimesliceIndex, ByteCount) override {}
  void on_given_up(Instant, std::uint32_t, TimesliceIndex) override {}
  void on_message(Instant, std::uint32_t, std::span<const std::byte>) override {}
  void write_messages(Instant now, schedule::MessageBox&) override {
    due = now + Duration::milliseconds(1);
  }
  Instant next_deadline() const override { return due; }
  Instant due = Instant::never();
};

/// It would turn again and again for a schedule that nobody asks.
TEST(a_compute_node_alone, waits_for_no_moment_of_a_view_that_went_on_without_it) {
  ComputeAlone compute(Roster{2, 1}, Duration::max(), std::make_unique<Waiting>());
  compute.begin({.number = 1});
  compute.alone.turn();
  EXPECT_GT(compute.alone.machine.next_deadline(), compute.alone.now);
  EXPECT_NE(compute.alone.machine.next_deadline(), Instant::never());
  View next{.number = 2};
  next.inputs = all(2);
  next.computes = IndexSet(1);
  next.forgotten = IndexSet(1);
  compute.alone.receive(0, next);
  compute.alone.now = compute.alone.now + Duration::milliseconds(100);
  compute.alone.turn();
  EXPECT_GT(compute.alone.machine.next_deadline(), compute.alone.now);
}

}  // namespace
}  // namespace weft::stream
