// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace weft::examples {

int run_reporting(Process& process, const char* name, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const RankFailure& failure) {
    std::fprintf(stderr, "%s: rank %u: %s\n", name, process.world().rank().value(), failure.what());
    return 1;
  } catch (const Failure& failure) {
    if (process.world().rank() == Rank(0)) std::fprintf(stderr, "%s: %s\n", name, failure.what());
    return 1;
  }
}

void require(Result<void> result) {
  if (!result.ok()) throw RankFailure(result.error().message);
}

Arguments::Arguments(std::span<const std::string> given, std::string usage)
    : left_(given.begin(), given.end()), usage_(std::move(usage)) {}

void Arguments::fail(const std::string& what) const {
  throw Failure(what + "; usage: " + usage_);
}

bool Arguments::option(const std::string& name) {
  const auto at = std::find(left_.begin(), left_.end(), name);
  if (at == left_.end()) return false;
  left_.erase(at);
  return true;
}

std::int64_t Arguments::option(const std::string& name, std::int64_t least,
                               std::int64_t otherwise) {
  const auto at = std::find(left_.begin(), left_.end(), name);
  if (at == left_.end()) return otherwise;
  if (at + 1 == left_.end()) fail(name + " needs a number");
  const std::int64_t value = parse(name, at[1], least);
  left_.erase(at, at + 2);
  return value;
}

std::string Arguments::text(const std::string& name) {
  const auto at = std::find(left_.begin(), left_.end(), name);
  if (at == left_.end()) return {};
  if (at + 1 == left_.end()) fail(name + " needs a text");
  std::string text = at[1];
  left_.erase(at, at + 2);
  return text;
}

std::int64_t Arguments::number(const std::string& name, std::int64_t least) {
  if (left_.empty()) fail(name + " is missing");
  const std::int64_t value = parse(name, left_.front(), least);
  left_.erase(left_.begin());
  return value;
}

std::int64_t Arguments::number(const std::string& name, std::int64_t least,
                               std::int64_t otherwise) {
  return left_.empty() ? otherwise : number(name, least);
}

std::int64_t Arguments::parse(const std::string& name, const std::string& text,
                              std::int64_t least) const {
  constexpr std::int64_t most = 1'000'000'000'000;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    fail(name + " is '" + text + "', not a number from " + std::to_string(least));
  }
  return value;
}

void Arguments::finish() const {
  if (!left_.empty()) fail("'" + left_.front() + "' is too much");
}

namespace {

constexpr double coarse_steps = 1024;                       // in 1
constexpr std::int64_t fine_steps = std::int64_t{1} << 40;  // in a coarse one

}  // namespace

void ExactSum::add(double value) {
  const double scaled = value * coarse_steps;
  const double whole = std::floor(scaled);
  ExactSum other;
  other.coarse_ = static_cast<std::int64_t>(whole);
  other.fine_ = static_cast<std::int64_t>((scaled - whole) * static_cast<double>(fine_steps));
  add(other);
}

void ExactSum::add(const ExactSum& other) {
  coarse_ += other.coarse_;
  fine_ += other.fine_;
  if (fine_ >= fine_steps) {
    fine_ -= fine_steps;
    ++coarse_;
  }
}

double ExactSum::value() const {
  return (static_cast<double>(coarse_) +
          static_cast<double>(fine_) / static_cast<double>(fine_steps)) /
         coarse_steps;
}

spmd::Reduction<ExactSum> ExactSum::reduction() {
  return spmd::Reduction<ExactSum>::of(
      ExactSum(),
      [](const ExactSum& a, const ExactSum& b) {
        ExactSum both = a;
        both.add(b);
        return both;
      },
      spmd::Grouping::any);
}

std::uint64_t element_hash(spmd::Index at, std::uint64_t value) {
  // splitmix64's finaliser, over place and value
  std::uint64_t mixed = value;
  for (unsigned d = 0; d < spmd::max_dimensions; ++d) {
    mixed += static_cast<std::uint64_t>(at[d] + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
  }
  return mixed;
}

std::uint64_t element_hash(spmd::Index at, double value) {
  return element_hash(at, std::bit_cast<std::uint64_t>(value));
}

Outcome outcome_of(const spmd::Group& group, const spmd::Container<double>& data) {
  Outcome own;
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([&](spmd::Index at, double value) {
      own.sum.add(value);
      own.checksum += element_hash(at, value);
    });
  }
  const auto both = [](const Outcome& a, const Outcome& b) {
    Outcome total = a;
    total.sum.add(b.sum);
    total.checksum += b.checksum;
    return total;
  };
  return Shared<Outcome>(group).reduce(
      own, spmd::Reduction<Outcome>::of(Outcome(), both, spmd::Grouping::any));
}

void print(Process& process, const std::string& line) {
  if (process.world().rank() != Rank(0)) return;
  std::printf("%s\n%u processes, %.3f s\n", line.c_str(), process.world().size(),
              process.elapsed().to_seconds());
}

std::string to_hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace weft::examples
