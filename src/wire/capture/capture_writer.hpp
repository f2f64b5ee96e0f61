// SPDX-License-Identifier: Apache-2.0
// CaptureWriter: writes frames to a capture file that Wireshark reads: pcap with nanoseconds,
// pcapng, or ERF records.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/whole_file.hpp"
#include "weft/result.hpp"
#include "wire/capture/frame.hpp"

namespace weft::wire {

enum class CaptureFormat : std::uint8_t { pcap, pcapng, erf };

/// By a file's name: ".pcapng" and ".erf", otherwise pcap.
CaptureFormat capture_format_of(const std::string& path);

/// The file appears whole when `commit` succeeds, or not at all. One thread.
class CaptureWriter {
 public:
  /// `link` is ethernet or infiniband, for all frames. Errors: no place for the file.
  static Result<CaptureWriter> create(const std::string& path, CaptureFormat format, LinkType link);

  /// `original` is the frame's length on the wire, of which `bytes` is the beginning.
  Result<void> write(std::uint64_t time_ns, std::span<const std::byte> bytes,
                     std::uint32_t original);
  Result<void> commit() { return file_.commit(); }

  CaptureFormat format() const { return format_; }
  LinkType link() const { return link_; }

 private:
  CaptureWriter(WholeFile file, CaptureFormat format, LinkType link)
      : file_(std::move(file)), format_(format), link_(link) {}

  WholeFile file_;
  CaptureFormat format_;
  LinkType link_;
};

}  // namespace weft::wire
