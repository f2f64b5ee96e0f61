// SPDX-License-Identifier: Apache-2.0
#include "net/link_model.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace weft::net {
namespace {

constexpr std::uint64_t kPicosecondsPerSecond = PicosecondTick::per_second;

}  // namespace

LinkModel::Wide LinkModel::work(PicoInstant now) const {
  if (now > busy_until_) return 0;
  const auto whole = static_cast<std::uint64_t>((busy_until_ - now).ticks());
  return Wide{whole} * parameters_.rate.bytes_per_second() + remainder_;
}

void LinkModel::set_work(PicoInstant now, Wide work) {
  const std::uint64_t rate = parameters_.rate.bytes_per_second();
  if (rate == 0) {
    busy_until_ = now;
    remainder_ = 0;
    return;
  }
  // Up to 18 MB at a time, as in a packet simulator, the cheap division will do.
  const bool narrow = work <= std::numeric_limits<std::uint64_t>::max();
  const Wide whole = narrow ? static_cast<std::uint64_t>(work) / rate : work / rate;
  const auto room = static_cast<std::uint64_t>((PicoInstant::never() - now).ticks());
  WEFT_CHECK(whole < room, "a link of {} B/s is busy for more than 106 days", rate);
  busy_until_ = now + PicoDuration(static_cast<std::int64_t>(whole));
  remainder_ = static_cast<std::uint64_t>(work - whole * rate);
}

Transit LinkModel::send(PicoInstant now, ByteCount bytes) {
  WEFT_CHECK(admits(now, bytes), "a queue of {} bytes has no room for {}",
             parameters_.queue_limit.value(), bytes.value());
  if (now > busy_until_) {
    busy_until_ = now;
    remainder_ = 0;
  }
  const PicoInstant start = idle_from();
  const Wide on_link = Wide{bytes.value()} + parameters_.overhead_per_message.value();
  set_work(busy_until_, on_link * kPicosecondsPerSecond + remainder_);
  const PicoInstant departure = idle_from();
  return {start, departure, departure + parameters_.latency};
}

void LinkModel::occupy_until(PicoInstant until) {
  if (until <= idle_from()) return;
  busy_until_ = until;
  remainder_ = 0;
}

PicoInstant LinkModel::admits_from(PicoInstant now, ByteCount bytes) const {
  if (parameters_.queue_limit == ByteCount{}) return now;
  const Wide adding = Wide{bytes.value()} + parameters_.overhead_per_message.value();
  const std::uint64_t limit = parameters_.queue_limit.value();
  const Wide may_remain = adding <= limit ? (limit - adding) * kPicosecondsPerSecond : 0;
  if (work(now) <= may_remain) return now;
  // work(t) falls by `rate` each picosecond; at busy_until_ it is remainder_ < rate.
  if (may_remain < remainder_) return idle_from();
  const Wide early = (may_remain - remainder_) / parameters_.rate.bytes_per_second();
  return busy_until_ - PicoDuration(static_cast<std::int64_t>(early));
}

PicoInstant LinkModel::idle_from() const {
  return busy_until_ + PicoDuration(remainder_ > 0 ? 1 : 0);
}

PicoDuration LinkModel::backlog_time(PicoInstant now) const {
  return std::max(PicoDuration{}, idle_from() - now);
}

ByteCount LinkModel::backlog(PicoInstant now) const {
  const Wide bytes = (work(now) + kPicosecondsPerSecond - 1) / kPicosecondsPerSecond;
  return ByteCount(static_cast<std::uint64_t>(bytes));
}

void LinkModel::set_rate(PicoInstant now, Bandwidth rate) {
  const Wide left = work(now);
  parameters_.rate = rate;
  if (left > 0) {
    set_work(now, left);
  } else {
    remainder_ = 0;
  }
}

}  // namespace weft::net
