// SPDX-License-Identifier: Apache-2.0
#include "stream/local/life_histories.hpp"

#include <algorithm>

namespace weft::stream {
namespace {

/// The most samples of a life. When there are more, every second one is dropped; sums stay exact.
constexpr std::size_t most_samples = 4096;
/// The most lives of a node that restarts again and again.
constexpr std::size_t most_lives = 256;

void thin_out(std::vector<ProgressSample>& samples) {
  for (std::size_t i = 0; 2 * i + 1 < samples.size(); ++i) samples[i] = samples[2 * i + 1];
  samples.resize(samples.size() / 2);
}

}  // namespace

void LifeHistories::hear(NodeId node, const StreamProgress& progress, Instant now) {
  if (!roster_.is_compute(node)) return;
  auto& lives = lives_[roster_.compute_index(node)];
  const bool is_new = lives.empty() || (!lives.back().samples.empty() &&
                                        progress.bytes < lives.back().samples.back().bytes);
  if (is_new) {
    if (lives.size() == most_lives) return;
    lives.push_back({.started = now - told_every_, .samples = {}});
  }
  auto& samples = lives.back().samples;
  if (samples.size() == most_samples) thin_out(samples);
  samples.push_back({.at = now, .timeslices = progress.timeslices, .bytes = progress.bytes});
}

std::vector<NodeReport> LifeHistories::remains(const std::vector<NodeReport>& reports,
                                               Duration bucket) const {
  std::vector<NodeReport> all;
  for (std::uint32_t c = 0; c < lives_.size(); ++c) {
    const NodeId node = roster_.compute_node(c);
    const bool reported = std::any_of(reports.begin(), reports.end(),
                                      [&](const NodeReport& r) { return r.node == node; });
    const auto& lives = lives_[c];
    for (std::size_t i = 0; i < lives.size(); ++i) {
      if (reported && i + 1 == lives.size()) continue;
      all.push_back(remains_of(node, lives[i].started, lives[i].samples, bucket));
    }
  }
  return all;
}

}  // namespace weft::stream
