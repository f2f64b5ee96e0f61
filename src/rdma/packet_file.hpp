// SPDX-License-Identifier: Apache-2.0
// PacketFile: packets of modelled adapters as a capture file, of two hosts or a whole simulation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/existing_file.hpp"
#include "net/rc/packet.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"
#include "wire/capture/capture_writer.hpp"

namespace weft::rdma {

/// The hosts between which a packet of the model goes, and the number of its queue pair.
struct PacketEnds {
  std::uint32_t from_host = 0;
  std::uint32_t to_host = 0;
  std::uint32_t queue_pair = 0;  ///< of the one that it goes to
  std::uint32_t flow = 0;        ///< its source port is drawn from it
};

/// Host n is 10.x.y.z with n + 1 in the last three, or LID n + 1 (modulo 2^16).
wire::RdmaFrame frame_of(const net::rc::Packet& packet, const PacketEnds& ends,
                         wire::LinkType link);

/// One thread. The file appears whole with `commit`.
class PacketFile {
 public:
  /// pcap, pcapng or ERF, as the name ends. A file of that name stays unless `existing` replaces
  /// it.
  static Result<PacketFile> create(const std::string& path, Existing existing);
  /// At that time of the model. Errors are kept for `commit`.
  void write(Instant at, const net::rc::Packet& packet, const PacketEnds& ends);
  Result<void> commit();

 private:
  explicit PacketFile(wire::CaptureWriter writer) : writer_(std::move(writer)) {}

  wire::CaptureWriter writer_;
  std::vector<std::byte> frame_;
  Result<void> state_;
};

}  // namespace weft::rdma
