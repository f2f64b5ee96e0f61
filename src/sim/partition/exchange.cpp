// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/make_error.hpp"

namespace weft::sim {
namespace {

/// The error's code and its message.
Batch packed(const Error& error) {
  Batch batch(1 + error.message.size());
  batch[0] = static_cast<std::byte>(error.code);
  std::memcpy(batch.data() + 1, error.message.data(), error.message.size());
  return batch;
}

Error unpacked(const Batch& batch) {
  if (batch.empty()) return {ErrorCode::unavailable, "has failed"};
  Error error{ErrorCode::unavailable,
              std::string(reinterpret_cast<const char*>(batch.data()) + 1, batch.size() - 1)};
  const auto code = static_cast<std::uint8_t>(batch[0]);
  if (code <= static_cast<std::uint8_t>(ErrorCode::cancelled)) error.code = ErrorCode{code};
  return error;
}

}  // namespace

std::vector<std::uint32_t> others(const Exchange& exchange) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < exchange.size(); ++r) {
    if (r != exchange.rank()) ranks.push_back(r);
  }
  return ranks;
}

std::vector<Batch> gather(Exchange& exchange, Batch own) {
  std::vector<Batch> outgoing(exchange.size(), own), incoming(exchange.size());
  exchange.turn(others(exchange), outgoing, incoming, 0);
  incoming[exchange.rank()] = std::move(own);
  return incoming;
}

Result<void> agree(Exchange& exchange, const Result<void>& good, std::uint64_t digest,
                   std::string_view what) {
  constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();
  std::vector<Batch> outgoing(exchange.size()), incoming(exchange.size());
  if (!good) std::fill(outgoing.begin(), outgoing.end(), packed(good.error()));
  const std::int64_t failed = exchange.turn(others(exchange), outgoing, incoming,
                                            good ? nobody : std::int64_t{exchange.rank()});
  if (failed != nobody) {
    const auto rank = static_cast<std::uint32_t>(failed);
    Error error = rank == exchange.rank() ? good.error() : unpacked(incoming[rank]);
    if (rank != 0) error.message.insert(0, fmt::format("process {}: ", rank));
    return error;
  }
  const auto own = static_cast<std::int64_t>(digest >> 1);
  const std::int64_t least = exchange.turn({}, {}, {}, own);
  if (least == greatest(exchange, own)) return {};
  return invalid(
      "the processes have read different things: {} must be the same for all of them; put it where "
      "all see it",
      what);
}

}  // namespace weft::sim
