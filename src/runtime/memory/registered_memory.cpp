// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/registered_memory.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/check.hpp"

namespace weft {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<const std::byte*, SharedPlace, std::greater<>> rings;  // by the start of the mapping
};

Table& table() {
  static Table* const the_table = new Table;  // outlives every static ring
  return *the_table;
}

}  // namespace

std::optional<SharedPlace> find_shared_place(std::span<const std::byte> bytes) {
  Table& t = table();
  const std::shared_lock lock(t.mutex);
  const auto at = t.rings.lower_bound(bytes.data());  // the last ring that starts before or here
  if (at == t.rings.end()) return std::nullopt;
  SharedPlace place = at->second;
  const auto position = static_cast<std::uint64_t>(bytes.data() - at->first);
  const std::uint64_t mapped = 2 * place.ring_size.value();
  if (position >= mapped || bytes.size() > mapped - position) return std::nullopt;
  place.position = position;
  return place;
}

MemoryRegistration::MemoryRegistration(const std::byte* base, std::uint64_t file, int descriptor,
                                       std::uint64_t ring_offset, ByteCount ring_size)
    : base_(base) {
  Table& t = table();
  const std::unique_lock lock(t.mutex);
  const bool added =
      t.rings.emplace(base, SharedPlace{file, descriptor, ring_offset, ring_size, 0}).second;
  WEFT_CHECK(added, "memory was registered twice");
}

MemoryRegistration::~MemoryRegistration() {
  if (base_ == nullptr) return;
  Table& t = table();
  const std::unique_lock lock(t.mutex);
  t.rings.erase(base_);
}

MemoryRegistration& MemoryRegistration::operator=(MemoryRegistration&& other) noexcept {
  std::swap(base_, other.base_);
  return *this;
}

std::uint64_t next_memory_file() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace weft
