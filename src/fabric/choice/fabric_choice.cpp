// SPDX-License-Identifier: Apache-2.0
#include "fabric/choice/fabric_choice.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

#include "base/check.hpp"
#include "fabric/libfabric/libfabric.hpp"
#include "fabric/libfabric/provider_library.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft {
namespace {

Result<std::unique_ptr<Fabric>> open_tcp_fabric(const FabricChoice& choice,
                                                const FabricPlace& place, const JobSecret& job) {
  TcpOptions tcp;
  tcp.self = place.self;
  tcp.incarnation = place.incarnation;
  tcp.listen = place.listen.empty() ? "127.0.0.1:0" : place.listen;
  if (choice.name == "tcp:unix") tcp.listen = "unix:@";
  tcp.advertise = place.advertise;
  tcp.job_id = job.job_id;
  for (const char c : job.secret) tcp.secret.push_back(static_cast<std::byte>(c));
  tcp.max_outstanding = choice.max_outstanding;
  tcp.peer_timeout = choice.peer_timeout;
  return open_tcp(tcp);
}

Result<std::unique_ptr<Fabric>> open_libfabric_fabric(const FabricChoice& choice,
                                                      const FabricPlace& place,
                                                      const JobSecret& job) {
  LibfabricOptions libfabric;
  libfabric.provider = choice.name.substr(std::string_view("libfabric:").size());
  libfabric.self = place.self;
  libfabric.incarnation = place.incarnation;
  libfabric.job_secret = job.job_id + job.secret;
  libfabric.max_outstanding = choice.max_outstanding;
  libfabric.peer_timeout = choice.peer_timeout;
  libfabric.heartbeat_interval = std::min(libfabric.heartbeat_interval, choice.peer_timeout / 4);
  libfabric.service_level = choice.service_level;
  // "host:port" without its port; libfabric's own choice when nothing was asked for.
  libfabric.bind_address =
      place.listen.empty() ? "" : place.listen.substr(0, place.listen.rfind(':'));
  return open_libfabric(libfabric);
}

Result<std::unique_ptr<Fabric>> open_plain(const FabricChoice& choice, const FabricPlace& place,
                                           const JobSecret& job) {
  if (choice.name == "tcp" || choice.name == "tcp:unix") {
    return open_tcp_fabric(choice, place, job);
  }
  if (choice.name.starts_with("libfabric:")) return open_libfabric_fabric(choice, place, job);
  return Error{ErrorCode::invalid_argument,
               fmt::format("--fabric: '{}' is none of tcp, tcp:unix, libfabric:PROVIDER (such as "
                           "libfabric:tcp or libfabric:shm) and, where all nodes are local, "
                           "sim:SCENARIO.toml",
                           choice.name)};
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

Result<void> prepare_fabric(const FabricChoice& choice) {
  if (choice.name.starts_with("libfabric:")) return ofi::load_library();
  return {};
}

Result<OpenedFabric> open_fabric(const FabricChoice& choice, const FabricPlace& place,
                                 const JobSecret& job) {
  auto plain = open_plain(choice, place, job);
  if (!plain) return std::move(plain).error();
  OpenedFabric opened;
  opened.fabric = std::move(plain).value();
  if (choice.shape) {
    auto shaped = shape(std::move(opened.fabric), *choice.shape);
    opened.shaped = shaped.get();
    opened.fabric = std::move(shaped);
  }
  return opened;
}

}  // namespace weft
