// SPDX-License-Identifier: Apache-2.0
#include "core/message/history.hpp"

#include <algorithm>

#include "base/crc32c.hpp"
#include "wire/codec.hpp"

namespace weft::message {
namespace {

constexpr std::uint64_t magic = 0x3253'4948'5446'4557;  // "WEFTHIS2"
constexpr std::uint32_t longest_run = 1024;
constexpr std::size_t flow_bytes = 13;
constexpr std::size_t message_bytes = 9;

/// Appends to memory that grows.
class Collector {
 public:
  template <class T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_flow(const FlowKey& flow) {
    put(flow.generation.value());
    put(flow.tag.value());
    put(flow.type);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  std::span<const std::byte> view() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// So many things of at least `each` bytes may follow.
bool may_follow(const wire::Reader& in, std::uint64_t count, std::size_t each) {
  return in.ok() && count <= in.left() / each;
}

bool take_flow(wire::Reader& in, FlowKey& flow) {
  flow.generation = Generation(in.get<std::uint64_t>());
  flow.tag = Tag(in.get<std::uint32_t>());
  flow.type = static_cast<MessageType>(in.get<std::uint8_t>());
  return flow.type == MessageType::point_to_point || flow.type == MessageType::collective;
}

bool take_sends(wire::Reader& in, StoredSends& sends) {
  if (!take_flow(in, sends.flow)) return false;
  sends.first = in.get<std::uint64_t>();
  sends.digest_before = in.get<std::uint64_t>();
  sends.digest = in.get<std::uint64_t>();
  const auto count = in.get<std::uint64_t>();
  if (!may_follow(in, count, message_bytes) || sends.first > UINT64_MAX - count) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    StoredMessage message;
    const auto gone = in.get<std::uint8_t>();
    message.is_gone = gone == 1;
    const auto size = in.get<std::uint64_t>();
    if (gone > 1 || (message.is_gone && size > 0) || size > in.left()) return false;
    message.bytes = in.get_bytes(size);
    sends.kept.push_back(message);
  }
  return in.ok();
}

bool take_pair(wire::Reader& in, StoredPair& pair) {
  pair.peer = NodeId(in.get<std::uint32_t>());
  const auto sends = in.get<std::uint32_t>();
  const auto receives = in.get<std::uint32_t>();
  if (!may_follow(in, sends, flow_bytes + 32)) return false;
  for (std::uint32_t i = 0; i < sends; ++i) {
    if (!take_sends(in, pair.sends.emplace_back())) return false;
  }
  if (!may_follow(in, receives, flow_bytes + 16)) return false;
  for (std::uint32_t i = 0; i < receives; ++i) {
    StoredReceives& flow = pair.receives.emplace_back();
    if (!take_flow(in, flow.flow)) return false;
    flow.next = in.get<std::uint64_t>();
    flow.digest = in.get<std::uint64_t>();
  }
  return in.ok();
}

bool take_history(wire::Reader& in, History& history) {
  if (in.get<std::uint64_t>() != magic) return false;
  const auto length = in.get<std::uint32_t>();
  if (length > longest_run) return false;
  const auto run = in.get_bytes(length);
  history.run.assign(reinterpret_cast<const char*>(run.data()), run.size());
  history.self = NodeId(in.get<std::uint32_t>());
  history.nodes = in.get<std::uint32_t>();
  const auto pairs = in.get<std::uint32_t>();
  if (!may_follow(in, pairs, 12) || pairs > history.nodes) return false;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    StoredPair& pair = history.pairs.emplace_back();
    if (!take_pair(in, pair) || pair.peer.value() >= history.nodes) return false;
    // In order, so that nobody is there twice.
    if (i > 0 && history.pairs[i - 1].peer >= pair.peer) return false;
  }
  return in.done();
}

}  // namespace

std::vector<std::byte> encode(const History& history) {
  Collector out;
  out.put(magic);
  const std::string_view run = std::string_view(history.run).substr(0, longest_run);
  out.put(static_cast<std::uint32_t>(run.size()));
  out.put_bytes(std::as_bytes(std::span(run)));
  out.put(history.self.value());
  out.put(history.nodes);
  out.put(static_cast<std::uint32_t>(history.pairs.size()));
  for (const StoredPair& pair : history.pairs) {
    out.put(pair.peer.value());
    out.put(static_cast<std::uint32_t>(pair.sends.size()));
    out.put(static_cast<std::uint32_t>(pair.receives.size()));
    for (const StoredSends& sends : pair.sends) {
      out.put_flow(sends.flow);
      out.put(sends.first);
      out.put(sends.digest_before);
      out.put(sends.digest);
      out.put(std::uint64_t{sends.kept.size()});
      for (const StoredMessage& message : sends.kept) {
        out.put(std::uint8_t{message.is_gone});
        out.put(std::uint64_t{message.bytes.size()});
        out.put_bytes(message.bytes);
      }
    }
    for (const StoredReceives& receives : pair.receives) {
      out.put_flow(receives.flow);
      out.put(receives.next);
      out.put(receives.digest);
    }
  }
  out.put(crc32c(out.view()));
  return out.take();
}

Result<History> decode_history(std::span<const std::byte> bytes) {
  const Error damaged{ErrorCode::corrupt,
                      "the history of messages is damaged, or was written by another version"};
  constexpr std::size_t checksum_bytes = sizeof(std::uint32_t);
  if (bytes.size() < checksum_bytes) return damaged;
  const auto content = bytes.first(bytes.size() - checksum_bytes);
  wire::Reader checksum(bytes.last(checksum_bytes));
  if (checksum.get<std::uint32_t>() != crc32c(content)) return damaged;
  History history;
  wire::Reader in(content);
  if (!take_history(in, history)) return damaged;
  return history;
}

}  // namespace weft::message
