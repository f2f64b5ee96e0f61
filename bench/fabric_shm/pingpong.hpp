// SPDX-License-Identifier: Apache-2.0
// weft's part: two processes over a fabric, measured as mpi_pingpong.c measures two ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::bench {

struct Sample {
  std::size_t size = 0;
  double latency_us = 0;     ///< half a round trip
  double bandwidth_gbs = 0;  ///< windows of 16
};

/// "shm", "shm-pull" (writes from 16 KiB on are fetched from the sender's memory), "tcp"
/// (127.0.0.1) or "unix". Forks the second process; each is bound to a core of its own. Aborts when
/// anything fails.
std::vector<Sample> fabric_pingpong(const std::string& fabric,
                                    const std::vector<std::size_t>& sizes);

}  // namespace weft::bench
