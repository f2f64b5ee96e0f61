// SPDX-License-Identifier: Apache-2.0
#include "net/rc/device_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/make_error.hpp"

namespace weft::net::rc {
namespace {

DeviceProfile connectx_3() {
  DeviceProfile p;
  p.name = "connectx-3";
  p.source = "paper 2, Table I and Fig. 2 (timeouts); it has no on-demand paging";
  p.has_paging = false;
  return p;
}

DeviceProfile connectx_4() {
  DeviceProfile p;
  p.name = "connectx-4";
  p.source = "paper 2, Sections IV to VI, private servers B (firmware 12.27)";
  p.loses_posts_while_waiting = true;
  p.page_status_lags = true;
  return p;
}

DeviceProfile connectx_5() {
  DeviceProfile p;
  p.name = "connectx-5";
  p.source =
      "paper 2, Fig. 2; Section IX: damming vanishes in models after ConnectX-4, flood remains";
  p.ack_timeout_floor = 12;
  p.timeout_factor = 1.788;
  p.page_status_lags = true;
  p.rate = Bandwidth::bits_per_second(100'000'000'000);
  return p;
}

DeviceProfile connectx_6() {
  DeviceProfile p;
  p.name = "connectx-6";
  p.source = "paper 2, Fig. 2 and Sections V-C, VI-A: no damming, flood remains";
  p.page_status_lags = true;
  p.rate = Bandwidth::bits_per_second(200'000'000'000);
  return p;
}

DeviceProfile adaptive() {
  DeviceProfile p = connectx_6();
  p.name = "adaptive";
  p.source =
      "connectx-6 with adaptive retransmission (counter roce_adp_retrans of mlx5); the first "
      "timeout "
      "is an assumption";
  p.adaptive_timeout = true;
  return p;
}

DeviceProfile ideal() {
  DeviceProfile p;
  p.name = "ideal";
  p.source = "the specification, with the waits that it asks for and no more";
  p.ack_timeout_floor = 1;
  p.timeout_factor = 1;
  p.rnr_wait_factor = 1;
  p.fault_detection = Duration::microseconds(1);
  p.resend_cost = Duration::nanoseconds(100);
  return p;
}

const std::array<DeviceProfile, 6> all_profiles = {connectx_3(), connectx_4(), connectx_5(),
                                                   connectx_6(), adaptive(),   ideal()};

}  // namespace

std::span<const DeviceProfile> device_profiles() {
  return all_profiles;
}

Result<DeviceProfile> device_profile(std::string_view name) {
  const auto* const found = std::find_if(all_profiles.begin(), all_profiles.end(),
                                         [&](const DeviceProfile& p) { return p.name == name; });
  if (found != all_profiles.end()) return *found;
  std::vector<std::string_view> names;
  for (const DeviceProfile& p : all_profiles) names.push_back(p.name);
  return invalid("'{}' is no device; use {}", name, fmt::join(names, ", "));
}

Duration ack_timeout(std::uint8_t code) {
  if (code == 0) return {};
  return Duration(4'096) * (std::int64_t{1} << code);
}

Duration detected_timeout(const DeviceProfile& profile, std::uint8_t code, std::uint32_t retry) {
  if (code == 0) return {};
  const std::uint8_t used = std::max(code, profile.ack_timeout_floor);
  const auto whole = Duration(static_cast<std::int64_t>(
      static_cast<double>(ack_timeout(used).ticks()) * profile.timeout_factor));
  if (!profile.adaptive_timeout) return whole;
  return std::min(whole,
                  profile.first_adaptive_timeout * (std::int64_t{1} << std::min(retry, 30U)));
}

}  // namespace weft::net::rc
