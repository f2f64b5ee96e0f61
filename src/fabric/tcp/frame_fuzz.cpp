// SPDX-License-Identifier: Apache-2.0
// Any bytes, cut anyhow: the reader stays within its buffer and the exposed regions (the address
// sanitizer watches), says no more than max_message, and never stalls without a reason.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "fabric/tcp/frame_reader.hpp"

using namespace weft;
using namespace weft::tcp;

namespace {

constexpr std::size_t kMaxMessage = 300;
constexpr std::size_t kBuffer = 512;

// The first byte of the input says how much one read brings, the second when to release.
void feed(FrameReader& reader, std::span<const std::uint8_t> input) {
  const std::size_t largest = input[0] + std::size_t{1};
  const std::size_t release_every = input[1] % 7 + std::size_t{1};
  input = input.subspan(2);
  for (std::size_t step = 1;; ++step) {
    FrameReader::Event event;
    while ((event = reader.next()) == FrameReader::Event::message ||
           event == FrameReader::Event::drain) {
      if (event == FrameReader::Event::drain) continue;
      WEFT_CHECK(reader.message().size() <= kMaxMessage);
      std::uint8_t sum = 0;
      for (const std::byte b : reader.message()) sum ^= static_cast<std::uint8_t>(b);
      [[maybe_unused]] volatile std::uint8_t sink = sum;
    }
    if (event == FrameReader::Event::bad) return;
    if (input.empty()) return;
    FrameReader::Plan plan;
    if (step % release_every == 0) reader.release();
    std::size_t entries = reader.plan(plan);
    if (entries == 0) {
      reader.release();
      entries = reader.plan(plan);
    }
    WEFT_CHECK(entries > 0);
    std::size_t read = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::size_t n = std::min({plan[i].iov_len, input.size(), largest - read});
      std::memcpy(plan[i].iov_base, input.data(), n);
      input = input.subspan(n);
      read += n;
    }
    WEFT_CHECK(read > 0);
    reader.filled(read);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // Keys are small numbers, so that the fuzzer finds them: slot 0 of generation 1 and slot 1 of 2.
  RegionTable regions(1);
  std::vector<std::byte> first(100), second(20'000);
  regions.expose(first);
  regions.expose(second);
  ReceiveBuffers pool(kBuffer);
  FrameReader reader(pool, regions, kMaxMessage);
  feed(reader, {data, size});
  return 0;
}
