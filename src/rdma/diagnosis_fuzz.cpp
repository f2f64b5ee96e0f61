// SPDX-License-Identifier: Apache-2.0
// A diagnosis ends, and says nothing impossible, for any packets in any order.
// The input is packets of 16 bytes: any opcode, any PSN, a few hosts and queue pairs.
#include <cstdint>

#include "base/check.hpp"
#include "rdma/diagnosis.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  constexpr std::size_t record = 16;
  rdma::Diagnosis diagnosis;
  std::uint64_t time = 1'600'000'000'000'000'000, number = 0;
  for (; size >= record; data += record, size -= record) {
    wire::RdmaFrame frame;
    // Mostly forward, by up to seconds; sometimes back.
    const std::uint64_t step = std::uint64_t{data[0]} << (data[1] % 24);
    time = (data[1] & 0x80) != 0 ? time - step : time + step;
    frame.source = wire::NodeAddress::ipv4(0x0A00'0000U | (data[2] & 3));
    frame.destination = wire::NodeAddress::ipv4(0x0A00'0000U | (data[2] >> 2 & 3));
    frame.source_port = data[3];
    wire::Bth& bth = frame.packet.bth;
    bth.opcode = static_cast<wire::Opcode>(data[4]);
    bth.queue_pair = data[5] & 7;
    bth.wants_ack = (data[5] & 0x80) != 0;
    bth.psn = (std::uint32_t{data[6]} << 16 | std::uint32_t{data[7]} << 8 | data[8]);
    if (wire::has_reth(bth.opcode)) {
      const std::uint32_t length = std::uint32_t{data[9]} << (data[10] & 31);
      frame.packet.reth = wire::Reth{data[11], 1, length};
    }
    if (wire::has_aeth(bth.opcode)) frame.packet.aeth = wire::Aeth{data[12], data[13]};
    frame.packet.payload = std::uint32_t{data[14]} << 4;
    diagnosis.add(++number, time, frame);
  }
  const std::uint64_t packets = diagnosis.packets();
  WEFT_CHECK(packets <= number);
  for (const rdma::Finding& finding : diagnosis.finish()) {
    WEFT_CHECK(finding.first_packet >= 1 && finding.first_packet <= finding.last_packet &&
                   finding.last_packet <= number,
               "packets {} to {} of {}", finding.first_packet, finding.last_packet, number);
    WEFT_CHECK(!rdma::advice_for(finding.kind).empty());
  }
  return 0;
}
