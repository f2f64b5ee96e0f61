// SPDX-License-Identifier: Apache-2.0
// Question: how much of a processor's time does a small message cost, sender and receiver together?
// Two processes' message layers over shared memory, turned in one thread: nobody waits, and the
// figure does not depend on how many cores are free. Prints nanoseconds per message, of the fabric
// alone, of the whole, and of the whole with messages that are kept for later lives of the
// receiver, the median over batches and their range.
//
//   bench_message_cost [BYTES [BATCHES]]      by default 8 bytes, 41 batches of 20,000
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fabric/shm/shm.hpp"
#include "measuring.hpp"
#include "process/messenger.hpp"
#include "process/process_group.hpp"
#include "runtime/clock.hpp"

namespace {

using namespace weft;

constexpr int messages_per_batch = 20'000;

class NoWaiter final : public Waiter {
 public:
  Instant now() override { return monotonic_now(); }
  void busy(Instant) override {}
  void idle(Instant, Fabric&, Instant) override {}
};

std::unique_ptr<ShmFabric> open_endpoint(std::uint32_t self) {
  auto opened = open_shm({.self = NodeId(self),
                          .incarnation = Incarnation(1),
                          .job_id = "cost",
                          .secret = std::vector<std::byte>(32)});
  if (!opened) throw std::runtime_error(opened.error().message);
  return std::move(opened).value();
}

void introduce(std::array<std::unique_ptr<ShmFabric>, 2>& fabrics) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto added =
        fabrics[i]->add_peer(NodeId(1 - i), Incarnation(1), fabrics[1 - i]->address());
    if (!added) throw std::runtime_error(added.error().message);
  }
}

/// Nanoseconds per message of each batch.
template <class Exchange>
void measure(const char* what, int batches, Exchange&& exchange) {
  std::vector<double> times;
  for (int batch = -1; batch < batches; ++batch) {
    const double took_s = bench::seconds_of([&] {
      for (int i = 0; i < messages_per_batch / 2; ++i) exchange();
    });
    if (batch >= 0) times.push_back(took_s * 1e9 / messages_per_batch);
  }
  const bench::Figure took = bench::summarise(std::move(times));
  fmt::print("{} {:.1f} ns ({:.1f} to {:.1f})\n", what, took.median, took.low, took.high);
}

void measure_messages(const char* what, std::size_t bytes, int batches, bool retain) {
  std::array<std::unique_ptr<ShmFabric>, 2> fabrics = {open_endpoint(0), open_endpoint(1)};
  introduce(fabrics);
  NoWaiter waiter;
  std::array<std::unique_ptr<Messenger>, 2> messengers;
  std::array<std::unique_ptr<ProcessGroup>, 2> worlds;
  for (std::uint32_t i = 0; i < 2; ++i) {
    messengers[i] = std::make_unique<Messenger>(
        *fabrics[i], waiter,
        message::MessageOptions{.self = NodeId(i), .nodes = 2, .retain = retain});
    worlds[i] = ProcessGroup::world(*messengers[i], 2);
  }
  std::vector<std::byte> data(bytes);
  // Asking for one that never comes gives the process a turn.
  std::array<Operation, 2> never;
  for (std::uint32_t i = 0; i < 2; ++i)
    never[i] = worlds[i]->start_receive(Rank(1 - i), Tag(2), {});
  const auto pass = [&](std::uint32_t from) {
    const Operation receive = worlds[1 - from]->start_receive(Rank(from), Tag(1), data);
    const Operation send = worlds[from]->start_send(Rank(1 - from), Tag(1), data);
    while (!worlds[1 - from]->is_done(receive)) (void)worlds[from]->is_done(never[from]);
    (void)worlds[1 - from]->wait(receive);
    (void)worlds[from]->wait(send);
  };
  measure(what, batches, [&] {
    pass(0);
    pass(1);
  });
}

void measure_fabric(std::size_t bytes, int batches) {
  std::array<std::unique_ptr<ShmFabric>, 2> fabrics = {open_endpoint(0), open_endpoint(1)};
  introduce(fabrics);
  std::array<Completion, 64> room;
  const std::vector<std::byte> data(bytes);
  const auto poll = [&](std::uint32_t of, CompletionKind wanted) {
    const std::size_t n = fabrics[of]->poll(monotonic_now(), room);
    return std::any_of(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n),
                       [&](const Completion& c) { return c.kind == wanted; });
  };
  bool up0 = false, up1 = false;
  while (!up0 || !up1) {
    up0 |= poll(0, CompletionKind::peer_up);
    up1 |= poll(1, CompletionKind::peer_up);
  }
  const auto pass = [&](std::uint32_t from) {
    TxOp op;
    op.peer = NodeId(1 - from);
    op.segments[0] = data;
    while (fabrics[from]->post({&op, 1}) == 0) (void)poll(from, CompletionKind::sent);
    while (!poll(1 - from, CompletionKind::received)) (void)poll(from, CompletionKind::sent);
  };
  measure("fabric", batches, [&] {
    pass(0);
    pass(1);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::stoull(argv[1]) : 8;
  const int batches = argc > 2 ? std::stoi(argv[2]) : 41;
  measure_fabric(bytes, batches);
  measure_messages("message", bytes, batches, false);
  measure_messages("message, kept", bytes, batches, true);
  return 0;
}
