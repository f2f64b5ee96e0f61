// SPDX-License-Identifier: Apache-2.0
// TapFile: what a tap at the client's port sees, as a capture file: RoCEv2 over Ethernet, or for
// ERF, as ibdump writes it, InfiniBand.
#pragma once

#include <string>
#include <vector>

#include "rdma/two_hosts.hpp"
#include "weft/result.hpp"
#include "wire/capture/capture_writer.hpp"

namespace weft::rdma {

/// A packet of the model as a frame: client 10.0.0.1 or LID 1, its queue pair i has number 256 + i;
/// server 10.0.0.2 or LID 2, queue pair 65536 + i.
wire::RdmaFrame frame_of(const TappedPacket& tapped, wire::LinkType link);

/// One thread. The file appears whole with `commit`.
class TapFile {
 public:
  static Result<TapFile> create(const std::string& path);
  /// Errors are kept for `commit`.
  void write(const TappedPacket& tapped);
  Result<void> commit();

 private:
  explicit TapFile(wire::CaptureWriter writer) : writer_(std::move(writer)) {}

  wire::CaptureWriter writer_;
  std::vector<std::byte> frame_;
  Result<void> state_;
};

}  // namespace weft::rdma
