// SPDX-License-Identifier: Apache-2.0
// A message that decodes must encode to the same bytes.
#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "stream/cluster/rendezvous_messages.hpp"

namespace {

template <class Message>
void expect_same(const Message& message, std::span<const std::byte> bytes) {
  static std::array<std::byte, 3 * weft::stream::largest_rendezvous_message> buffer;
  if (bytes.size() > buffer.size()) return;
  weft::wire::Writer out(buffer);
  weft::stream::encode(message, out);
  WEFT_CHECK(out.size() == bytes.size() &&
             std::memcmp(buffer.data(), bytes.data(), bytes.size()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::stream;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)rendezvous_kind(bytes);
  (void)decode_time_request(bytes);
  if (const auto m = decode_rendezvous_hello(bytes)) expect_same(*m, bytes);
  if (const auto m = decode_rendezvous_progress(bytes)) expect_same(*m, bytes);
  if (const auto m = decode_report_piece(bytes)) expect_same(*m, bytes);
  if (const auto m = decode_time_reply(bytes)) expect_same(*m, bytes);
  return 0;
}
