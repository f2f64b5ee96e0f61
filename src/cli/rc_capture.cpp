// SPDX-License-Identifier: Apache-2.0
#include "cli/rc_capture.hpp"

#include <utility>

namespace weft::cli {
namespace {

constexpr std::uint64_t beginning_ns = 1'600'000'000'000'000'000;  // any day will do
constexpr std::uint32_t memory_key = 0x1234;
constexpr std::uint32_t first_queue_pair = 256;

wire::NodeAddress address_of(std::uint32_t host, bool is_infiniband) {
  if (is_infiniband) return wire::NodeAddress::lid(static_cast<std::uint16_t>(host + 1));
  return wire::NodeAddress::ipv4(0x0A00'0000U | ((host + 1) & 0xFF'FFFF));
}

}  // namespace

wire::RdmaFrame frame_of(const sim::RcTapped& tapped, wire::LinkType link) {
  const net::rc::Packet& packet = tapped.packet;
  const bool is_infiniband = link == wire::LinkType::infiniband;
  wire::RdmaFrame frame;
  frame.source = address_of(tapped.leaves ? tapped.host : tapped.peer, is_infiniband);
  frame.destination = address_of(tapped.leaves ? tapped.peer : tapped.host, is_infiniband);
  frame.source_port = static_cast<std::uint16_t>(49'152 + tapped.requester_queue_pair % 16'384);
  wire::Bth& bth = frame.packet.bth;
  bth.opcode = packet.opcode;
  bth.queue_pair = first_queue_pair +
                   (tapped.is_request ? tapped.responder_queue_pair : tapped.requester_queue_pair);
  bth.psn = packet.psn;
  bth.wants_ack = packet.wants_ack;
  if (wire::has_reth(packet.opcode)) {
    frame.packet.reth = wire::Reth{packet.address, memory_key, packet.length};
  }
  if (wire::has_aeth(packet.opcode)) frame.packet.aeth = wire::Aeth{packet.syndrome, 0};
  frame.packet.payload = packet.payload;
  return frame;
}

Result<RcCapture> RcCapture::create(const std::string& path) {
  const auto format = wire::capture_format_of(path);
  const auto link =
      format == wire::CaptureFormat::erf ? wire::LinkType::infiniband : wire::LinkType::ethernet;
  auto writer = wire::CaptureWriter::create(path, format, link);
  if (!writer) {
    return Error{writer.error().code, "--capture: " + writer.error().message};
  }
  return RcCapture(std::move(writer).value());
}

void RcCapture::write(const sim::RcTapped& tapped) {
  if (!state_) return;
  frame_.resize(wire::frame_overhead + tapped.packet.payload);
  const std::size_t size =
      wire::write_frame(writer_.link(), frame_of(tapped, writer_.link()), frame_);
  state_ = writer_.write(beginning_ns + static_cast<std::uint64_t>(tapped.at.ticks()),
                         std::span(frame_).first(size), static_cast<std::uint32_t>(size));
}

Result<void> RcCapture::commit() {
  if (!state_) return state_;
  return writer_.commit();
}

}  // namespace weft::cli
