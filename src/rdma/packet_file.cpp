// SPDX-License-Identifier: Apache-2.0
#include "rdma/packet_file.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint64_t beginning_ns = 1'600'000'000'000'000'000;  // any day will do
constexpr std::uint32_t memory_key = 0x1234;

wire::NodeAddress address_of(std::uint32_t host, bool is_infiniband) {
  if (is_infiniband) return wire::NodeAddress::lid(static_cast<std::uint16_t>(host + 1));
  return wire::NodeAddress::ipv4(0x0A00'0000U | ((host + 1) & 0xFF'FFFF));
}

}  // namespace

wire::RdmaFrame frame_of(const net::rc::Packet& packet, const PacketEnds& ends,
                         wire::LinkType link) {
  const bool is_infiniband = link == wire::LinkType::infiniband;
  wire::RdmaFrame frame;
  frame.source = address_of(ends.from_host, is_infiniband);
  frame.destination = address_of(ends.to_host, is_infiniband);
  frame.source_port = static_cast<std::uint16_t>(49'152 + ends.flow % 16'384);
  wire::Bth& bth = frame.packet.bth;
  bth.opcode = packet.opcode;
  bth.queue_pair = ends.queue_pair;
  bth.psn = packet.psn;
  bth.wants_ack = packet.wants_ack;
  if (wire::has_reth(packet.opcode)) {
    frame.packet.reth = wire::Reth{packet.address, memory_key, packet.length};
  }
  if (wire::has_aeth(packet.opcode)) {
    frame.packet.aeth = wire::Aeth{packet.syndrome, packet.message_number};
  }
  frame.packet.payload = packet.payload;
  return frame;
}

Result<PacketFile> PacketFile::create(const std::string& path, Existing existing) {
  if (auto good = refuse_existing(path, existing); !good) return good.error();
  const auto format = wire::capture_format_of(path);
  const auto link =
      format == wire::CaptureFormat::erf ? wire::LinkType::infiniband : wire::LinkType::ethernet;
  auto writer = wire::CaptureWriter::create(path, format, link);
  if (!writer) return std::move(writer).error();
  return PacketFile(std::move(writer).value());
}

void PacketFile::write(Instant at, const net::rc::Packet& packet, const PacketEnds& ends) {
  if (!state_) return;
  frame_.resize(wire::frame_overhead + packet.payload);
  const std::size_t size =
      wire::write_frame(writer_.link(), frame_of(packet, ends, writer_.link()), frame_);
  state_ = writer_.write(beginning_ns + static_cast<std::uint64_t>(at.ticks()),
                         std::span(frame_).first(size), static_cast<std::uint32_t>(size));
}

Result<void> PacketFile::commit() {
  if (!state_) return state_;
  return writer_.commit();
}

}  // namespace weft::rdma
