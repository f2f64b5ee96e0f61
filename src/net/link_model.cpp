// SPDX-License-Identifier: Apache-2.0
#include "net/link_model.hpp"

#include "base/check.hpp"

namespace weft::net {
namespace {

constexpr std::uint64_t kPicosecondsPerSecond = PicosecondTick::per_second;

}  // namespace

Transit LinkModel::send(PicoInstant now, ByteCount bytes) {
  WEFT_CHECK(admits(now, bytes), "a queue of {} bytes has no room for {}",
             parameters_.queue_limit.value(), bytes.value());
  const std::uint64_t overhead = parameters_.overhead_per_message.value();
  const auto [start, departure] = clock_.send(now, bytes.value() + overhead, parameters_.rate);
  return {start, departure, departure + parameters_.latency};
}

void LinkModel::occupy_until(PicoInstant until) {
  clock_.occupy_until(until);
}

PicoInstant LinkModel::admits_from(PicoInstant now, ByteCount bytes) const {
  if (parameters_.queue_limit == ByteCount{}) return now;
  const Wide adding = Wide{bytes.value()} + parameters_.overhead_per_message.value();
  const std::uint64_t limit = parameters_.queue_limit.value();
  const Wide may_remain = adding <= limit ? (limit - adding) * kPicosecondsPerSecond : 0;
  if (clock_.work(now, parameters_.rate) <= may_remain) return now;
  // work(t) falls by `rate` each picosecond; at the last whole one the remainder is left, < rate.
  if (may_remain < clock_.remainder()) return idle_from();
  const Wide early = (may_remain - clock_.remainder()) / parameters_.rate.bytes_per_second();
  return clock_.whole_before() - PicoDuration(static_cast<std::int64_t>(early));
}

PicoInstant LinkModel::idle_from() const {
  return clock_.free_at();
}

ByteCount LinkModel::backlog(PicoInstant now) const {
  const Wide work = clock_.work(now, parameters_.rate);
  return ByteCount(
      static_cast<std::uint64_t>((work + kPicosecondsPerSecond - 1) / kPicosecondsPerSecond));
}

void LinkModel::set_rate(PicoInstant now, Bandwidth rate) {
  clock_.change_rate(now, parameters_.rate, rate);
  parameters_.rate = rate;
}

}  // namespace weft::net
