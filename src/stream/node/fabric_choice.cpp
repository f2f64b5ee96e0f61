// SPDX-License-Identifier: Apache-2.0
#include "stream/node/fabric_choice.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "base/check.hpp"
#include "fabric/libfabric/libfabric.hpp"
#include "fabric/libfabric/provider_library.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft::stream {
namespace {

/// A contribution's writes are small in number; this many keep many peers' links busy.
constexpr std::size_t max_outstanding = 4096;

Result<std::unique_ptr<Fabric>> open_tcp_fabric(const StreamOptions& options,
                                                const FabricPlace& place, const JobSecret& job) {
  TcpOptions tcp;
  tcp.self = place.self;
  tcp.incarnation = place.incarnation;
  tcp.listen = place.listen.empty() ? "127.0.0.1:0" : place.listen;
  if (options.fabric == "tcp:unix") tcp.listen = "unix:@";
  tcp.advertise = place.advertise;
  tcp.job_id = job.job_id;
  for (const char c : job.secret) tcp.secret.push_back(static_cast<std::byte>(c));
  tcp.max_outstanding = max_outstanding;
  tcp.peer_timeout = options.peer_timeout;
  return open_tcp(tcp);
}

Result<std::unique_ptr<Fabric>> open_libfabric_fabric(const StreamOptions& options,
                                                      const FabricPlace& place,
                                                      const JobSecret& job) {
  LibfabricOptions libfabric;
  libfabric.provider = options.fabric.substr(std::string_view("libfabric:").size());
  libfabric.self = place.self;
  libfabric.incarnation = place.incarnation;
  libfabric.job_secret = job.job_id + job.secret;
  libfabric.max_outstanding = max_outstanding;
  libfabric.peer_timeout = options.peer_timeout;
  libfabric.heartbeat_interval = std::min(libfabric.heartbeat_interval, options.peer_timeout / 4);
  libfabric.service_level = options.data_level;
  // "host:port" without its port; libfabric's own choice when nothing was asked for.
  libfabric.bind_address =
      place.listen.empty() ? "" : place.listen.substr(0, place.listen.rfind(':'));
  return open_libfabric(libfabric);
}

Result<std::unique_ptr<Fabric>> open_plain(const StreamOptions& options, const FabricPlace& place,
                                           const JobSecret& job) {
  if (options.fabric == "tcp" || options.fabric == "tcp:unix") {
    return open_tcp_fabric(options, place, job);
  }
  if (options.fabric.starts_with("libfabric:")) return open_libfabric_fabric(options, place, job);
  return Error{ErrorCode::invalid_argument,
               fmt::format("--fabric: '{}' is none of tcp, tcp:unix, libfabric:PROVIDER (such as "
                           "libfabric:tcp or libfabric:shm) and, where all nodes are local, "
                           "sim:SCENARIO.toml",
                           options.fabric)};
}

}  // namespace

JobSecret make_job_secret() {
  WEFT_CHECK(sodium_init() >= 0, "libsodium cannot be used");
  JobSecret job;
  job.job_id = fmt::format("weft-{:016x}", static_cast<std::uint64_t>(randombytes_random()) << 32 |
                                               randombytes_random());
  job.secret.resize(32);
  randombytes_buf(job.secret.data(), job.secret.size());
  return job;
}

Result<void> prepare_fabric(const StreamOptions& options) {
  if (options.fabric.starts_with("libfabric:")) return ofi::load_library();
  return {};
}

Result<OpenedFabric> open_fabric(const StreamOptions& options, const FabricPlace& place,
                                 const JobSecret& job) {
  auto plain = open_plain(options, place, job);
  if (!plain) return std::move(plain).error();
  OpenedFabric opened;
  opened.fabric = std::move(plain).value();
  if (options.link) {
    auto shaped =
        shape(std::move(opened.fabric), symmetric_shape(options.link->rate, options.link->latency));
    opened.shaped = shaped.get();
    opened.fabric = std::move(shaped);
  }
  return opened;
}

}  // namespace weft::stream
