// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.hpp"

namespace weft::stream {
namespace {

void append(sim::Batch& batch, const void* bytes, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  batch.insert(batch.end(), first, first + size);
}

void append(sim::Batch& batch, std::uint64_t number) {
  append(batch, &number, sizeof number);
}

/// With its length before it.
void append(sim::Batch& batch, std::string_view text) {
  append(batch, text.size());
  append(batch, text.data(), text.size());
}

/// Reads the bytes that `append` wrote, in another process of the same program.
class Reader {
 public:
  explicit Reader(const sim::Batch& batch) : left_(batch) {}
  bool done() const { return left_.empty(); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() {
    const auto bytes = take(number());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    WEFT_CHECK(size <= left_.size(), "{} bytes of {} that another part sent", size, left_.size());
    const auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }
  std::span<const std::byte> left_;
};

}  // namespace

std::vector<NodeReport> gather_reports(sim::Exchange& exchange, std::vector<NodeReport> own) {
  if (exchange.size() == 1) return own;
  sim::Batch batch;
  for (const NodeReport& report : own) append(batch, encode_report(report));
  std::vector<NodeReport> all;
  for (const sim::Batch& said : sim::gather(exchange, std::move(batch))) {
    for (Reader reader(said); !reader.done();) {
      auto report = decode_report(reader.text());
      WEFT_CHECK(report.ok(), "{}", report.error().message);
      all.push_back(std::move(report).value());
    }
  }
  std::sort(all.begin(), all.end(),
            [](const NodeReport& a, const NodeReport& b) { return a.node < b.node; });
  return all;
}

StreamProgress sum_progress(sim::Exchange& exchange, StreamProgress own) {
  if (exchange.size() == 1) return own;
  constexpr double unit = 1e6;  // of fractions, for the sums
  std::uint64_t sums[] = {own.timeslices, own.bytes,
                          static_cast<std::uint64_t>(std::llround(own.spread_us * unit)),
                          static_cast<std::uint64_t>(std::llround(own.buffer_fill * unit))};
  exchange.sum(sums);
  own.timeslices = sums[0];
  own.bytes = sums[1];
  own.spread_us = static_cast<double>(sums[2]) / unit;
  own.buffer_fill = static_cast<double>(sums[3]) / unit;
  return own;
}

}  // namespace weft::stream
