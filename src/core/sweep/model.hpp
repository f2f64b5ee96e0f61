// SPDX-License-Identifier: Apache-2.0
// A model of a program's time T(L, B) on a network with added latency L and bandwidth B.
//
// A program's time is the longest path through its computations and messages. The length of a path
// is a + n L + V / B: a is computation, n counts the messages that follow one another on it, V the
// bytes that pass a link one after another. The longest of several paths is the largest of such
// planes: T(L, B) = max_k (a_k + n_k L + V_k / B), with no negative coefficient. It is convex in L
// and 1/B. One plane is a program that never overlaps; a second one with n = V = 0 is computation
// that hides communication.
//
// A faster network than any measured one lies on the extension of the fastest plane. Since the
// true time is convex, it cannot be shorter than that extension.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft::sweep {

/// A network, as compared with the one that the program really ran on.
struct Point {
  double latency_s = 0;  ///< added, one way; negative is a faster network
  double bandwidth = 1;  ///< as a share of the real one's; above 0
  friend bool operator==(const Point&, const Point&) = default;
};

struct Observation {
  Point point;
  double time_s = 0;  ///< above 0
};

/// A path: a + n L + V / B.
struct Piece {
  double fixed_s = 0;     ///< a
  double messages = 0;    ///< n
  double transfer_s = 0;  ///< V, as the time that it takes at the full bandwidth
};

class Model {
 public:
  Model() = default;
  explicit Model(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  double predict_s(const Point& point) const;
  /// The piece that decides there. There must be one.
  const Piece& deciding(const Point& point) const;
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

/// Errors are shares of the observed times.
struct FittedModel {
  Model model;
  double fit_error = 0;       ///< root mean square over all points
  double left_out_error = 0;  ///< the same, each point predicted by a model of all others
  /// How far the fastest point is from the prediction of a model of slower points: of those with
  /// both a larger latency and a smaller bandwidth, as far as those were varied. None with too few.
  std::optional<double> faster_error;
};

/// The planes, at most so many, that come nearest to the observations, relative to their times.
/// Deterministic.
Model fit_pieces(std::span<const Observation> observations, std::size_t pieces);

/// Takes as many planes as predict left-out points best, and fewer when that is about as good.
/// There is at least one observation.
FittedModel fit_model(std::span<const Observation> observations);

}  // namespace weft::sweep
