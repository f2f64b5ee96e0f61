// SPDX-License-Identifier: Apache-2.0
// For tests: timeslices as compute nodes build them, from microslices of sources.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stream/sources/collecting_writer.hpp"
#include "weft/sink.hpp"

namespace weft {

/// Owns the memory of its components. Change `flags`, `data` and the rest freely before `view`.
struct BuiltTimeslice {
  std::uint64_t index = 0;
  std::uint64_t start_time = 0;
  std::uint64_t duration = 0;
  std::uint32_t flags = 0;
  std::uint32_t num_core = 1;
  std::vector<std::vector<std::byte>> data;
  std::vector<ComponentView> components;

  void add_component(std::span<const CollectedMicroslice> microslices) {
    auto& bytes = data.emplace_back();
    for (const auto& m : microslices) {
      const auto header = std::as_bytes(std::span(&m.descriptor, 1));
      bytes.insert(bytes.end(), header.begin(), header.end());
    }
    for (const auto& m : microslices) {
      bytes.insert(bytes.end(), m.content.begin(), m.content.end());
    }
    components.push_back({0, microslices.size(), {}});
    if (data.size() == 1 && !microslices.empty()) start_time = microslices[0].descriptor.index;
  }
  TimesliceView view() {
    for (std::size_t c = 0; c < data.size(); ++c) components[c].data = data[c];
    return {TimesliceIndex(index), start_time, duration, flags, num_core, components};
  }
};

struct StreamShape {
  std::uint32_t inputs = 2;
  std::uint32_t per_timeslice = 3;
  std::uint32_t overlap = 0;
  std::uint64_t seed = 9;
};

/// Runs the source at every input and builds the timeslices that come out whole, at most `most`.
inline std::vector<BuiltTimeslice> build_timeslices(const std::string& uri,
                                                    const StreamShape& shape,
                                                    std::size_t most = SIZE_MAX) {
  std::vector<std::vector<CollectedMicroslice>> channels;
  std::size_t count = most;
  for (std::uint32_t i = 0; i < shape.inputs; ++i) {
    auto collected = collect(uri,
                             {.input = i,
                              .inputs = shape.inputs,
                              .microslices_per_timeslice = shape.per_timeslice,
                              .seed = shape.seed},
                             most == SIZE_MAX ? most : most * shape.per_timeslice + shape.overlap);
    EXPECT_TRUE(collected) << collected.error().message;
    channels.push_back(std::move(*collected));
    count = std::min(count, (channels.back().size() - shape.overlap) / shape.per_timeslice);
  }
  std::vector<BuiltTimeslice> timeslices(count);
  for (std::size_t t = 0; t < count; ++t) {
    timeslices[t].index = t;
    timeslices[t].num_core = shape.per_timeslice;
    for (const auto& channel : channels) {
      timeslices[t].add_component(
          std::span(channel).subspan(t * shape.per_timeslice, shape.per_timeslice + shape.overlap));
    }
  }
  return timeslices;
}

}  // namespace weft
