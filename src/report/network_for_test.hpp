// SPDX-License-Identifier: Apache-2.0
// A record of a network that tests of its page and file share.
#pragma once

#include "report/network_record.hpp"

namespace weft::report {

/// Two hosts at a switch; one run.
inline NetworkRecord small_network() {
  NetworkRecord r;
  r.version = "0.1.0";
  r.command = "weft simulate uniform --topology star:2";
  r.seed = 18446744073709551615u;
  r.parameters = {{"topology", "star:2"}, {"load", "0.5"}};
  r.topology = {.name = "star:2",
                .shape = "star",
                .router = "d-mod-k",
                .vertices = {{.host = true, .name = "host 0", .level = 0, .group = 0},
                             {.host = true, .name = "host 1", .level = 0, .group = 0},
                             {.host = false, .name = "switch 0", .level = 1, .group = 0}},
                .links = {{0, 2, "host", 12.5e9},
                          {1, 2, "host", 12.5e9},
                          {2, 0, "host", 12.5e9},
                          {2, 1, "host", 12.5e9}}};
  NetworkRun run{
      .name = "grant", .trace_hash = "0123456789abcdef", .end_us = 20, .step_us = 10, .steps = 2};
  run.links = {{0.5, 10, 40960, 0, 0},
               {0, 0, 0, 0, 0},
               {0, 0, 0, 0, 0},
               {0.25, 10, 40960, 512, 4096, {{2, 10, 40960, 1.5}}}};
  run.series = {{0, {0.75, 0.25}, {0, 0}}, {3, {0.5, 0}, {1024, 0}}};
  run.messages = {{.name = "uniform",
                   .messages = 10,
                   .bytes = 40960,
                   .latency_us = {1, 1.5, 2, 3, 4, 5, 2.25},
                   .buckets = {{1, 2, 6}, {2, 4, 4}},
                   .sizes = {{4096, 10, {1, 1.5, 2, 3, 4, 5, 2.25}}},
                   .flows = {{0, 1, 4096, 0.5, 2.75}, {0, 1, 4096, 3, 5}}}};
  r.runs = {run};
  return r;
}

}  // namespace weft::report
