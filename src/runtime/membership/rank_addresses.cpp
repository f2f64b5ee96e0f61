// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/make_error.hpp"
#include "runtime/membership/host_names.hpp"
#include "runtime/membership/job_file.hpp"

namespace weft {

Result<std::string> RankAddresses::numeric(const std::string& host) {
  const auto at = std::lower_bound(known_.begin(), known_.end(), host,
                                   [](const Known& k, const std::string& h) { return k.name < h; });
  if (at != known_.end() && at->name == host) return at->numeric;
  auto found = resolve_host(host);
  if (found) known_.insert(at, Known{.name = host, .numeric = *found});
  return found;
}

Result<std::vector<std::string>> RankAddresses::resolve(const JobFile& file) {
  std::vector<std::string> addresses;
  std::unordered_map<std::string, std::uint32_t> ranks;
  for (const RankPlace& place : file.ranks) {
    std::string address = "unix:@" + place.unix_name;
    if (!place.host.empty()) {
      auto host = numeric(place.host);
      if (!host) {
        return Error{host.error().code,
                     fmt::format("{}: {}; correct the name or write a numeric address",
                                 file.where(place.line), host.error().message)};
      }
      address = join_host_port(*host, place.port);
    }
    const auto rank = static_cast<std::uint32_t>(addresses.size());
    const auto [before, is_new] = ranks.emplace(address, rank);
    if (!is_new) {
      return invalid(
          "{}: ranks {} and {} are both at {}; each needs an address of its own, such as another "
          "port of the host",
          file.where(place.line), before->second, rank, address);
    }
    addresses.push_back(std::move(address));
  }
  return addresses;
}

std::string listening_address(const RankPlace& place, const std::string& address) {
  if (place.host.empty()) return address;
  const std::string host = address.substr(0, address.rfind(':'));
  const bool alias = is_loopback(host) && place.host != host && place.host != "localhost";
  return alias ? join_host_port("0.0.0.0", place.port) : address;
}

std::vector<std::uint32_t> ranks_here(const std::vector<std::string>& addresses) {
  std::vector<std::string> hosts;
  for (const std::string& address : addresses) {
    std::string host = address.substr(0, address.rfind(':'));
    if (address.starts_with("unix:")) host = "127.0.0.1";
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    hosts.push_back(std::move(host));
  }
  return hosts_here(hosts, local_addresses());
}

}  // namespace weft
