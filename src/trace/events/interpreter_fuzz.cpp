// SPDX-License-Identifier: Apache-2.0
// Records in any order, as a broken tool may write them.
#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "trace/events/interpreter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::trace;
  const Communicators communicators{{0, 1, 2}, {}, {2, 0}};
  Interpreter interpreter(0, communicators, 4);
  std::uint64_t number = 0;
  std::uint64_t time_ns = 0;
  const auto look = [&](const Event& event) {
    if (event.kind != Event::Kind::send && event.kind != Event::Kind::receive) return;
    WEFT_CHECK(event.peer < 3 || event.peer == no_peer);
  };
  // Few bits of each, so that requests and members meet.
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    time_ns += data[i + 3] & 0x0fU;
    const Record record{.time_ns = time_ns,
                        .bytes = data[i + 3],
                        .more = data[i + 1] & 0x07U,
                        .peer = data[i + 1] & 0x03U,
                        .tag = data[i + 2] & 0x03,
                        .communicator = static_cast<std::uint32_t>(data[i + 2] >> 6U),
                        .operation = static_cast<std::uint16_t>(data[i + 2] & 0x1fU),
                        .kind = static_cast<Record::Kind>(data[i] % 17)};
    if (!interpreter.add(record, ++number)) return 0;
    while (interpreter.is_ready()) look(interpreter.take());
  }
  interpreter.finish();
  for (Event event; (event = interpreter.take()).kind != Event::Kind::end;) look(event);
  return 0;
}
