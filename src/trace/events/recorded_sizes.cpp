// SPDX-License-Identifier: Apache-2.0
// By itself, as modules within other programs use it.
#include "trace/events/collective_size.hpp"

namespace weft::trace {

CollectiveSizes recorded_sizes(Collective operation, std::uint64_t bytes, std::uint32_t member,
                               std::uint32_t members, std::uint32_t root) {
  CollectiveSizes s{.member = member, .members = members, .root = root};
  const std::uint64_t all = bytes * members;
  const bool is_root = member == root;
  switch (operation) {
    case Collective::broadcast:
    case Collective::scatter:
      s.sent = is_root ? all : 0;
      s.received = bytes;
      break;
    case Collective::gather:
    case Collective::reduce:
      s.sent = bytes;
      s.received = is_root ? all : 0;
      break;
    case Collective::scan:
      s.sent = bytes * (members - member);
      s.received = bytes * (member + 1);
      break;
    case Collective::exclusive_scan:
      s.sent = bytes * (members - 1 - member);
      s.received = bytes * member;
      break;
    case Collective::barrier:
      break;
    default:
      s.sent = s.received = all;
      break;
  }
  return s;
}

}  // namespace weft::trace
