// SPDX-License-Identifier: Apache-2.0
// RcCapture: what a tap at a simulated host's port sees of reliable connections, as a capture file.
#pragma once

#include <string>
#include <vector>

#include "sim/rc/reliable_connections.hpp"
#include "weft/result.hpp"
#include "wire/capture/capture_writer.hpp"

namespace weft::cli {

/// Host n is 10.x.y.z with n + 1 in the last three, or LID n + 1 (modulo 2^16).
wire::RdmaFrame frame_of(const sim::RcTapped& tapped, wire::LinkType link);

/// One thread. The file appears whole with `commit`.
class RcCapture {
 public:
  /// pcap, pcapng or ERF, as the name ends.
  static Result<RcCapture> create(const std::string& path);
  /// Errors are kept for `commit`.
  void write(const sim::RcTapped& tapped);
  Result<void> commit();

 private:
  explicit RcCapture(wire::CaptureWriter writer) : writer_(std::move(writer)) {}

  wire::CaptureWriter writer_;
  std::vector<std::byte> frame_;
  Result<void> state_;
};

}  // namespace weft::cli
