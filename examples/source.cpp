// SPDX-License-Identifier: Apache-2.0
// A source of your own: feeds weft with the data of a detector. Here it is a thermometer; three of
// them, one at each input node, and two compute nodes that put their readings together.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "weft/stream.hpp"

namespace {

constexpr std::size_t readings = 1000;  // in a microslice, which stands for a second

class Thermometer final : public weft::Source {
 public:
  explicit Thermometer(std::uint32_t number) : number_(number) {}

  weft::Result<weft::SourceState> produce(weft::Instant, weft::MicrosliceWriter& out) override {
    weft::SourceState state;
    while (second_ < 3600) {
      const auto room = out.reserve(readings * sizeof(float));  // right in the send buffer
      if (room.data() == nullptr) return state;                 // full: called again when not
      for (std::size_t i = 0; i < readings; ++i) {
        const auto kelvin = static_cast<float>(290 + number_ + std::sin(second_ / 600.0));
        std::memcpy(room.data() + i * sizeof(float), &kelvin, sizeof(float));
      }
      weft::MicrosliceDescriptor descriptor;
      descriptor.equipment_id = static_cast<std::uint16_t>(number_);
      descriptor.index = second_++ * 1'000'000'000;  // nanoseconds
      out.commit(descriptor);
    }
    state.ended = true;
    return state;
  }

 private:
  std::uint32_t number_;
  std::uint64_t second_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::printf("usage: %s    streams an hour of readings of three thermometers\n", argv[0]);
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  weft::StreamOptions options;
  options.inputs = 3;
  options.computes = 2;
  options.microslices_per_timeslice = 10;
  options.make_source = [](const weft::SourcePlace& place) {
    return weft::Result<std::unique_ptr<weft::Source>>(std::make_unique<Thermometer>(place.input));
  };
  const auto summary = weft::run_stream(options);
  if (!summary) return std::fprintf(stderr, "%s\n", summary.error().message.c_str()), 1;
  std::printf("%s\n", summary->json.c_str());
  return summary->timeslices_lost > 0 ? 1 : 0;
}
