// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/window.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::mpi {
namespace {

bool is_aligned(const void* address, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

void change_elements(void* at, std::uint64_t count, const Datatype& type,
                     std::span<const std::byte> with, Change change, Fold operation,
                     std::span<std::byte> old) {
  if (!old.empty()) type.pack(at, count, old.data());
  if (change == Change::nothing) return;
  if (change == Change::replace) return type.unpack(with, at);
  const BasicShape& shape = shape_of(type.basic());
  const std::uint64_t values = count * type.size() / shape.value_bytes;
  if (type.is_contiguous() && is_aligned(at, shape.alignment) &&
      is_aligned(with.data(), shape.alignment)) {
    (void)fold(operation, type.basic(), with.data(), at, values);
    return;
  }
  std::vector<std::byte> now(count * type.size());
  type.pack(at, count, now.data());
  const std::vector<std::byte> aligned(with.begin(), with.end());
  (void)fold(operation, type.basic(), aligned.data(), now.data(), values);
  type.unpack(now, at);
}

}  // namespace weft::mpi
