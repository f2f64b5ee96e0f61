// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "rdma/verbs/bench.hpp"
#include "rdma/verbs/device.hpp"

namespace weft::rdma {
namespace {

// A client that connects and sends nothing must not keep others out for long.
constexpr Duration hello_limit = Duration::seconds(5);

/// The server's resources for one client.
struct Lent {
  Buffer buffer;
  QueuePairs queue_pairs;
};

Result<Lent> lend(const Device& device, const Hello& hello) {
  auto buffer = Buffer::create(device, {.bytes = hello.buffer_bytes,
                                        .is_readable = true,
                                        .memory = wanted(hello.wants_paged, hello.wants_prefetch)});
  if (!buffer) return std::move(buffer).error();
  const auto count = static_cast<std::uint32_t>(hello.queue_pairs.size());
  auto queue_pairs = QueuePairs::create(device, count, 1);
  if (!queue_pairs) return std::move(queue_pairs).error();
  if (hello.purpose == Purpose::benchmark) {
    auto good =
        queue_pairs->connect(device, hello.port, hello.queue_pairs, {.rnr_timer = hello.rnr_timer});
    if (!good) return std::move(good).error();
  }
  return Lent{std::move(buffer).value(), std::move(queue_pairs).value()};
}

/// True when the server welcomed the client. The server tells a refused client the reason.
Result<bool> serve_one(const Device& device, ControlConnection& client, const StopCheck& stop,
                       const std::function<void(const std::string&)>& tell) {
  const auto refuse = [&](const std::string& why) -> Result<bool> {
    tell("refused: " + why);
    auto said = client.send(encode(Refusal{why}), hello_limit, stop);
    if (!said && said.error().code == ErrorCode::cancelled) return std::move(said).error();
    return false;
  };
  const auto bytes = client.receive(hello_limit, stop);
  if (!bytes) {
    if (bytes.error().code == ErrorCode::cancelled) return bytes.error();
    return refuse(bytes.error().message);
  }
  const auto hello = decode_hello(*bytes);
  if (!hello) return refuse(hello.error().message);
  auto lent = lend(device, *hello);
  if (!lent) return refuse(lent.error().message);
  const Welcome welcome{.memory = lent->buffer.memory(),
                        .address = lent->buffer.address(),
                        .key = lent->buffer.region().rkey,
                        .port = device.address(),
                        .queue_pairs = lent->queue_pairs.addresses()};
  tell(fmt::format("{} queue pairs, {} bytes {}{}", hello->queue_pairs.size(), hello->buffer_bytes,
                   to_text(welcome.memory),
                   hello->purpose == Purpose::silence ? ", which answer nothing" : ""));
  auto good = client.send(encode(welcome), hello_limit, stop);
  if (good) good = client.wait_for_end(stop);
  if (!good && good.error().code == ErrorCode::cancelled) return std::move(good).error();
  return true;
}

}  // namespace

Result<void> serve_bench(const ServeOptions& options, const StopCheck& stop,
                         const ServerNews& news) {
  const auto device = Device::open(options.device);
  if (!device) return device.error();
  const auto listener = ControlListener::open(options.place);
  if (!listener) return listener.error();
  news.listens(listener->port(), device->name());
  for (;;) {
    auto client = listener->accept(stop);
    if (!client) return {};  // asked to stop
    const auto welcomed = serve_one(*device, client->first, stop, [&](const std::string& line) {
      news.client(fmt::format("{}: {}", client->second, line));
    });
    if (!welcomed) return {};
    if (*welcomed && options.once) return {};
  }
}

}  // namespace weft::rdma
