// SPDX-License-Identifier: Apache-2.0
// The page about a run of the benchmark of paper 2: the course of events, the times of operations,
// the packets, and the beginning of it as a sequence diagram. No scripts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::report {

/// A packet of the sequence diagram.
struct OdpArrow {
  double at_us = 0;  ///< at the client's port
  bool from_client = true;
  bool is_lost = false;   ///< left the send queue and never went out
  bool is_again = false;  ///< had been sent before
  bool is_nak = false;
  std::string text;                   ///< "READ request 3"
  std::uint64_t left_out_before = 0;  ///< packets between the arrow before and this one
};

struct OdpRecord {
  std::string title;
  std::string summary;
  std::string command;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<double> completed_us;                ///< of each operation, in the order posted
  double step_us = 0;                              ///< of `requests` and `responses`
  std::vector<std::uint64_t> requests, responses;  ///< packets per step
  std::vector<double> executions_us;               ///< of each trial, when there are several
  std::vector<OdpArrow> arrows;                    ///< the first packets and those around pauses
  std::uint64_t arrows_left_out = 0;
};

/// The whole page; text of the record is escaped.
std::string odp_page(const OdpRecord& record);

}  // namespace weft::report
