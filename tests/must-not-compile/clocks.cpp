// SPDX-License-Identifier: Apache-2.0
// Each case but the first mixes times of two clocks. must_not_compile_test.sh compiles one at a
// time.
#include "base/clocks.hpp"

using namespace weft;

// An instant of the holder's clock, one of the host's, one of node 0's, one of the packet models'.
Duration mixed(Instant own, HostInstant host, InstantOf<LeaderClock> leader, PicoInstant model) {
  (void)model;
#if CASE == 0  // compiles: by an offset, or where the holder's clock is the host's
  const ClockOffset<LeaderClock> offset(own, leader);
  return offset.at(as_own(host)) - leader + (own_as<HostClock>(own) - host);
#elif CASE == 1
  return own - host;
#elif CASE == 2
  return host - leader;
#elif CASE == 3
  return own < leader ? Duration(1) : Duration(2);
#elif CASE == 4
  own = host;
  return own - Instant();
#elif CASE == 5
  return own - model;
#elif CASE == 6
  const ClockOffset<LeaderClock> offset(own, host);
  return offset.ahead();
#elif CASE == 7
  return host == leader ? Duration(1) : Duration(2);
#elif CASE == 8
  return Instant(5) - 5;
#endif
}
