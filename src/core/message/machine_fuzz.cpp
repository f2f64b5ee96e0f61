// SPDX-License-Identifier: Apache-2.0
// Hostile frames: no frame of a peer makes the machine read or write out of bounds, or keep more
// than fits the inbox.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/message/machine.hpp"

namespace {

using namespace weft;
using namespace weft::message;

/// What it takes is read, so that a sanitizer sees where it lies.
class Taken final : public Sink {
 public:
  void take(std::span<const std::byte> bytes) override {
    for (const std::byte value : bytes) sum_ = sum_ ^ static_cast<std::uint8_t>(value);
  }
  void fail(Failure) override {}

 private:
  volatile std::uint8_t sum_ = 0;
};

/// The fabric takes what is queued, and carries out the writes.
void leave(MessageMachine& machine, TransmitQueue& out) {
  for (const TxOp& op : out.tx.view()) {
    if (op.kind != OpKind::write) continue;
    machine.on_completion(
        Instant(), {.kind = CompletionKind::written, .peer = op.peer, .context = op.context}, out);
  }
  out.posted(out.tx.size());
}

void run(std::span<const std::byte> input, bool retain) {
  constexpr std::uint32_t nodes = 3;
  MessageMachine machine({.self = NodeId(0),
                          .nodes = nodes,
                          .eager_limit = 64,
                          .inbox = ByteCount::kib(32),
                          .retain = retain,
                          .give_up_after = Duration::seconds(1)},
                         Instant());
  TransmitQueue out(64, 16 << 10);
  std::array<std::byte, 256> sent{}, room{};
  Taken taken;
  bool listens = false;
  wire::Reader in(input);
  while (in.left() > 0 && in.ok()) {
    const auto what = in.get<std::uint8_t>();
    const NodeId peer(1 + in.get<std::uint8_t>() % (nodes - 1));
    const std::size_t length = std::min<std::size_t>(in.get<std::uint8_t>(), in.left());
    const auto bytes = in.get_bytes(length);
    if (what >= 0xf0 && machine.store().ok()) machine.commit();
    const FlowKey flow{.generation = Generation(what % 2), .tag = Tag(what % 3)};
    if (what == 0xe0 && !std::exchange(listens, true)) {
      machine.listen(peer, {.generation = Generation(2)}, taken);
    }
    if (what == 0xe2 && length % 8 == 0) {
      machine.stop_keeping([&](NodeId) { return Incarnation(1 + length / 8 % 3); });
    }
    if (what == 0xe1 && out.tx.empty()) {
      (void)machine.send_at_once(peer, flow, {}, std::span(sent).first(length % 64),
                                 [&](auto) { return length % 2 == 0; });
    }
    switch (what % 6) {
      case 0:
        machine.on_completion(
            Instant(),
            {.kind = CompletionKind::peer_up, .peer = peer, .incarnation = Incarnation(length % 4)},
            out);
        break;
      case 1:
        machine.on_completion(Instant(), {.kind = CompletionKind::peer_down, .peer = peer}, out);
        break;
      case 2:
        (void)machine.send(peer, flow, std::span(sent).first(length));
        break;
      case 3:
        (void)machine.receive(peer, flow, std::span(room).first(length), {.length = length});
        break;
      default:
        machine.on_completion(Instant(), {.peer = peer, .data = bytes}, out);
        break;
    }
    machine.pump(out);
    leave(machine, out);
    if (machine.inbox_bytes() > ByteCount::kib(64)) std::abort();
  }
}

}  // namespace

/// The input is a list of (event, peer, length, bytes).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  run(input, false);
  run(input, true);
  return 0;
}
