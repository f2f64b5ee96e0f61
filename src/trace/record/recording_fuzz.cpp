// SPDX-License-Identifier: Apache-2.0
// Recordings of two ranks as broken disks and programs leave them, merged and looked through.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "trace/otf2/otf2_trace.hpp"
#include "trace/record/recorder.hpp"
#include "trace/record/recording.hpp"

namespace {

using namespace weft::trace;
namespace fs = std::filesystem;

/// In memory, where there is such a place, until the end.
struct Directory {
  Directory()
      : path(::access("/dev/shm", W_OK) == 0 ? "/dev/shm/weft-fuzz-XXXXXX"
                                             : "/tmp/weft-fuzz-XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

/// A head that fits, and records of few bits each, so that requests, members and peers meet; the
/// last bytes as they are.
void write(const fs::path& path, std::uint32_t rank, std::span<const std::uint8_t> data) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const RecordingHead head{recording_magic, rank, 2};
  out.write(reinterpret_cast<const char*>(&head), sizeof head);
  std::uint64_t time_ns = 0;
  std::size_t i = 0;
  for (; i + 4 <= data.size(); i += 4) {
    time_ns += data[i + 3];
    const Record record{.time_ns = time_ns,
                        .bytes = data[i + 3],
                        .more = data[i + 1] & 0x07U,
                        .peer = data[i + 1] & 0x03U,
                        .tag = data[i + 2] & 0x03,
                        .communicator = static_cast<std::uint32_t>(data[i + 2] >> 6U),
                        .operation = static_cast<std::uint16_t>(data[i + 2] & 0x3fU),
                        .kind = static_cast<Record::Kind>(data[i] % 18)};
    out.write(reinterpret_cast<const char*>(&record), sizeof record);
  }
  out.write(reinterpret_cast<const char*>(data.data() + i),
            static_cast<std::streamsize>(data.size() - i));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory own;
  const fs::path directory = own.path;
  const std::span<const std::uint8_t> bytes(data, size);
  const std::size_t half = size / 8 * 4;
  write(recording_path(directory.string(), 0), 0, bytes.first(half));
  write(recording_path(directory.string(), 1), 1, bytes.subspan(half));
  const fs::path archive = directory / "trace";
  if (merge_recordings(directory.string(), archive.string())) {
    auto trace = open_otf2((archive / "traces.otf2").string());
    if (trace) {
      for (std::uint32_t rank = 0; rank < (*trace)->ranks(); ++rank) {
        for (;;) {
          const auto event = (*trace)->next(rank);
          if (!event || event->kind == Event::Kind::end) break;
        }
      }
    }
  }
  std::error_code ignored;
  fs::remove_all(archive, ignored);
  return 0;
}
