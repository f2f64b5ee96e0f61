// SPDX-License-Identifier: Apache-2.0
// Short words for records.
#pragma once

#include "trace/events/record.hpp"

namespace weft::trace {

inline Record enters(std::uint64_t ns, Call call = Call::MPI_Send) {
  return {
      .time_ns = ns, .operation = static_cast<std::uint16_t>(call), .kind = Record::Kind::enter};
}
inline Record leaves(std::uint64_t ns, Call call = Call::MPI_Send) {
  return {
      .time_ns = ns, .operation = static_cast<std::uint16_t>(call), .kind = Record::Kind::leave};
}
inline Record message(std::uint64_t ns, Record::Kind kind, std::uint32_t peer, std::uint64_t bytes,
                      std::uint64_t request = 0, std::int32_t tag = 0) {
  return {.time_ns = ns, .bytes = bytes, .more = request, .peer = peer, .tag = tag, .kind = kind};
}
inline Record request(std::uint64_t ns, Record::Kind kind, std::uint64_t number) {
  return {.time_ns = ns, .more = number, .kind = kind};
}

}  // namespace weft::trace
