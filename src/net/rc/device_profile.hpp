// SPDX-License-Identifier: Apache-2.0
// DeviceProfile: how an adapter deals with lost packets and unmapped pages, as data. The default
// source is paper 2 (Fukuoka, Sato, Taura: Pitfalls of InfiniBand with On-Demand Paging); comments
// name figures that it does not measure as assumptions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::net::rc {

struct DeviceProfile {
  std::string_view name;
  std::string_view source;  ///< where its figures come from, one line

  bool has_paging = true;
  /// Smallest local ACK timeout code that the adapter accepts; smaller ones count as this one.
  std::uint8_t ack_timeout_floor = 16;
  /// The length of a timeout as a multiple of 4.096 us * 2^code: 500 ms for 268 ms (Fig. 2).
  double timeout_factor = 1.863;
  /// Timeouts begin short and double with each retry up to the ordinary one.
  bool adaptive_timeout = false;
  Duration first_adaptive_timeout = Duration::milliseconds(1);

  /// The wait after an RNR NAK as a multiple of the delay that the NAK names: 4.5 ms for 1.28 ms
  /// (Fig. 1).
  double rnr_wait_factor = 3.5;
  /// Time from a response that found no page until the adapter sends the request again (Fig. 1).
  Duration client_retry = Duration::microseconds(500);
  /// Time from a packet that finds no page until the adapter has stopped the queue pair for it. The
  /// queue pair still sends packets during that time. Fig. 4 shows stalls from intervals of 100 us
  /// on and none at 0; the value between them is an assumption: with at least 70 us, 11 queue pairs
  /// have posted their 16 READs before they stop, and flood (Fig. 9) rather than lose requests.
  Duration fault_detection = Duration::microseconds(75);
  /// A page fault takes `fault_least` plus an exponential time of mean `fault_mean_rest`, at most
  /// `fault_most` ("250-1000 us", Fig. 9).
  Duration fault_least = Duration::microseconds(250);
  Duration fault_mean_rest = Duration::microseconds(80);
  Duration fault_most = Duration::microseconds(1'000);

  /// While a queue pair waits to send a request again, requests that are posted to it leave its
  /// send queue, count as sent, and are lost (Section V). Otherwise they wait behind it.
  bool loses_posts_while_waiting = false;
  /// A request whose response found no page learns late that the page is mapped (Section VI).
  bool page_status_lags = false;
  /// The adapter's engine needs this time to tell one request that its page is there. Fitted to
  /// Fig. 11a: 128 requests on one page complete between 1 and 6 ms.
  Duration status_update = Duration::microseconds(18);
  /// The engine needs this time for a discarded response, whatever its number of packets, and
  /// handles discarded responses first. Fitted to the limit of Fig. 9: 16 READs of each of 10 queue
  /// pairs take the engine less than client_retry, those of 11 more, and then it falls behind.
  Duration discard_cost = Duration::nanoseconds(2'950);
  /// The engine handles at most this many discarded responses before it tells the next request that
  /// its page is there. Fitted to Fig. 9: seconds, up to 3,000 times the time without paging.
  std::uint32_t discards_per_update = 8'192;
  /// The firmware resends requests, one at a time. Assumption, fitted to the number of packets in
  /// Fig. 9b.
  Duration resend_cost = Duration::nanoseconds(1'000);

  std::uint32_t most_reads = 16;  ///< outstanding READs per queue pair
  Bandwidth rate = Bandwidth::bits_per_second(56'000'000'000);
};

/// Returns the profiles of all adapters that weft knows.
std::span<const DeviceProfile> device_profiles();
/// Returns the profile of that name. Errors: there is none; the message lists the names.
Result<DeviceProfile> device_profile(std::string_view name);

/// Returns T_tr of the paper: 4.096 us * 2^code, or zero for code 0, which sets no timeout.
Duration ack_timeout(std::uint8_t code);
/// Returns T_o of the paper: the time after which this adapter detects a loss, at the given retry
/// (from 0).
Duration detected_timeout(const DeviceProfile& profile, std::uint8_t code, std::uint32_t retry = 0);

}  // namespace weft::net::rc
