// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace weft::sweep {
namespace {

constexpr std::size_t most_pieces = 4;
constexpr int starts = 12;
constexpr int starts_to_compare = 4;  // for each point left out
constexpr int most_turns = 40;
/// Fewer pieces win unless more of them predict left-out points so much better.
constexpr double worthwhile = 0.85;
/// Below this, errors are rounding and do not tell models apart.
constexpr double no_error = 1e-6;

constexpr std::size_t terms = 3;
using Row = std::array<double, terms>;

/// Observations as equations row * x = 1, one for each, relative to the observed time. Columns are
/// scaled to be about 1; a column that does not vary is left out.
class Equations {
 public:
  explicit Equations(std::span<const Observation> observations) {
    double largest_l = 0, largest_g = 0;
    bool varied_l = false, varied_g = false;
    for (const Observation& o : observations) {
      largest_l = std::max(largest_l, std::abs(o.point.latency_s));
      largest_g = std::max(largest_g, 1 / o.point.bandwidth);
      varied_l |= o.point.latency_s != observations.front().point.latency_s;
      varied_g |= o.point.bandwidth != observations.front().point.bandwidth;
    }
    scale_ = {1, varied_l ? largest_l : 0, varied_g ? largest_g : 0};
    for (const Observation& o : observations) {
      const double g = 1 / o.point.bandwidth;
      rows_.push_back({1 / o.time_s, varied_l ? o.point.latency_s / largest_l / o.time_s : 0,
                       varied_g ? g / largest_g / o.time_s : 0});
      // The fastest point is the corner where all latencies and inverse bandwidths are least.
      places_.push_back(
          {varied_l ? o.point.latency_s / largest_l : 0, varied_g ? g / largest_g : 0});
      times_.push_back(o.time_s);
    }
  }

  std::size_t size() const { return rows_.size(); }
  const Row& row(std::size_t i) const { return rows_[i]; }
  const std::array<double, 2>& place(std::size_t i) const { return places_[i]; }
  double time_s(std::size_t i) const { return times_[i]; }
  bool has(std::size_t term) const { return scale_[term] != 0; }
  std::size_t varied() const { return (has(1) ? 1U : 0U) + (has(2) ? 1U : 0U); }
  Piece unscaled(const Row& x) const {
    return {x[0], has(1) ? x[1] / scale_[1] : 0, has(2) ? x[2] / scale_[2] : 0};
  }

 private:
  Row scale_{};
  std::vector<Row> rows_;
  std::vector<std::array<double, 2>> places_;
  std::vector<double> times_;
};

double dot(const Row& a, const Row& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Sums for least squares: A'A and A'1.
struct Normal {
  std::array<Row, terms> matrix{};
  Row right{};
  std::size_t count = 0;

  void add(const Row& row) {
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) matrix[i][j] += row[i] * row[j];
      right[i] += row[i];
    }
    ++count;
  }
};

/// Solves for the terms in `mask`, others are 0. False where they are not determined.
bool solve(const Normal& n, unsigned mask, Row& x) {
  std::array<std::array<double, terms + 1>, terms> a{};
  std::array<std::size_t, terms> used{};
  std::size_t size = 0;
  for (std::size_t i = 0; i < terms; ++i) {
    if ((mask >> i & 1U) != 0) used[size++] = i;
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) a[i][j] = n.matrix[used[i]][used[j]];
    a[i][size] = n.right[used[i]];
  }
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < size; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (std::abs(a[pivot][k]) <= 1e-12 * n.matrix[used[k]][used[k]]) return false;
    std::swap(a[k], a[pivot]);
    for (std::size_t i = 0; i < size; ++i) {
      if (i == k) continue;
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= size; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  x = {};
  for (std::size_t i = 0; i < size; ++i) x[used[i]] = a[i][size] / a[i][i];
  return true;
}

/// Least squares without negative terms. There are three at most: trying all sets of them is exact.
Row non_negative(const Normal& n, const Equations& equations) {
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned mask = 1; mask < 1U << terms; ++mask) {
    bool possible = true;
    for (std::size_t i = 1; i < terms; ++i) possible &= (mask >> i & 1U) == 0 || equations.has(i);
    Row x{};
    if (!possible || !solve(n, mask, x)) continue;
    if (std::any_of(x.begin(), x.end(), [](double v) { return v < 0; })) continue;
    double loss = static_cast<double>(n.count) - 2 * dot(x, n.right);
    for (std::size_t i = 0; i < terms; ++i) loss += x[i] * dot(n.matrix[i], x);
    // Smaller sets come first, so that the smallest of equally good sets stays.
    if (loss < least - 1e-13) {
      least = loss;
      best = x;
    }
  }
  return best;
}

/// The largest of the pieces at an observation, as a share of its time, and which piece it is.
std::pair<double, std::size_t> largest(const std::vector<Row>& pieces, const Row& row) {
  std::pair<double, std::size_t> found{-1, 0};
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const double value = dot(pieces[k], row);
    if (value > found.first) found = {value, k};
  }
  return found;
}

double loss_of(const std::vector<Row>& pieces, const Equations& equations) {
  double loss = 0;
  for (std::size_t i = 0; i < equations.size(); ++i) {
    const double error = largest(pieces, equations.row(i)).first - 1;
    loss += error * error;
  }
  return loss;
}

/// Fits a plane to each part of the observations, gives each observation to the plane that is
/// largest there, and so on until nothing changes (Magnani and Boyd, Convex piecewise-linear
/// fitting). The best planes on the way count.
std::vector<Row> improve(const Equations& equations, std::vector<std::size_t> part,
                         std::size_t count, double& loss) {
  std::vector<Row> best;
  loss = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < most_turns; ++turn) {
    std::vector<Normal> normals(count);
    for (std::size_t i = 0; i < equations.size(); ++i) normals[part[i]].add(equations.row(i));
    std::vector<Row> pieces;
    for (const Normal& n : normals) {
      if (n.count > 0) pieces.push_back(non_negative(n, equations));
    }
    const double now = loss_of(pieces, equations);
    if (now < loss) {
      loss = now;
      best = pieces;
    }
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < equations.size(); ++i) {
      next.push_back(largest(pieces, equations.row(i)).second);
    }
    if (next == part) break;
    part = std::move(next);
  }
  return best;
}

/// A first division: by the nearest of some observations drawn, in network and time.
std::vector<std::size_t> drawn_parts(const Equations& equations, std::size_t count, Rng& rng) {
  std::vector<std::size_t> centres;
  for (std::size_t k = 0; k < count; ++k) centres.push_back(rng.below(equations.size()));
  const double stretch = std::exp((rng.uniform() - 0.5) * 4);  // of one axis against the other
  std::vector<std::size_t> part;
  for (std::size_t i = 0; i < equations.size(); ++i) {
    std::pair<double, std::size_t> nearest{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t k = 0; k < count; ++k) {
      const double l = equations.place(i)[0] - equations.place(centres[k])[0];
      const double g = equations.place(i)[1] - equations.place(centres[k])[1];
      const double t = std::log(equations.time_s(i) / equations.time_s(centres[k]));
      nearest = std::min(nearest, {l * l * stretch + g * g / stretch + t * t, k});
    }
    part.push_back(nearest.second);
  }
  return part;
}

double square(double x) {
  return x * x;
}

std::vector<Observation> without(std::span<const Observation> observations, std::size_t left_out) {
  std::vector<Observation> others(observations.begin(), observations.end());
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  return others;
}

Model fit_from(std::span<const Observation> observations, std::size_t pieces, int from) {
  WEFT_CHECK(!observations.empty() && pieces > 0);
  const Equations equations(observations);
  Rng rng(1);
  std::vector<Row> best;
  double least = std::numeric_limits<double>::infinity();
  for (int start = 0; start < (pieces == 1 ? 1 : from); ++start) {
    double loss = 0;
    auto found = improve(equations, drawn_parts(equations, pieces, rng), pieces, loss);
    if (loss < least) {
      least = loss;
      best = std::move(found);
    }
  }
  std::vector<Piece> unscaled;
  for (const Row& row : best) unscaled.push_back(equations.unscaled(row));
  return Model(std::move(unscaled));
}

double error_without_each(std::span<const Observation> observations, std::size_t pieces) {
  double sum = 0;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const Model model = fit_from(without(observations, i), pieces, starts_to_compare);
    sum += square(model.predict_s(observations[i].point) / observations[i].time_s - 1);
  }
  return std::sqrt(sum / static_cast<double>(observations.size()));
}

/// A plane needs so many points that noise cannot choose it.
std::size_t most_pieces_for(std::span<const Observation> observations) {
  const std::size_t each = 1 + Equations(observations).varied();
  return std::clamp<std::size_t>(observations.size() / each, 1, most_pieces);
}

std::optional<double> error_of_faster(std::span<const Observation> observations,
                                      std::size_t pieces) {
  const auto fastest = std::min_element(observations.begin(), observations.end(),
                                        [](const Observation& a, const Observation& b) {
                                          return std::pair(a.point.latency_s, -a.point.bandwidth) <
                                                 std::pair(b.point.latency_s, -b.point.bandwidth);
                                        });
  const Equations all(observations);
  std::vector<Observation> slower;
  for (const Observation& o : observations) {
    const bool by_latency = !all.has(1) || o.point.latency_s > fastest->point.latency_s;
    const bool by_bandwidth = !all.has(2) || o.point.bandwidth < fastest->point.bandwidth;
    if (by_latency && by_bandwidth) slower.push_back(o);
  }
  if (all.varied() == 0 || slower.size() < 2) return std::nullopt;
  if (Equations(slower).varied() < all.varied()) return std::nullopt;
  const Model model = fit_pieces(slower, std::min(pieces, most_pieces_for(slower)));
  return std::abs(model.predict_s(fastest->point) / fastest->time_s - 1);
}

}  // namespace

double Model::predict_s(const Point& point) const {
  const Piece& p = deciding(point);
  return std::max(0.0, p.fixed_s + p.messages * point.latency_s + p.transfer_s / point.bandwidth);
}

const Piece& Model::deciding(const Point& point) const {
  WEFT_CHECK(!pieces_.empty());
  const auto value = [&](const Piece& p) {
    return p.fixed_s + p.messages * point.latency_s + p.transfer_s / point.bandwidth;
  };
  return *std::max_element(pieces_.begin(), pieces_.end(),
                           [&](const Piece& a, const Piece& b) { return value(a) < value(b); });
}

Model fit_pieces(std::span<const Observation> observations, std::size_t pieces) {
  return fit_from(observations, pieces, starts);
}

FittedModel fit_model(std::span<const Observation> observations) {
  WEFT_CHECK(!observations.empty());
  std::size_t count = 1;
  double error = observations.size() > 1 ? error_without_each(observations, 1) : 0;
  for (std::size_t more = 2; more <= most_pieces_for(observations); ++more) {
    const double now = error_without_each(observations, more);
    if (now < worthwhile * error && error > no_error) {
      count = more;
      error = now;
    }
  }
  FittedModel fitted{.model = fit_pieces(observations, count),
                     .fit_error = 0,
                     .left_out_error = error,
                     .faster_error = error_of_faster(observations, count)};
  double sum = 0;
  for (const Observation& o : observations) {
    sum += square(fitted.model.predict_s(o.point) / o.time_s - 1);
  }
  fitted.fit_error = std::sqrt(sum / static_cast<double>(observations.size()));
  return fitted;
}

}  // namespace weft::sweep
