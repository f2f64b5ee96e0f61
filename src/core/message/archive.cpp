// SPDX-License-Identifier: Apache-2.0
#include "core/message/archive.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/message/digest.hpp"

namespace weft::message {
namespace {

/// The most bytes of a run, which begins with the pool's smallest block and doubles: most flows are
/// short.
constexpr std::size_t largest_run = 64 << 10;
static_assert(Archive::most_shared < 1u << 14);

std::size_t bytes_of_length(std::size_t length) {
  return length < 0x80 ? 1 : 2;
}

void put_length(std::byte* at, std::size_t length) {
  if (length < 0x80) {
    at[0] = static_cast<std::byte>(length);
  } else {
    at[0] = static_cast<std::byte>(0x80 | length >> 8);
    at[1] = static_cast<std::byte>(length);
  }
}

std::size_t length_at(std::span<const std::byte> bytes, std::size_t at) {
  const auto first = std::to_integer<std::size_t>(bytes[at]);
  return first < 0x80 ? first : (first & 0x7f) << 8 | std::to_integer<std::size_t>(bytes[at + 1]);
}

}  // namespace

bool Archive::make_room(BodyPool& pool, Run& run, std::size_t bytes) {
  const std::size_t size = run.body.view().size();
  if (run.used + bytes <= size) return true;
  Body larger;
  if (!pool.take_beyond_limit(std::max(size * 2, BodyPool::smallest), larger)) return false;
  std::copy_n(run.body.view().begin(), run.used, larger.memory().begin());
  run.body = std::move(larger);
  return run.used + bytes <= run.body.view().size() || make_room(pool, run, bytes);
}

bool Archive::add(BodyPool& pool, Serial serial, std::span<const std::byte> bytes, Body& body,
                  std::uint64_t digest_before, std::uint64_t digest) {
  if (bytes.size() > most_shared) {
    WEFT_CHECK(body.owns());
    Run& run = runs_.emplace_back(serial, digest_before, digest);
    run.count = 1;
    std::swap(run.body, body);
    return true;
  }
  const std::size_t needed = bytes.size() + bytes_of_length(bytes.size());
  Run* last = runs_.empty() ? nullptr : &runs_[runs_.size() - 1];
  const bool fits = last != nullptr && last->is_shared && last->used + needed <= largest_run &&
                    last->first + last->count == serial && last->writes_out == 0;
  Run fresh;
  fresh.first = serial;
  fresh.digest_before = digest_before;
  fresh.is_shared = true;
  Run& run = fits ? *last : fresh;
  if (!make_room(pool, run, needed)) return false;
  std::byte* const at = run.body.memory().data() + run.used;
  put_length(at, bytes.size());
  std::copy(bytes.begin(), bytes.end(), at + needed - bytes.size());
  run.used += static_cast<std::uint32_t>(needed);
  run.digest = digest;
  ++run.count;
  if (!fits) runs_.push_back(std::move(fresh));
  return true;
}

void Archive::add_gone(Serial serial) {
  Run& run = runs_.emplace_back(serial);
  run.count = 1;
  run.is_gone = true;
}

std::uint64_t Archive::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) sum += runs_[i].body.view().size();
  return sum;
}

Archive::Run* Archive::run_of(Serial serial) {
  if (runs_.empty() || serial < runs_[0].first) return nullptr;
  std::size_t from = 0, to = runs_.size();
  while (to - from > 1) {
    const std::size_t middle = from + (to - from) / 2;
    (runs_[middle].first <= serial ? from : to) = middle;
  }
  Run& run = runs_[from];
  return serial - run.first < run.count ? &run : nullptr;
}

std::optional<Archive::Message> Archive::find(Serial serial) {
  Run* const run = run_of(serial);
  if (run == nullptr) return std::nullopt;
  if (run->is_gone) return Message{.is_gone = true};
  if (run->is_shared) return find_shared(*run, serial);
  return Message{.bytes = run->body.view(), .digest = run->digest};
}

void Archive::read(const Run& run, Serial serial, std::size_t offset, std::uint64_t digest_before) {
  const std::span<const std::byte> all = run.body.view();
  const std::size_t length = length_at(all, offset);
  const std::size_t begin = offset + bytes_of_length(length);
  const std::uint64_t digest =
      digest_before == 0 ? 0 : digest_after(digest_before, serial, all.subspan(begin, length));
  cursor_ = {.run = run.first,
             .serial = serial,
             .length = length,
             .end = begin + length,
             .digest = digest,
             .is_valid = true};
}

Archive::Message Archive::find_shared(const Run& run, Serial serial) {
  if (!cursor_.is_valid || cursor_.run != run.first || cursor_.serial > serial) {
    read(run, run.first, 0, run.digest_before);
  }
  while (cursor_.serial < serial) read(run, cursor_.serial + 1, cursor_.end, cursor_.digest);
  return {.bytes = run.body.view().subspan(cursor_.end - cursor_.length, cursor_.length),
          .digest = cursor_.digest};
}

void Archive::forget(Serial before) {
  while (!runs_.empty()) {
    const Run& run = runs_.front();
    if (run.first + run.count > before || run.writes_out > 0) return;
    if (cursor_.run == run.first) cursor_.is_valid = false;
    runs_.pop_front();
  }
}

void Archive::begin_write(Serial serial) {
  ++run_of(serial)->writes_out;
}

void Archive::end_write(Serial serial) {
  Run* const run = run_of(serial);
  WEFT_CHECK(run != nullptr && run->writes_out > 0);
  --run->writes_out;
}

}  // namespace weft::message
