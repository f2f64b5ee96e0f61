// SPDX-License-Identifier: Apache-2.0
// A sink of your own: analyses timeslices inside the compute nodes. This one finds the mean of all
// bytes; a timeslice holds one component per input node, which holds descriptors, then contents.
#include <cstdio>
#include <cstring>

#include "weft/stream.hpp"

namespace {

class MeanSink final : public weft::Sink {
 public:
  explicit MeanSink(std::uint32_t compute) : compute_(compute) {}

  // Called for one timeslice after another; taking long here slows the stream down.
  weft::Result<void> consume(const weft::TimesliceView& timeslice) override {
    ++summary_.timeslices;
    for (const weft::ComponentView& component : timeslice.components) {
      if (component.data.empty()) continue;  // its input node is missing; flags say so
      const std::size_t descriptors =
          component.num_microslices * sizeof(weft::MicrosliceDescriptor);
      const auto content = component.data.subspan(descriptors);
      for (const std::byte b : content) sum_ += static_cast<double>(b);
      summary_.bytes += content.size();
    }
    return {};
  }

  weft::Result<void> finish() override {
    const double bytes = summary_.bytes > 0 ? static_cast<double>(summary_.bytes) : 1;
    std::printf("compute node %u: %llu timeslices, mean of all bytes %.2f\n", compute_,
                static_cast<unsigned long long>(summary_.timeslices), sum_ / bytes);
    std::fflush(stdout);
    return {};
  }
  weft::SinkSummary summary() const override { return summary_; }

 private:
  std::uint32_t compute_;
  double sum_ = 0;
  weft::SinkSummary summary_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::printf("usage: %s    prints the mean of each timeslice of a pattern\n", argv[0]);
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  weft::StreamOptions options;  // four input nodes with a pattern, four compute nodes
  options.timeslices = 2000;
  options.make_sink = [](const weft::SinkPlace& place) {
    return weft::Result<std::unique_ptr<weft::Sink>>(std::make_unique<MeanSink>(place.compute));
  };
  const auto summary = weft::run_stream(options);
  if (!summary) return std::fprintf(stderr, "%s\n", summary.error().message.c_str()), 1;
  std::printf("%.1f MB/s\n", static_cast<double>(summary->bytes) / summary->seconds / 1e6);
  return summary->timeslices_lost > 0 ? 1 : 0;
}
