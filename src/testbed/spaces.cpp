// SPDX-License-Identifier: Apache-2.0
#include "testbed/spaces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "testbed/keeper.hpp"

namespace weft::testbed {
namespace {

Result<Descriptor> open_space(const std::string& path) {
  Descriptor space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space.open()) {
    return make_error(ErrorCode::unavailable,
                      "testbed: open {}: {}; use it as the user who made it", path,
                      std::strerror(errno));
  }
  return space;
}

bool is_current(const Descriptor& space, const char* own) {
  struct stat theirs {};
  struct stat ours {};
  return ::fstat(space.get(), &theirs) == 0 && ::stat(own, &ours) == 0 &&
         theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

int enter(const Descriptor& space, int type) {
  return ::setns(space.get(), type) == 0 ? 0 : errno;
}

}  // namespace

Result<Spaces> Spaces::open(pid_t pid, std::uint32_t hosts) {
  Spaces spaces;
  const std::string process = fmt::format("/proc/{}", pid);
  auto open_to = [](Descriptor& out, const std::string& path) -> Result<void> {
    auto opened = open_space(path);
    if (!opened.ok()) return std::move(opened).error();
    out = std::move(*opened);
    return {};
  };
  for (auto [out, name] : {std::pair{&spaces.user_, "user"}, std::pair{&spaces.mounts_, "mnt"},
                           std::pair{&spaces.processes_, "pid"}}) {
    if (auto opened = open_to(*out, fmt::format("{}/ns/{}", process, name)); !opened.ok()) {
      return std::move(opened).error();
    }
  }
  spaces.networks_.resize(hosts + 1);
  for (std::uint32_t i = 0; i <= hosts; ++i) {
    const std::string name = i < hosts ? host_namespace(i) : kSwitchNamespace;
    const auto path = fmt::format("{}/root{}/{}", process, kNamespaceDirectory, name);
    if (auto opened = open_to(spaces.networks_[i], path); !opened.ok()) {
      return std::move(opened).error();
    }
  }
  return spaces;
}

int Spaces::enter_user() const {
  if (is_current(user_, "/proc/self/ns/user")) return 0;
  return enter(user_, CLONE_NEWUSER);
}

int Spaces::enter_network(std::uint32_t host) const {
  WEFT_CHECK(host < networks_.size(), "host {} of {}", host, networks_.size() - 1);
  return enter(networks_[host], CLONE_NEWNET);
}

int Spaces::enter_mounts() const {
  return enter(mounts_, CLONE_NEWNS);
}

int Spaces::adopt_children() const {
  return enter(processes_, CLONE_NEWPID);
}

}  // namespace weft::testbed
