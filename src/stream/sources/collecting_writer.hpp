// SPDX-License-Identifier: Apache-2.0
// For tests: a MicrosliceWriter that keeps a source's microslices.
#pragma once

#include <poll.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "weft/source.hpp"

namespace weft {

struct CollectedMicroslice {
  MicrosliceDescriptor descriptor;
  std::vector<std::byte> content;
  std::string text() const {
    return {reinterpret_cast<const char*>(content.data()), content.size()};
  }
};

class CollectingWriter final : public MicrosliceWriter {
 public:
  explicit CollectingWriter(std::size_t capacity = 1 << 20) : buffer_(capacity) {}

  std::span<std::byte> reserve(std::size_t size) override {
    WEFT_CHECK(size <= buffer_.size());
    if (room == 0) return {};
    std::memset(buffer_.data(), 0xEE, size);
    reserved_ = std::span(buffer_).first(size);
    return reserved_;
  }
  void commit(MicrosliceDescriptor descriptor) override {
    descriptor.size = static_cast<std::uint32_t>(reserved_.size());
    descriptor.offset = offset_;
    offset_ += reserved_.size();
    microslices.push_back({descriptor, {reserved_.begin(), reserved_.end()}});
    --room;
  }
  std::size_t capacity() const override { return buffer_.size(); }

  std::size_t room = SIZE_MAX;  ///< microslices that still fit
  std::vector<CollectedMicroslice> microslices;

 private:
  std::vector<std::byte> buffer_;
  std::span<std::byte> reserved_;
  std::uint64_t offset_ = 0;
};

/// Runs a source to its end, or until it has produced `most` microslices, on a clock that is always
/// as late as the source wants it.
inline Result<std::vector<CollectedMicroslice>> collect(Source& source,
                                                        std::size_t most = SIZE_MAX) {
  CollectingWriter writer;
  writer.room = most;
  Instant now{};
  while (writer.room > 0) {
    const auto state = source.produce(now, writer);
    if (!state) return state.error();
    if (state->ended) break;
    if (state->descriptor >= 0) {
      pollfd news{.fd = state->descriptor, .events = POLLIN, .revents = 0};
      (void)::poll(&news, 1, -1);
      continue;
    }
    now = std::max(now, state->again_at);
  }
  return std::move(writer.microslices);
}

inline Result<std::vector<CollectedMicroslice>> collect(std::string_view uri,
                                                        const SourcePlace& place,
                                                        std::size_t most = SIZE_MAX) {
  auto source = open_source(uri, place);
  if (!source) return std::move(source).error();
  return collect(**source, most);
}

}  // namespace weft
