// SPDX-License-Identifier: Apache-2.0
#include "fabric/choice/fabric_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "fabric/hybrid/hybrid.hpp"
#include "fabric/libfabric/libfabric.hpp"
#include "fabric/libfabric/provider_library.hpp"
#include "fabric/mpi/mpi.hpp"
#include "fabric/shm/shm.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Below, copying through the ring costs less than looking up the other's pages
/// (docs/shm-fabric.md).
constexpr std::size_t pull_from_when_sharing = 64 * 1024;
constexpr std::size_t pull_from_else = 128 * 1024;
/// A ring as large as the second-level cache of a core: what is read has left the writer's cache by
/// then, and reading it from there takes twice as long. That is memory per pair of processes.
constexpr std::size_t large_ring = 1024 * 1024;
constexpr std::size_t small_ring = 256 * 1024;
constexpr unsigned most_with_large_rings = 16;

bool has_large_rings(const FabricChoice& choice) {
  return !choice.shares_cores && choice.processes_here > 0 &&
         choice.processes_here <= most_with_large_rings;
}

/// Nobody without the secret can take it before.
std::string shm_name(const std::string& known_as, const JobSecret& job) {
  if (known_as.empty()) return {};
  const std::string text = fmt::format("{} {} {}", job.secret, job.job_id, known_as);
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  return fmt::format("{:02x}", fmt::join(hash, ""));
}

Result<std::unique_ptr<ShmFabric>> open_shm_fabric(const FabricChoice& choice,
                                                   const FabricPlace& place, const JobSecret& job) {
  return open_shm({.self = place.self,
                   .incarnation = place.incarnation,
                   .life = place.life,
                   .job_id = job.job_id,
                   .secret = bytes_of(job.secret),
                   .name = shm_name(place.known_as, job),
                   .max_outstanding = choice.max_outstanding,
                   .ring_size = has_large_rings(choice) ? large_ring : small_ring,
                   .pull_from = choice.shares_cores ? pull_from_when_sharing : pull_from_else,
                   .pull_when_faster = !choice.shares_cores});
}

Result<std::unique_ptr<Fabric>> open_tcp_fabric(const FabricChoice& choice,
                                                const FabricPlace& place, const JobSecret& job) {
  TcpOptions tcp;
  tcp.self = place.self;
  tcp.incarnation = place.incarnation;
  tcp.life = place.life;
  tcp.listen = place.listen.empty() ? "127.0.0.1:0" : place.listen;
  if (choice.name == "tcp:unix") tcp.listen = "unix:@";
  tcp.advertise = place.advertise;
  tcp.job_id = job.job_id;
  tcp.secret = bytes_of(job.secret);
  tcp.max_outstanding = choice.max_outstanding;
  tcp.peer_timeout = choice.peer_timeout;
  tcp.heartbeat = choice.heartbeat;
  tcp.max_connections = choice.max_connections;
  return open_tcp(tcp);
}

Error of_fabric(const std::string& name, const Error& error) {
  return {error.code, fmt::format("--fabric {}: {}", name, error.message)};
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
  libfabric.heartbeat_interval =
      choice.heartbeat != Duration{}
          ? choice.heartbeat
          : std::min(libfabric.heartbeat_interval, choice.peer_timeout / 4);
  libfabric.service_level = choice.service_level;
  // "host:port" without its port; libfabric's own choice of a device that is no host's network.
  if (!place.listen.empty()) {
    libfabric.bind_address = place.listen.substr(0, place.listen.rfind(':'));
  } else if (listens_at_address(choice.name)) {
    libfabric.bind_address = "127.0.0.1";
  }
  auto opened = open_libfabric(libfabric);
  if (!opened) return of_fabric(choice.name, opened.error());
  return opened;
}

/// Shared memory to the peers on this host, TCP to the others. If memory cannot be shared at all,
/// TCP to everybody, with the hybrid fabric's protocol, which peers with shared memory expect.
Result<std::unique_ptr<Fabric>> open_auto_fabric(const FabricChoice& choice,
                                                 const FabricPlace& place, const JobSecret& job) {
  auto far = open_tcp_fabric(choice, place, job);
  if (!far) return far;
  auto near = open_shm_fabric(choice, place, job);
  if (!near && !place.known_as.empty()) {
    // It can be the name that is taken, by a former life that is about to end.
    FabricPlace unnamed = place;
    unnamed.known_as.clear();
    if (open_shm_fabric(choice, unnamed, job)) return std::move(near).error();
  }
  auto memory = near ? std::move(near).value() : nullptr;
  return open_hybrid({.self = place.self}, std::move(memory), std::move(far).value());
}

Result<std::unique_ptr<Fabric>> open_plain(const FabricChoice& choice, const FabricPlace& place,
                                           const JobSecret& job) {
  if (choice.name == "tcp" || choice.name == "tcp:unix") {
    return open_tcp_fabric(choice, place, job);
  }
  if (choice.name == "auto") return open_auto_fabric(choice, place, job);
  if (choice.name == "shm") {
    auto opened = open_shm_fabric(choice, place, job);
    if (!opened) return std::move(opened).error();
    return std::unique_ptr<Fabric>(std::move(opened).value());
  }
  if (choice.name.starts_with("libfabric:")) return open_libfabric_fabric(choice, place, job);
  return check_fabric(choice.name).error();
}

}  // namespace

std::span<const std::string_view> fabric_names() {
  static constexpr std::array<std::string_view, 8> names{
      "auto",          "tcp",           "tcp:unix",           "shm",
      "libfabric:tcp", "libfabric:shm", "libfabric:PROVIDER", "sim:SCENARIO.toml"};
  return names;
}

bool listens_at_address(std::string_view fabric) {
  if (fabric == "tcp" || fabric == "auto") return true;
  constexpr std::string_view kPrefix = "libfabric:";
  if (!fabric.starts_with(kPrefix)) return false;
  const std::string_view provider = fabric.substr(kPrefix.size());
  // Layers over them are named after them: "tcp;ofi_rxm".
  const std::string_view core = provider.substr(0, provider.find(';'));
  return core == "tcp" || core == "sockets" || core == "net" || core == "udp";
}

JobSecret make_job_secret() {
  WEFT_CHECK(sodium_init() >= 0, "libsodium cannot be used");
  JobSecret job;
  job.job_id = fmt::format("weft-{:016x}", static_cast<std::uint64_t>(randombytes_random()) << 32 |
                                               randombytes_random());
  job.secret.resize(32);
  randombytes_buf(job.secret.data(), job.secret.size());
  return job;
}

std::string address_here(std::string_view own, const std::string& known_as, const JobSecret& job) {
  const std::string near = address_beside(split_address(own).near, shm_name(known_as, job));
  return near.empty() ? known_as : fmt::format("{}|{}", near, known_as);
}

Result<void> check_fabric(const std::string& name) {
  constexpr std::array<std::string_view, 4> plain{"auto", "tcp", "tcp:unix", "shm"};
  if (std::find(plain.begin(), plain.end(), name) != plain.end()) return {};
  if (name == "libfabric:") {
    return invalid("--fabric: '{}' names no provider; write one, as libfabric:tcp", name);
  }
  if (name.starts_with("libfabric:")) return {};
  if (is_mpi(name)) {
    return invalid(
        "--fabric: '{}' needs processes that MPI started: start the program by mpirun, with "
        "WEFT_FABRIC={} in the environment",
        name, name);
  }
  return invalid("--fabric: '{}' is none of {}", name, fmt::join(fabric_names(), ", "));
}

Result<void> check_fabric_here(const std::string& name) {
  constexpr std::string_view prefix = "libfabric:";
  if (auto known = check_fabric(name); !known || !name.starts_with(prefix)) return known;
  auto good = ofi::load_library();
  if (good.ok()) good = ofi::check_provider(name.substr(prefix.size()));
  if (good.ok()) return good;
  return of_fabric(name, good.error());
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
