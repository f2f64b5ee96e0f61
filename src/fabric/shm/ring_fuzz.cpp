// SPDX-License-Identifier: Apache-2.0
// A ring whose other side is hostile: any words anywhere, before and between calls. The consumer
// stays within the ring (the address sanitizer watches: nothing lies beside it), comes to an end,
// and the producer never writes beside it either. The contents of records are decoded, too.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "base/check.hpp"
#include "fabric/shm/hello.hpp"
#include "fabric/shm/ring.hpp"

using namespace weft;
using namespace weft::shm;

namespace {

constexpr std::size_t kSize = 1024;

struct Free {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t(kRingOffset));
  }
};

// Does what the other process may do at any time: three bytes choose the place and the value.
void meddle(const RingMemory& ring, std::span<const std::uint8_t> input) {
  if (input.size() < 3) return;
  const std::size_t half_line = input[0] % (kSize / kHalfLine);
  std::uint64_t word = encode({.kind = static_cast<RecordKind>(input[1] % 6),
                               .is_half = input[1] % 4 == 3,
                               .size = input[2] * std::uint32_t{5}});
  if (input[1] >= 250) word = std::uint64_t{input[2]} << 56 | 1;
  if (input[0] >= 240) {
    ring.control->consumed[0] = std::uint64_t{input[1]} * input[2];
  } else {
    std::memcpy(ring.data + half_line * kHalfLine, &word, sizeof word);
  }
}

void consume(Consumer& consumer) {
  Consumer::Record record;
  for (std::size_t i = 0; i < kSize / kHalfLine; ++i) {
    if (consumer.look(record) != Consumer::Look::record) return;
    std::uint8_t sum = 0;
    for (const std::byte b : record.payload) sum ^= static_cast<std::uint8_t>(b);
    [[maybe_unused]] volatile std::uint8_t sink = sum;
    if (const auto write = decode_write(record.payload)) {
      WEFT_CHECK(write->rest >= record.payload.size() - sizeof *write);
    }
    if (const auto pull = decode_pull(record.payload)) {
      WEFT_CHECK(pull->size() >= pull->pieces[0].size);
    }
    consumer.advance();
  }
  consumer.release();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(
      ::operator new[](kRingOffset + kSize, std::align_val_t(kRingOffset))));
  const std::span<std::byte> all(memory.get(), kRingOffset + kSize);
  std::ranges::fill(all, std::byte{});
  const RingMemory ring = RingMemory::at(all);
  const std::span<const std::uint8_t> input(data, size);
  // The first bytes as they are, so that mutations reach every word.
  std::memcpy(ring.data, data, std::min(size, kSize));
  Consumer consumer(ring);
  consume(consumer);
  Producer producer(ring);
  for (std::size_t at = 0; at + 4 <= input.size(); at += 4) {
    meddle(ring, input.subspan(at, 3));
    if (input[at + 3] % 2 == 0) {
      consume(consumer);
      continue;
    }
    const std::size_t wanted = input[at + 3] * std::size_t{2};
    if (wanted > largest_payload(kSize)) continue;
    if (input[at + 3] % 3 == 0) producer.keep_line();
    if (std::byte* const place = producer.reserve(wanted)) {
      std::memset(place, input[at], wanted);
      producer.publish(RecordKind::message);
    }
  }
  [[maybe_unused]] const auto note = decode_note(std::as_bytes(input));
  return 0;
}
