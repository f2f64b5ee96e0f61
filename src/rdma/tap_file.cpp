// SPDX-License-Identifier: Apache-2.0
#include "rdma/tap_file.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint64_t beginning_ns = 1'600'000'000'000'000'000;  // any day will do
constexpr std::uint32_t client_queue_pairs = 256;
constexpr std::uint32_t server_queue_pairs = 65'536;
constexpr std::uint32_t memory_key = 0x1234;

}  // namespace

wire::RdmaFrame frame_of(const TappedPacket& tapped, wire::LinkType link) {
  const net::rc::Packet& packet = tapped.packet;
  wire::RdmaFrame frame;
  const bool is_infiniband = link == wire::LinkType::infiniband;
  const auto client =
      is_infiniband ? wire::NodeAddress::lid(1) : wire::NodeAddress::ipv4(0x0A00'0001);
  const auto server =
      is_infiniband ? wire::NodeAddress::lid(2) : wire::NodeAddress::ipv4(0x0A00'0002);
  frame.source = tapped.from_client ? client : server;
  frame.destination = tapped.from_client ? server : client;
  frame.source_port = static_cast<std::uint16_t>(49'152 + packet.queue_pair % 16'384);
  wire::Bth& bth = frame.packet.bth;
  bth.opcode = packet.opcode;
  bth.queue_pair =
      (tapped.from_client ? server_queue_pairs : client_queue_pairs) + packet.queue_pair;
  bth.psn = packet.psn;
  bth.wants_ack = packet.wants_ack;
  if (wire::has_reth(packet.opcode)) {
    frame.packet.reth = wire::Reth{packet.address, memory_key, packet.length};
  }
  if (wire::has_aeth(packet.opcode)) frame.packet.aeth = wire::Aeth{packet.syndrome, 0};
  frame.packet.payload = packet.payload;
  return frame;
}

Result<TapFile> TapFile::create(const std::string& path) {
  const auto format = wire::capture_format_of(path);
  const auto link =
      format == wire::CaptureFormat::erf ? wire::LinkType::infiniband : wire::LinkType::ethernet;
  auto writer = wire::CaptureWriter::create(path, format, link);
  if (!writer) return std::move(writer).error();
  return TapFile(std::move(writer).value());
}

void TapFile::write(const TappedPacket& tapped) {
  if (!state_) return;
  frame_.resize(wire::frame_overhead + tapped.packet.payload);
  const std::size_t size =
      wire::write_frame(writer_.link(), frame_of(tapped, writer_.link()), frame_);
  state_ = writer_.write(beginning_ns + static_cast<std::uint64_t>(tapped.at.ticks()),
                         std::span(frame_).first(size), static_cast<std::uint32_t>(size));
}

Result<void> TapFile::commit() {
  if (!state_) return state_;
  return writer_.commit();
}

}  // namespace weft::rdma
