// SPDX-License-Identifier: Apache-2.0
// Helpers of the SPMD programs: arguments, errors, sums that do not depend on how many processes
// add them up, and checksums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/program.hpp"
#include "weft/spmd.hpp"

namespace weft::examples {

/// Ends the program with this one line.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A failure that differs between ranks: it names the lost rank and the operation that needed it.
struct RankFailure : Failure {
  using Failure::Failure;
};

/// Runs the body; a Failure's line goes to standard error, from rank 0 or, if it is a RankFailure,
/// from everybody, and the exit code is 1.
int run_reporting(Process& process, const char* name, const std::function<void()>& body);

/// The value, or the error as a RankFailure.
void require(Result<void> result);
template <class T>
T require(Result<T> result) {
  if (!result.ok()) throw RankFailure(result.error().message);
  return std::move(result).value();
}

/// A program's arguments: options of one letter, with or without a number, before numbers in order.
class Arguments {
 public:
  /// `usage` is shown behind the error, such as "jac3d [-g] SIDE [ITERATIONS]".
  Arguments(std::span<const std::string> given, std::string usage);

  bool option(const std::string& name);
  /// Returns the number of an option, or `otherwise` when the option is not given.
  std::int64_t option(const std::string& name, std::int64_t least, std::int64_t otherwise);
  /// Returns the text of an option, or an empty text when the option is not given.
  std::string text(const std::string& name);
  /// The next number, at least `least`.
  std::int64_t number(const std::string& name, std::int64_t least);
  std::int64_t number(const std::string& name, std::int64_t least, std::int64_t otherwise);
  /// After all: nothing may be left.
  void finish() const;

 private:
  std::int64_t parse(const std::string& name, const std::string& text, std::int64_t least) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::vector<std::string> left_;
  std::string usage_;
};

/// A sum of floating-point numbers in steps of 2^-50, within ±2^52: the same for any order of
/// additions. Rounding happens once per number.
class ExactSum {
 public:
  void add(double value);
  void add(const ExactSum& other);
  double value() const;
  bool operator==(const ExactSum&) const = default;

  /// Adds all ranks' sums, on all ranks.
  static spmd::Reduction<ExactSum> reduction();

 private:
  std::int64_t coarse_ = 0;  // steps of 2^-10
  std::int64_t fine_ = 0;    // steps of 2^-50, less than one of the coarse
};

/// Returns the hash of an element's place and value. The sum of all hashes modulo 2^64, in any
/// order, is the checksum of an array.
std::uint64_t element_hash(spmd::Index at, std::uint64_t value);
std::uint64_t element_hash(spmd::Index at, double value);

/// A single value that all ranks contribute to and get back.
template <class T>
class Shared {
 public:
  explicit Shared(const spmd::Group& group)
      : everywhere_(spmd::all(spmd::Space(1), group.size())), data_(group, spmd::Space(1)) {
    require(data_.switch_to(everywhere_, spmd::Flow::none));
  }
  T reduce(const T& own, const spmd::Reduction<T>& reduction) {
    data_.values()[0] = own;
    require(data_.reduce(everywhere_, reduction));
    return data_.values()[0];
  }
  /// The result of the last reduction.
  const T& value() const { return data_.values()[0]; }
  /// For checkpoints.
  spmd::ContainerBase& container() { return data_; }

 private:
  spmd::Partitioning everywhere_;
  spmd::Container<T> data_;
};

/// The sum and the checksum of a container that is in a disjoint partitioning.
struct Outcome {
  ExactSum sum;
  std::uint64_t checksum = 0;
};
Outcome outcome_of(const spmd::Group& group, const spmd::Container<double>& data);

/// On rank 0: the line, then how many processes took how long.
void print(Process& process, const std::string& line);
/// "00c0ffee00c0ffee"
std::string to_hex(std::uint64_t value);

}  // namespace weft::examples
