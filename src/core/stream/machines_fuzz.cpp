// SPDX-License-Identifier: Apache-2.0
// Hostile messages to both machines: no message makes them read or write out of bounds, or post
// operations beyond their limits.
#include <cstdint>
#include <vector>

#include "core/schedule/grant.hpp"
#include "core/stream/compute_machine.hpp"
#include "core/stream/input_machine.hpp"

namespace {

using namespace weft;
using namespace weft::stream;

constexpr Roster roster{2, 2};

struct Memory {
  std::vector<std::byte> data = std::vector<std::byte>(2 * 256);
  std::vector<std::byte> descriptors = std::vector<std::byte>(4 * 20);
};

/// The input is a list of (node, kind, length, bytes) that becomes completions.
template <class Machine>
void feed(Machine& machine, Outbox& out, std::span<const std::byte> bytes, auto&& turn) {
  wire::Reader in(bytes);
  Instant now{};
  while (in.left() > 0 && in.ok()) {
    Completion c;
    c.peer = NodeId(in.get<std::uint8_t>() % 5);
    const auto kind = in.get<std::uint8_t>();
    c.kind = static_cast<CompletionKind>(kind % 6);
    c.incarnation = Incarnation(kind / 6 % 2);
    c.context = in.get<std::uint16_t>();
    c.data = in.get_bytes(std::min<std::size_t>(in.get<std::uint8_t>(), in.left()));
    machine.on_completion(now, c);
    now = now + Duration::microseconds(1);
    turn(now);
    out.posted(out.tx.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Outbox out(64, 64 << 10);
  std::vector<Memory> memory(2);
  std::vector<PairMemory> pairs;
  for (auto& m : memory) {
    PairMemory pair;
    pair.data = {m.data.data(), m.data.size() / 2};
    pair.descriptors = m.descriptors;
    pairs.push_back(pair);
  }
  ComputeMachine compute({.roster = roster}, pairs, schedule::make_grant_compute({}, 2));
  feed(compute, out, bytes, [&](Instant now) {
    compute.turn(now, out);
    for (const Delivery& d : out.deliver.view()) compute.release(d.timeslice);
    out.deliver.clear();
    out.built.clear();
  });

  std::vector<std::byte> content(2 * 1024), descriptors(2 * 1024);
  InputBuffer buffer({content.data(), 1024}, {descriptors.data(), 1024});
  InputConfig config{.roster = roster};
  config.window = 64;
  InputMachine input(config, buffer, schedule::make_grant_input(0, 2, 1));
  feed(input, out, bytes, [&](Instant now) {
    if (buffer.reserve(50).data() != nullptr) buffer.commit({});
    input.turn(now, out);
  });
  return 0;
}
