// SPDX-License-Identifier: Apache-2.0
// Captures written packet by packet, for tests of what a diagnosis finds in them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "rdma/diagnosis.hpp"
#include "wire/capture/infiniband.hpp"

namespace weft::rdma {

/// Packets between one requester and one responder, at times in microseconds.
class Packets {
 public:
  explicit Packets(std::size_t queue_pairs = Diagnosis::most_queue_pairs)
      : diagnosis_(queue_pairs) {}
  void request(std::int64_t at_us, std::uint32_t psn) {
    add(at_us, {.bth = {.opcode = wire::Opcode::send_only, .queue_pair = queue_pair_, .psn = psn}},
        true);
  }
  void acknowledge(std::int64_t at_us, std::uint32_t psn, std::uint8_t syndrome = 0x1F) {
    add(at_us,
        {.bth = {.opcode = wire::Opcode::acknowledge, .queue_pair = queue_pair_ + 1, .psn = psn},
         .aeth = wire::Aeth{syndrome, 0}},
        false);
  }
  void nak(std::int64_t at_us, std::uint32_t psn) {
    acknowledge(at_us, psn, wire::sequence_nak_syndrome);
  }
  /// A READ, its answer's packets being of `mtu` bytes.
  void read(std::int64_t at_us, std::uint32_t psn, std::uint32_t packets = 1) {
    add(at_us,
        {.bth = {.opcode = wire::Opcode::read_request, .queue_pair = queue_pair_, .psn = psn},
         .reth = wire::Reth{std::uint64_t{psn} * mtu, 1, packets * mtu}},
        true);
  }
  void response(std::int64_t at_us, std::uint32_t psn,
                wire::Opcode opcode = wire::Opcode::read_response_only) {
    wire::TransportPacket packet{
        .bth = {.opcode = opcode, .queue_pair = queue_pair_ + 1, .psn = psn}, .payload = mtu};
    if (wire::has_aeth(opcode)) packet.aeth = wire::Aeth{wire::ack_syndrome, 0};
    add(at_us, packet, false);
  }
  /// The clock is set: later packets have times that differ by so much more.
  void set_clock(std::int64_t by_us) { clock_us_ += by_us; }
  /// Later packets go between others.
  void between(std::uint32_t queue_pair) { queue_pair_ = queue_pair; }
  std::vector<Finding> finish() { return diagnosis_.finish(); }
  const Diagnosis& diagnosis() const { return diagnosis_; }

 private:
  static constexpr std::uint32_t mtu = 4'096;

  void add(std::int64_t at_us, const wire::TransportPacket& packet, bool to_responder) {
    wire::RdmaFrame frame;
    frame.source = wire::NodeAddress::ipv4(to_responder ? 1 : 2);
    frame.destination = wire::NodeAddress::ipv4(to_responder ? 2 : 1);
    frame.packet = packet;
    diagnosis_.add(++number_, 1'000 * static_cast<std::uint64_t>(clock_us_ + at_us), frame);
  }
  Diagnosis diagnosis_;
  std::uint64_t number_ = 0;
  std::uint32_t queue_pair_ = 7;
  std::int64_t clock_us_ = 0;
};

/// "loss 1-4" per finding, by the numbers of its packets.
inline std::string told(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& f : findings) {
    all += fmt::format("{}{} {}-{}", all.empty() ? "" : ", ", to_text(f.kind), f.first_packet,
                       f.last_packet);
  }
  return all;
}

}  // namespace weft::rdma
