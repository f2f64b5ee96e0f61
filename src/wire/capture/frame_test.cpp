// SPDX-License-Identifier: Apache-2.0
#include "wire/capture/frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "wire/archive/golden.hpp"

namespace weft::wire {
namespace {

std::optional<RdmaFrame> read(LinkType link, std::span<const std::byte> bytes) {
  return read_frame(link, bytes, static_cast<std::uint32_t>(bytes.size()), true);
}

TEST(icrc, of_a_known_frame_and_of_one_that_an_adapter_sent_is_right) {
  for (const char* name : {"roce_uc_send.frame", "roce_cnp.frame"}) {
    auto bytes = golden(name);
    const auto frame = read(LinkType::ethernet, bytes);
    ASSERT_TRUE(frame) << name;
    EXPECT_EQ(frame->icrc, IcrcState::right) << name;
    // Any bit that no switch may change counts; those of the time to live do not.
    bytes[14 + 8] ^= std::byte{7};
    EXPECT_EQ(read(LinkType::ethernet, bytes)->icrc, IcrcState::right);
    bytes[14 + 20 + 8 + 9] ^= std::byte{1};
    EXPECT_EQ(read(LinkType::ethernet, bytes)->icrc, IcrcState::wrong);
  }
}

TEST(icrc, crc_of_the_check_string_is_the_published_one) {
  Crc32 crc;
  const std::string text = "123456789";
  crc.add(std::as_bytes(std::span(text)));
  EXPECT_EQ(crc.value(), 0xCBF4'3926u);
}

TEST(frames, known_frame_reads_as_its_fields) {
  const auto frame = read(LinkType::ethernet, golden("roce_uc_send.frame"));
  ASSERT_TRUE(frame);
  EXPECT_EQ(to_text(frame->source), "192.168.0.7");
  EXPECT_EQ(frame->source_port, 49152);
  EXPECT_EQ(frame->packet.bth.queue_pair, 211u);
  EXPECT_EQ(frame->packet.bth.psn, 13571856u);
  EXPECT_EQ(frame->packet.bth.pad, 2);
  EXPECT_EQ(frame->packet.payload, 18u);
  EXPECT_FALSE(is_reliable_connection(frame->packet.bth.opcode));
}

RdmaFrame any_frame(Rng& rng, Opcode opcode, NodeAddress::Kind kind) {
  RdmaFrame f;
  f.source = {kind, kind == NodeAddress::Kind::ipv6 ? rng.next() : 0, rng.below(0xFFFF)};
  f.destination = {kind, kind == NodeAddress::Kind::ipv6 ? rng.next() : 0, rng.below(0xFFFF)};
  if (kind != NodeAddress::Kind::lid) f.source_port = static_cast<std::uint16_t>(rng.below(65536));
  f.packet.bth.opcode = opcode;
  f.packet.bth.queue_pair = static_cast<std::uint32_t>(rng.below(psn_mask));
  f.packet.bth.psn = static_cast<std::uint32_t>(rng.below(psn_mask));
  f.packet.bth.wants_ack = rng.below(2) == 1;
  if (has_reth(opcode)) f.packet.reth = Reth{rng.next(), 7, 100};
  if (has_aeth(opcode)) f.packet.aeth = Aeth{rnr_nak_syndrome(14), 12};
  if (is_atomic(opcode)) f.packet.atomic = AtomicEth{1, 2, 3, 4};
  f.packet.payload = static_cast<std::uint32_t>(rng.below(1500));
  return f;
}

TEST(frames, of_every_opcode_and_network_read_as_they_were_written_with_a_right_icrc) {
  Rng rng(4);
  for (std::uint8_t code = 0; code <= 0x17; ++code) {
    const auto opcode = static_cast<Opcode>(code);
    if (!is_reliable_connection(opcode)) continue;
    for (const auto kind :
         {NodeAddress::Kind::ipv4, NodeAddress::Kind::ipv6, NodeAddress::Kind::lid}) {
      const LinkType link =
          kind == NodeAddress::Kind::lid ? LinkType::infiniband : LinkType::ethernet;
      const RdmaFrame written = any_frame(rng, opcode, kind);
      std::array<std::byte, 2048> out{};
      const std::size_t size = write_frame(link, written, out);
      const auto frame = read(link, std::span(out).first(size));
      ASSERT_TRUE(frame) << to_text(opcode);
      EXPECT_EQ(frame->icrc, IcrcState::right);
      EXPECT_EQ(frame->source, written.source);
      EXPECT_EQ(frame->destination, written.destination);
      EXPECT_EQ(frame->source_port, written.source_port);
      EXPECT_EQ(frame->packet.bth.psn, written.packet.bth.psn);
      EXPECT_EQ(frame->packet.bth.queue_pair, written.packet.bth.queue_pair);
      EXPECT_EQ(frame->packet.bth.wants_ack, written.packet.bth.wants_ack);
      EXPECT_EQ(frame->packet.payload, written.packet.payload);
      if (written.packet.aeth) {
        EXPECT_EQ(frame->packet.aeth->code(), 14);
      }
      if (written.packet.reth) {
        EXPECT_EQ(frame->packet.reth->address, written.packet.reth->address);
      }
      // Behind the ICRC of InfiniBand there is another checksum, of two bytes.
      const std::size_t before_icrc_ends = link == LinkType::infiniband ? size - 2 : size;
      // Cut anywhere, a frame either reads or does not; nothing lies behind its end.
      for (std::size_t kept = 0; kept < std::min<std::size_t>(before_icrc_ends, 120); ++kept) {
        const std::vector<std::byte> cut(out.begin(), out.begin() + static_cast<long>(kept));
        const auto part = read_frame(link, cut, static_cast<std::uint32_t>(size), true);
        if (part) {
          EXPECT_EQ(part->icrc, IcrcState::unchecked);
        }
      }
    }
  }
}

TEST(frames, that_were_cut_behind_their_transport_header_are_read_without_what_follows) {
  RdmaFrame written;
  written.source = NodeAddress::ipv4(1);
  written.destination = NodeAddress::ipv4(2);
  written.packet.bth.opcode = Opcode::read_request;
  written.packet.bth.psn = 77;
  written.packet.reth = Reth{4096, 5, 64};
  std::array<std::byte, frame_overhead> out{};
  const std::size_t size = write_frame(LinkType::ethernet, written, out);
  // As tcpdump -s 64 leaves them: 14 + 20 + 8 + 12 bytes, and ten of the RETH.
  const auto frame = read_frame(LinkType::ethernet, std::span(out).first(64),
                                static_cast<std::uint32_t>(size), true);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->packet.bth.psn, 77u);
  EXPECT_FALSE(frame->packet.reth);
}

TEST(frames, that_were_cut_within_their_headers_may_have_been_rdma) {
  const auto kind = [](LinkType link, std::span<const std::byte> bytes, std::size_t original) {
    RdmaFrame frame;
    return read_frame(link, bytes, static_cast<std::uint32_t>(original), true, frame);
  };
  const auto rdma = golden("roce_uc_send.frame");
  for (std::size_t kept = 0; kept < rdma.size(); ++kept) {
    const auto part = std::span(rdma).first(kept);
    const bool is_read = kept >= 14 + 20 + 8 + 12;
    EXPECT_EQ(kind(LinkType::ethernet, part, rdma.size()),
              is_read ? FrameKind::rdma : FrameKind::cut)
        << kept;
    if (is_read) continue;
    EXPECT_EQ(kind(LinkType::ethernet, part, kept), FrameKind::other) << kept;
  }
  auto tcp = rdma;
  tcp[14 + 9] = std::byte{6};
  EXPECT_EQ(kind(LinkType::ethernet, std::span(tcp).first(14 + 10), tcp.size()), FrameKind::other);
  EXPECT_EQ(kind(static_cast<LinkType>(147), rdma, rdma.size()), FrameKind::unknown_link);
  EXPECT_EQ(kind(LinkType::infiniband, std::span(rdma).first(7), 100), FrameKind::cut);
}

TEST(frames, other_traffic_is_none_of_ours) {
  auto bytes = golden("roce_uc_send.frame");
  bytes[14 + 20 + 3] = std::byte{0};  // another port
  EXPECT_FALSE(read(LinkType::ethernet, bytes));
  EXPECT_FALSE(read(static_cast<LinkType>(9999), bytes));
}

TEST(psn, distance_wraps_around) {
  EXPECT_EQ(psn_distance(1, 0xFF'FFFF), 2);
  EXPECT_EQ(psn_distance(0xFF'FFFF, 1), -2);
}

TEST(rnr_timer, codes_are_those_of_the_table) {
  EXPECT_EQ(rnr_timer_ns[0], 655'360'000);
  EXPECT_EQ(rnr_code_of(1'280'000), 14);
  EXPECT_EQ(rnr_code_of(1'280'001), 15);
  EXPECT_EQ(rnr_code_of(655'360'000), 0);
  EXPECT_EQ(rnr_code_of(655'360'001), std::nullopt);
  for (std::uint8_t code = 2; code < 32; ++code) {
    EXPECT_GT(rnr_timer_ns[code], rnr_timer_ns[code - 1U] % rnr_timer_ns[0]);
  }
}

}  // namespace
}  // namespace weft::wire
