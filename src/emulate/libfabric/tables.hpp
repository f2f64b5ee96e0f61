// SPDX-License-Identifier: Apache-2.0
// Providers have one table of functions for all their objects of a kind: the few tables of a
// process are copied, changed, and remembered beside the provider's own.
#pragma once

#include <string.h>

#include <algorithm>
#include <cstddef>

namespace weft::emulate::libfabric {

inline constexpr unsigned kMostTables = 16;
template <class Table>
struct Taken {
  Table* own;
  Table table;
};

/// The copy of a table, to be changed; nullptr when there are too many. Not thread-safe.
template <class Table>
Taken<Table>* copy_of(Taken<Table> (&all)[kMostTables], Table* own) {
  for (Taken<Table>& taken : all) {
    if (&taken.table == own) return &taken;
    if (taken.own == own) return &taken;
    if (taken.own != nullptr) continue;
    taken.own = own;
    ::memcpy(&taken.table, own, std::min(own->size, sizeof(Table)));
    return &taken;
  }
  return nullptr;
}

/// The provider's own table behind a copy.
template <class Table>
Table& real_of(Table* table) {
  return *reinterpret_cast<Taken<Table>*>(reinterpret_cast<char*>(table) -
                                          offsetof(Taken<Table>, table))
              ->own;
}

}  // namespace weft::emulate::libfabric
