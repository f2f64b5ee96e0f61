// SPDX-License-Identifier: Apache-2.0
// A scenario of two small jobs on a network of 16 hosts.
#pragma once

namespace weft::qos {

inline constexpr const char* two_jobs = R"(
[network]
topology = "fat-tree:16,levels=2,radix=8"
router = "d-mod-k"
preset = "ib-qdr"

[[jobs]]
name = "flood"
kind = "workload"
pattern = "flood-pairs"
ranks = 8
message = "64KiB"
compute = "20us"

[[jobs]]
name = "all"
kind = "workload"
pattern = "all-to-all"
ranks = 8
message = "8KiB"
compute = "20us"
)";

}  // namespace weft::qos
