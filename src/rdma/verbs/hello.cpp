// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/hello.hpp"

#include <algorithm>

#include "base/make_error.hpp"
#include "wire/codec.hpp"

namespace weft::rdma {
namespace {

using wire::Reader;
using wire::Writer;

constexpr std::uint64_t magic = 0x4250'444F'5446'4557;  // "WEFTODBP"
enum class Kind : std::uint8_t { hello = 1, welcome = 2, refusal = 3 };

constexpr std::uint32_t most_24_bits = 0xFF'FFFF;
constexpr std::uint8_t most_mtu_code = 5;
constexpr std::uint8_t most_rnr_code = 31;
constexpr std::uint8_t flag_paged = 1;
constexpr std::uint8_t flag_prefetch = 2;

void put_head(Writer& out, Kind kind) {
  out.put(magic);
  out.put(exchange_version);
  out.put(kind);
}

void put_port(Writer& out, const PortAddress& port) {
  out.fields(port.gid, port.lid, port.mtu, port.read_depth);
}

void put_queue_pairs(Writer& out, const std::vector<QueuePairAddress>& queue_pairs) {
  out.put(static_cast<std::uint32_t>(queue_pairs.size()));
  for (const QueuePairAddress& address : queue_pairs) {
    out.fields(address.number, address.psn);
  }
}

template <class Fill>
std::vector<std::byte> encoded(Kind kind, Fill fill) {
  std::vector<std::byte> bytes(longest_message);
  Writer out(bytes);
  put_head(out, kind);
  fill(out);
  bytes.resize(out.size());
  return bytes;
}

Result<Kind> read_head(Reader& in) {
  if (in.get<std::uint64_t>() != magic || !in.ok()) {
    return corrupt("that is not `weft odp bench`: no magic number");
  }
  const auto version = in.get<std::uint16_t>();
  if (version != exchange_version) {
    return corrupt(
        "version {} of the exchange, and this weft has {}: use the same weft on both hosts",
        version, exchange_version);
  }
  const auto kind = in.get<std::uint8_t>();
  if (!in.ok()) return corrupt("it ends within its head");
  if (kind < 1 || kind > 3) return corrupt("{} is no kind of message", kind);
  return static_cast<Kind>(kind);
}

Result<void> read_port(Reader& in, PortAddress& port) {
  in.fields(port.gid, port.lid, port.mtu, port.read_depth);
  if (!in.ok()) return corrupt("it ends within the port's address");
  if (port.mtu < 1 || port.mtu > most_mtu_code) {
    return corrupt("{} is no code of an MTU", port.mtu);
  }
  return {};
}

/// The last part of a message.
Result<void> read_queue_pairs(Reader& in, std::vector<QueuePairAddress>& queue_pairs) {
  const auto count = in.get<std::uint32_t>();
  if (!in.ok() || count == 0 || count > most_queue_pairs) {
    return corrupt("{} queue pairs: 1 to {} are possible", count, most_queue_pairs);
  }
  if (in.left() != std::size_t{count} * 8) {
    return corrupt("{} bytes for {} queue pairs", in.left(), count);
  }
  queue_pairs.resize(count);
  for (QueuePairAddress& address : queue_pairs) {
    in.fields(address.number, address.psn);
    if (address.number > most_24_bits || address.psn > most_24_bits) {
      return corrupt("a queue pair's number or PSN has more than 24 bits");
    }
  }
  return {};
}

std::string printable(std::string_view text) {
  std::string line(text.substr(0, longest_refusal));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

Result<Welcome> read_welcome(Reader& in) {
  Welcome welcome;
  const auto memory = in.get<std::uint8_t>();
  if (memory > static_cast<std::uint8_t>(fabric::MemoryMode::prefetched)) {
    return corrupt("{} is no kind of memory", memory);
  }
  welcome.memory = static_cast<fabric::MemoryMode>(memory);
  in.fields(welcome.address, welcome.key);
  if (auto good = read_port(in, welcome.port); !good) return std::move(good).error();
  if (auto good = read_queue_pairs(in, welcome.queue_pairs); !good) return std::move(good).error();
  return welcome;
}

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  return encoded(Kind::hello, [&](Writer& out) {
    out.put(hello.purpose);
    const int flags =
        (hello.wants_paged ? flag_paged : 0) | (hello.wants_prefetch ? flag_prefetch : 0);
    out.put(static_cast<std::uint8_t>(flags));
    out.put(hello.rnr_timer);
    out.put(hello.buffer_bytes);
    put_port(out, hello.port);
    put_queue_pairs(out, hello.queue_pairs);
  });
}

std::vector<std::byte> encode(const Welcome& welcome) {
  return encoded(Kind::welcome, [&](Writer& out) {
    out.fields(welcome.memory, welcome.address, welcome.key);
    put_port(out, welcome.port);
    put_queue_pairs(out, welcome.queue_pairs);
  });
}

std::vector<std::byte> encode(const Refusal& refusal) {
  return encoded(Kind::refusal, [&](Writer& out) {
    const std::string why = printable(refusal.why);
    out.put_bytes(std::as_bytes(std::span(why)));
  });
}

Result<Hello> decode_hello(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const auto kind = read_head(in);
  if (!kind) return kind.error();
  if (*kind != Kind::hello) return corrupt("it is not the hello of a client");
  Hello hello;
  const auto purpose = in.get<std::uint8_t>();
  const auto flags = in.get<std::uint8_t>();
  hello.rnr_timer = in.get<std::uint8_t>();
  hello.buffer_bytes = in.get<std::uint64_t>();
  if (purpose > static_cast<std::uint8_t>(Purpose::silence)) {
    return corrupt("{} is no purpose", purpose);
  }
  if ((flags & ~(flag_paged | flag_prefetch)) != 0) return corrupt("it has unknown flags");
  if (hello.rnr_timer > most_rnr_code) {
    return corrupt("{} is no code of an RNR timer", hello.rnr_timer);
  }
  if (hello.buffer_bytes == 0 || hello.buffer_bytes > most_buffer_bytes) {
    return corrupt("a buffer of {} bytes: 1 to {} are possible", hello.buffer_bytes,
                   most_buffer_bytes);
  }
  hello.purpose = static_cast<Purpose>(purpose);
  hello.wants_paged = (flags & flag_paged) != 0;
  hello.wants_prefetch = (flags & flag_prefetch) != 0;
  if (auto good = read_port(in, hello.port); !good) return std::move(good).error();
  if (auto good = read_queue_pairs(in, hello.queue_pairs); !good) return std::move(good).error();
  return hello;
}

Result<std::variant<Welcome, Refusal>> decode_answer(std::span<const std::byte> bytes) {
  using Answer = std::variant<Welcome, Refusal>;
  Reader in(bytes);
  const auto kind = read_head(in);
  if (!kind) return kind.error();
  if (*kind == Kind::hello) return corrupt("it is the hello of a client, not a server's answer");
  if (*kind == Kind::welcome) {
    auto welcome = read_welcome(in);
    if (!welcome) return std::move(welcome).error();
    return Answer(std::move(welcome).value());
  }
  const auto why = in.get_bytes(in.left());
  return Answer(Refusal{printable({reinterpret_cast<const char*>(why.data()), why.size()})});
}

}  // namespace weft::rdma
