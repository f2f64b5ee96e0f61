// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/doorbell.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::ofi {
namespace {

constexpr std::string_view kDirectory = "/dev/shm/";
constexpr std::string_view kPrefix = "weftfab_";
constexpr std::string_view kEarlyPrefix = "weftfabnew_";
constexpr std::string_view kBell = ".bell";
constexpr std::string_view kFlag = ".asleep";
constexpr std::size_t kFlagSize = 4096;
constexpr std::uint32_t kAwake = 0, kAsleep = 1, kNeverSleeps = 2;

std::string path_of(const std::string& name, std::string_view suffix) {
  return fmt::format("{}{}{}", kDirectory, name, suffix);
}

Error system_error(std::string_view what, const std::string& path) {
  return make_error(ErrorCode::io, "{} {}: {}", what, path, std::strerror(errno));
}

sockaddr_un address_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  WEFT_CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

sockaddr_un address_of(const std::string& name) {
  return address_at(path_of(name, kBell));
}

// Connecting does not disturb the owner; it fails when there is none.
bool has_owner(const std::string& name) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(name);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

std::vector<std::string> our_files() {
  std::vector<std::string> files;
  DIR* directory = ::opendir(std::string(kDirectory).c_str());
  if (directory == nullptr) return files;
  while (const dirent* entry = ::readdir(directory)) {
    if (std::string_view(entry->d_name).starts_with(kPrefix)) files.emplace_back(entry->d_name);
  }
  ::closedir(directory);
  return files;
}

}  // namespace

std::string shared_name(std::string_view job_tag, NodeId node, Incarnation incarnation) {
  return fmt::format("{}{}_{}_{}", kPrefix, job_tag, node.value(), incarnation.value());
}

void remove_leftovers() {
  const std::vector<std::string> files = our_files();
  // The provider's segment is called NAME:0:0; the doorbell is made before it and goes after it.
  std::set<std::string> names, dead;
  for (const std::string& file : files) names.insert(file.substr(0, file.find_first_of(".:")));
  for (const std::string& name : names) {
    if (path_of(name, kBell).size() < sizeof(sockaddr_un::sun_path) && !has_owner(name)) {
      dead.insert(name);
    }
  }
  for (const std::string& file : files) {
    if (dead.contains(file.substr(0, file.find_first_of(".:")))) {
      ::unlink(path_of(file, "").c_str());
    }
  }
}

Result<SleepFlag> SleepFlag::create(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0 || ::ftruncate(file.get(), kFlagSize) != 0) {
    return system_error("cannot create", path);
  }
  return map(path, file.get());
}

Result<SleepFlag> SleepFlag::open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return system_error("cannot open", path);
  }
  if (status.st_size != static_cast<off_t>(kFlagSize)) {
    return corrupt("{} has {} bytes", path, status.st_size);
  }
  return map(path, file.get());
}

Result<SleepFlag> SleepFlag::map(const std::string& path, int descriptor) {
  void* memory = ::mmap(nullptr, kFlagSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return system_error("cannot map", path);
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  return SleepFlag(static_cast<std::atomic<std::uint32_t>*>(memory));
}

SleepFlag::~SleepFlag() {
  if (word_ != nullptr) ::munmap(word_, kFlagSize);
}

Result<std::unique_ptr<Doorbell>> Doorbell::open(const std::string& name, bool sleeps) {
  if (has_owner(name)) {
    return invalid(
        "{} belongs to a running process: give each process its own node and each restart a higher "
        "incarnation",
        path_of(name, kBell));
  }
  // The name appears when it is bound and not before: a socket's file that nobody holds is taken
  // for a leftover by others that start now.
  const std::string path = path_of(name, kBell);
  const std::string early = fmt::format("{}{}{}", kDirectory, kEarlyPrefix, name);
  ::unlink(early.c_str());
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_at(early);
  if (socket.get() < 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::rename(early.c_str(), path.c_str()) != 0) {
    return system_error("cannot bind", path);
  }
  auto flag = SleepFlag::create(path_of(name, kFlag));
  if (!flag) {
    ::unlink(path.c_str());
    return std::move(flag).error();
  }
  if (!sleeps) flag->word().store(kNeverSleeps, std::memory_order_relaxed);
  return std::unique_ptr<Doorbell>(new Doorbell(name, std::move(socket), std::move(*flag), sleeps));
}

Doorbell::~Doorbell() {
  ::unlink(path_of(name_, kFlag).c_str());
  ::unlink(path_of(name_, kBell).c_str());
}

void Doorbell::fall_asleep() {
  if (!sleeps_) return;
  asleep_ = true;
  flag_.word().store(kAsleep, std::memory_order_seq_cst);
}

void Doorbell::wake_up() {
  if (!asleep_) return;
  asleep_ = false;
  flag_.word().store(kAwake, std::memory_order_relaxed);
  // A peer that saw the word set just before may ring after this; that costs one needless wake-up.
  std::byte sink[64];
  while (::recv(socket_.get(), sink, sizeof sink, 0) >= 0) {
  }
}

Result<PeerDoorbell> PeerDoorbell::open(const std::string& name) {
  auto flag = SleepFlag::open(path_of(name, kFlag));
  if (!flag) return std::move(flag).error();
  return PeerDoorbell(name, std::move(*flag));
}

void PeerDoorbell::ring_if_asleep(const Doorbell& mine) {
  // Pairs with the store in fall_asleep: either the owner sees our message when it looks once more,
  // or we see that it sleeps.
  if (flag_.word().load(std::memory_order_relaxed) == kNeverSleeps) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t asleep = kAsleep;
  if (flag_.word().load(std::memory_order_relaxed) != kAsleep) return;
  if (!flag_.word().compare_exchange_strong(asleep, kAwake, std::memory_order_seq_cst)) return;
  const sockaddr_un address = address_of(name_);
  const std::byte ring{1};
  // Fails when the owner is gone, which `alive` will tell, or when it has been rung plenty.
  (void)::sendto(mine.socket_.get(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool PeerDoorbell::alive() const {
  return has_owner(name_);
}

}  // namespace weft::ofi
