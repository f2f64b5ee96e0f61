// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/make_error.hpp"
#include "base/rng.hpp"

namespace weft::sim {
namespace {

/// In the order of the enumeration.
constexpr std::array<std::string_view, 8> pattern_names{
    "flood-pairs",  "nearest-neighbor", "random-pairs",   "all-to-all",
    "mini-paradis", "mini-amg",         "crystal-router", "pf3d"};

/// More messages to one partner in one phase than this would share their names.
constexpr std::uint32_t most_messages = 4096;
constexpr std::uint32_t most_phases = 64;

/// Iterations of phases in which all ranks exchange messages with their partners.
class PhasedProgram : public Program {
 public:
  explicit PhasedProgram(const PatternOptions& options) : options_(options) {
    const Rng rng(options.seed);
    for (std::uint32_t r = 0; r < options.ranks; ++r) {
      const double drawn = rng.split(r).uniform();
      const double share = options.least_compute + (1 - options.least_compute) * drawn;
      shares_.push_back(options.one_computes ? (r == 0 ? 1.0 : 0.0) : share);
    }
  }
  std::uint32_t ranks() const override { return options_.ranks; }

  Action next(std::uint32_t rank, Cursor& cursor) const override {
    if (options_.iterations != 0 && cursor.iteration == options_.iterations) return {};
    std::uint32_t step = cursor.step++;
    for (std::uint32_t phase = 0; phase < phases(); ++phase) {
      const std::uint32_t each = partners(rank, phase) * options_.messages;
      if (step < 2 * each) return exchange(rank, phase, step, each, cursor.iteration);
      if (step == 2 * each) return {.kind = Action::Kind::wait_all};
      step -= 2 * each + 1;
    }
    if (step == 0) {
      return {.kind = Action::Kind::compute, .time = compute(rank, cursor.iteration)};
    }
    ++cursor.iteration;
    cursor.step = 0;
    return {.kind = Action::Kind::mark_progress};
  }

 protected:
  const PatternOptions& options() const { return options_; }
  virtual std::uint32_t phases() const { return 1; }
  virtual std::uint32_t partners(std::uint32_t rank, std::uint32_t phase) const = 0;
  /// Partnership goes both ways.
  virtual std::uint32_t partner(std::uint32_t rank, std::uint32_t phase, std::uint32_t i) const = 0;
  virtual std::uint64_t bytes(std::uint32_t phase) const {
    (void)phase;
    return options_.message_bytes;
  }
  virtual double share(std::uint32_t rank, std::uint64_t iteration) const {
    (void)iteration;
    return shares_[rank];
  }

 private:
  /// All receives of the phase first, then its sends; partners take turns.
  Action exchange(std::uint32_t rank, std::uint32_t phase, std::uint32_t step, std::uint32_t each,
                  std::uint64_t iteration) const {
    const bool is_receive = step < each;
    const std::uint32_t index = is_receive ? step : step - each;
    const std::uint32_t count = partners(rank, phase);
    const std::uint64_t message = index / count;
    return {.kind = is_receive ? Action::Kind::receive : Action::Kind::send,
            .peer = partner(rank, phase, index % count),
            .match = (iteration * most_phases + phase) * most_messages + message,
            .bytes = bytes(phase)};
  }
  PicoDuration compute(std::uint32_t rank, std::uint64_t iteration) const {
    const auto longest = static_cast<double>(options_.compute.ticks());
    return PicoDuration(static_cast<std::int64_t>(longest * share(rank, iteration)));
  }

  PatternOptions options_;
  std::vector<double> shares_;  // of the longest computation, by rank
};

class FloodPairs final : public PhasedProgram {
 public:
  using PhasedProgram::PhasedProgram;

 private:
  std::uint32_t partners(std::uint32_t, std::uint32_t) const override { return 1; }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t, std::uint32_t) const override {
    const std::uint32_t half = ranks() / 2;
    return rank < half ? rank + half : rank - half;
  }
};

class RandomPairs final : public PhasedProgram {
 public:
  explicit RandomPairs(const PatternOptions& options) : PhasedProgram(options) {
    const std::uint32_t half = options.ranks / 2;
    std::vector<std::uint32_t> upper(half);
    std::iota(upper.begin(), upper.end(), half);
    Rng rng = Rng(options.seed).split(~std::uint64_t{0});
    for (std::uint32_t i = half; i > 1; --i) std::swap(upper[i - 1], upper[rng.below(i)]);
    partner_.resize(options.ranks);
    for (std::uint32_t i = 0; i < half; ++i) {
      partner_[i] = upper[i];
      partner_[upper[i]] = i;
    }
  }

 private:
  std::uint32_t partners(std::uint32_t, std::uint32_t) const override { return 1; }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t, std::uint32_t) const override {
    return partner_[rank];
  }
  std::vector<std::uint32_t> partner_;
};

class AllToAll final : public PhasedProgram {
 public:
  using PhasedProgram::PhasedProgram;

 private:
  std::uint32_t partners(std::uint32_t, std::uint32_t) const override { return ranks() - 1; }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t, std::uint32_t i) const override {
    return (rank + 1 + i) % ranks();
  }
};

/// Ranks in rows of a grid as square as their number allows.
class GridProgram : public PhasedProgram {
 public:
  explicit GridProgram(const PatternOptions& options) : PhasedProgram(options) {
    rows_ = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(options.ranks)));
    while (options.ranks % rows_ != 0) --rows_;
    columns_ = options.ranks / rows_;
  }

 protected:
  std::uint32_t rows() const { return rows_; }
  std::uint32_t columns() const { return columns_; }
  /// Neighbours at a distance, among the ranks whose row and column it divides.
  std::uint32_t neighbours(std::uint32_t rank, std::uint32_t distance,
                           std::array<std::uint32_t, 4>& found) const {
    const std::uint32_t row = rank / columns_;
    const std::uint32_t column = rank % columns_;
    if (row % distance != 0 || column % distance != 0) return 0;
    std::uint32_t count = 0;
    if (row >= distance) found[count++] = rank - distance * columns_;
    if (column >= distance) found[count++] = rank - distance;
    if (column + distance < columns_) found[count++] = rank + distance;
    if (row + distance < rows_) found[count++] = rank + distance * columns_;
    return count;
  }
  virtual std::uint32_t distance(std::uint32_t phase) const {
    (void)phase;
    return 1;
  }

 private:
  std::uint32_t partners(std::uint32_t rank, std::uint32_t phase) const final {
    std::array<std::uint32_t, 4> found{};
    return neighbours(rank, distance(phase), found);
  }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t phase, std::uint32_t i) const final {
    std::array<std::uint32_t, 4> found{};
    neighbours(rank, distance(phase), found);
    return found[i];
  }

  std::uint32_t rows_ = 1;
  std::uint32_t columns_ = 1;
};

class NearestNeighbor final : public GridProgram {
 public:
  using GridProgram::GridProgram;
};

/// The drawn shares drift towards those of the largest imbalance: ranks above the mean compute ever
/// longer, up to the longest, the others ever less.
class MiniParadis final : public GridProgram {
 public:
  using GridProgram::GridProgram;

 private:
  double share(std::uint32_t rank, std::uint64_t iteration) const override {
    const double drawn = GridProgram::share(rank, 0);
    const double middle = (1 + options().least_compute) / 2;
    const double grown = 1 + options().drift * static_cast<double>(iteration);
    return std::clamp(middle + (drawn - middle) * grown, 0.0, 1.0);
  }
};

/// Down to the coarsest grid that has two ranks in a row and up again; a coarser grid's messages
/// are half as long, as its boundaries are.
class MiniAmg final : public GridProgram {
 public:
  explicit MiniAmg(const PatternOptions& options) : GridProgram(options) {
    const std::uint32_t longest = std::max(rows(), columns());
    while ((2U << (levels_ - 1)) < longest) ++levels_;
  }

 private:
  std::uint32_t level(std::uint32_t phase) const {
    return phase < levels_ ? phase : 2 * levels_ - 2 - phase;
  }
  std::uint32_t phases() const override { return 2 * levels_ - 1; }
  std::uint32_t distance(std::uint32_t phase) const override { return 1U << level(phase); }
  std::uint64_t bytes(std::uint32_t phase) const override {
    return std::max<std::uint64_t>(options().message_bytes >> level(phase), 1);
  }

  std::uint32_t levels_ = 1;
};

/// Nek5000's crystal router: a rank's data for others goes to the half of the ranks where they are,
/// in one step for each bit of a rank's number.
class CrystalRouter final : public PhasedProgram {
 public:
  using PhasedProgram::PhasedProgram;

 private:
  std::uint32_t phases() const override {
    return static_cast<std::uint32_t>(std::bit_width(ranks()) - 1);
  }
  std::uint32_t partners(std::uint32_t, std::uint32_t) const override { return 1; }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t phase, std::uint32_t) const override {
    return rank ^ (1U << phase);
  }
};

/// pF3D's exchanges: all-to-all within the rows of a grid, then within its columns.
class Pf3d final : public PhasedProgram {
 public:
  explicit Pf3d(const PatternOptions& options) : PhasedProgram(options) {
    rows_ = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(options.ranks)));
    while (options.ranks % rows_ != 0) --rows_;
    columns_ = options.ranks / rows_;
  }

 private:
  std::uint32_t phases() const override { return 2; }
  std::uint32_t partners(std::uint32_t, std::uint32_t phase) const override {
    return (phase == 0 ? columns_ : rows_) - 1;
  }
  std::uint32_t partner(std::uint32_t rank, std::uint32_t phase, std::uint32_t i) const override {
    const std::uint32_t row = rank / columns_;
    const std::uint32_t column = rank % columns_;
    if (phase == 0) return row * columns_ + (column + 1 + i) % columns_;
    return (row + 1 + i) % rows_ * columns_ + column;
  }

  std::uint32_t rows_ = 1;
  std::uint32_t columns_ = 1;
};

Result<void> check(const PatternOptions& o) {
  const bool in_pairs = o.pattern == Pattern::flood_pairs || o.pattern == Pattern::random_pairs;
  if (o.ranks < 2 || o.ranks > (1U << 24)) {
    return invalid("ranks is {}: a workload has 2 to 16777216", o.ranks);
  }
  if (in_pairs && o.ranks % 2 != 0) {
    return invalid("ranks is {}: {} needs an even number", o.ranks, to_text(o.pattern));
  }
  if (o.pattern == Pattern::crystal_router && !std::has_single_bit(o.ranks)) {
    return invalid("ranks is {}: crystal-router needs a power of two", o.ranks);
  }
  if (o.message_bytes == 0 || o.message_bytes > (std::uint64_t{1} << 40)) {
    return invalid("message is {} B: use 1 B to 1 TiB", o.message_bytes);
  }
  if (o.messages == 0 || o.messages > most_messages) {
    return invalid("messages is {}: use 1 to {}", o.messages, most_messages);
  }
  if (!(o.least_compute >= 0 && o.least_compute <= 1)) {
    return invalid("least-compute is {}: use 0 to 1", o.least_compute);
  }
  if (!(o.drift >= 0 && o.drift <= 1)) {
    return invalid("drift is {}: use 0 to 1", o.drift);
  }
  if (o.compute < PicoDuration{} || o.compute > PicoDuration::seconds(3600)) {
    return invalid("compute is {} s: use 0 to an hour", o.compute.to_seconds());
  }
  return {};
}

}  // namespace

Result<Pattern> parse_workload_pattern(std::string_view name) {
  for (std::size_t i = 0; i < pattern_names.size(); ++i) {
    if (pattern_names[i] == name) return static_cast<Pattern>(i);
  }
  return invalid("no workload is called '{}': there are {}", name, fmt::join(pattern_names, ", "));
}

std::string_view to_text(Pattern pattern) {
  return pattern_names[static_cast<std::size_t>(pattern)];
}

Result<std::unique_ptr<Program>> make_pattern(const PatternOptions& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  std::unique_ptr<Program> program;
  switch (options.pattern) {
    case Pattern::flood_pairs:
      program = std::make_unique<FloodPairs>(options);
      break;
    case Pattern::nearest_neighbor:
      program = std::make_unique<NearestNeighbor>(options);
      break;
    case Pattern::random_pairs:
      program = std::make_unique<RandomPairs>(options);
      break;
    case Pattern::all_to_all:
      program = std::make_unique<AllToAll>(options);
      break;
    case Pattern::mini_paradis:
      program = std::make_unique<MiniParadis>(options);
      break;
    case Pattern::mini_amg:
      program = std::make_unique<MiniAmg>(options);
      break;
    case Pattern::crystal_router:
      program = std::make_unique<CrystalRouter>(options);
      break;
    case Pattern::pf3d:
      program = std::make_unique<Pf3d>(options);
      break;
  }
  return program;
}

}  // namespace weft::sim
