// SPDX-License-Identifier: Apache-2.0
// Endpoints in one process, for tests of several.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "fabric/shm/shm.hpp"

namespace weft::shm {

inline Instant test_now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

/// `options`: besides who it is, and of which job.
inline std::unique_ptr<ShmFabric> open_for_test(NodeId self, ShmOptions options = {}) {
  options.self = self;
  options.incarnation = Incarnation(1);
  options.job_id = "several endpoints";
  options.secret.assign(32, std::byte{5});
  auto opened = open_shm(options);
  WEFT_CHECK(opened.ok(), "{}", opened.error().message);
  return std::move(*opened);
}

}  // namespace weft::shm
