// SPDX-License-Identifier: Apache-2.0
#include "testbed/host_settings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"

namespace weft::testbed {
namespace {

constexpr const char* kCongestionControl = "/proc/sys/net/ipv4/tcp_congestion_control";
constexpr const char* kAllowed = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

// Kernels without one of these do as well.
constexpr std::array<std::pair<const char*, const char*>, 3> kSettings{{
    {"/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0"},
    {"/proc/sys/net/ipv4/tcp_no_metrics_save", "1"},
    {"/proc/sys/net/ipv4/tcp_rto_min_us", "5000"},
}};

bool write_setting(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto length = static_cast<ssize_t>(std::strlen(text));
  const bool written = ::write(file, text, std::strlen(text)) == length;
  ::close(file);
  return written;
}

ifreq request_for(const char* device) {
  ifreq request{};
  std::memcpy(request.ifr_name, device, ::strnlen(device, IFNAMSIZ - 1));
  return request;
}

// Frames as they are on a wire: with offloads, "packets" of 64 KiB would pass the queues.
int disable_offloads() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  int error = 0;
  for (const std::uint32_t feature : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
    ethtool_value value{feature, 0};
    ifreq request = request_for("eth0");
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(socket, SIOCETHTOOL, &request) != 0 && errno != EOPNOTSUPP) error = errno;
  }
  ::close(socket);
  return error;
}

// In a child of its own, which visits one host after the other; system calls only.
int apply_in_all(const Spaces& spaces, std::uint32_t hosts, const char* congestion_control) {
  if (const int error = spaces.enter_user(); error != 0) return error;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (const int error = spaces.enter_network(host); error != 0) return error;
    for (const auto& [path, text] : kSettings) write_setting(path, text);
    if (*congestion_control != '\0') write_setting(kCongestionControl, congestion_control);
    if (const int error = disable_offloads(); error != 0) return error;
  }
  return 0;
}

bool is_running(int socket, const char* device) {
  // A device runs when the kernel's link watch has come to it, which under load has taken more than
  // five seconds. Asking for the link makes it look at once (Linux 6.8 and later).
  ethtool_value link{ETHTOOL_GLINK, 0};
  ifreq question = request_for(device);
  question.ifr_data = reinterpret_cast<char*>(&link);
  (void)::ioctl(socket, SIOCETHTOOL, &question);
  ifreq request = request_for(device);
  return ::ioctl(socket, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0;
}

// Setting flags waits for the kernel's lock on its configuration, and with it for the work in
// progress that has made the device run.
void synchronise(int socket, const char* device) {
  ifreq request = request_for(device);
  if (::ioctl(socket, SIOCGIFFLAGS, &request) == 0) ::ioctl(socket, SIOCSIFFLAGS, &request);
}

// In a child: waits in one namespace after the other.
int await_devices(const Spaces& spaces, std::uint32_t first, std::uint32_t last) {
  int tries = 5'000;
  const auto await = [&tries](int socket, const char* device) {
    const timespec millisecond{0, 1'000'000};
    while (!is_running(socket, device)) {
      if (tries-- == 0) return ETIMEDOUT;
      ::nanosleep(&millisecond, nullptr);
    }
    synchronise(socket, device);
    return 0;
  };
  int error = spaces.enter_user();
  for (std::uint32_t host = first; host < last && error == 0; ++host) {
    error = spaces.enter_network(host);
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (error == 0) error = await(socket, "eth0");
    ::close(socket);
  }
  if (error == 0) error = spaces.enter_network(spaces.switch_index());
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (std::uint32_t host = first; host < last && error == 0; ++host) {
    std::array<char, IFNAMSIZ> port{};
    std::snprintf(port.data(), port.size(), "p%u", host);
    error = await(socket, port.data());
  }
  ::close(socket);
  return error;
}

// Runs `body` in a child of its own, which may move between namespaces; it returns 0 or an errno
// and makes system calls only.
template <class Body>
Result<void> in_child(std::string_view what, Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  int error = child < 0 ? errno : 0;
  while (error == 0 && ::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) error = errno;
  }
  if (error == 0) error = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  if (error == 0) return {};
  return make_error(ErrorCode::io, "testbed: {}: {}", what, std::strerror(error));
}

// Returns a host's congestion control, which a child process reads and sends through a pipe.
std::string ask_first_host(const Spaces& spaces) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::array<char, 32> name{};
    if (spaces.enter_user() != 0 || spaces.enter_network(0) != 0) ::_exit(1);
    const int file = ::open(kCongestionControl, O_RDONLY | O_CLOEXEC);
    const auto n = ::read(file, name.data(), name.size());
    if (n > 0) [[maybe_unused]]
      const auto told = ::write(writer.get(), name.data(), static_cast<std::size_t>(n));
    ::_exit(0);
  }
  writer.reset();
  std::array<char, 32> name{};
  const auto n = ::read(reader.get(), name.data(), name.size());
  if (child > 0) ::waitpid(child, nullptr, 0);
  std::string text(name.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Namespaces other than the first may only choose values that the first allows. For the moment of
// choosing it allows ours, if it lets us.
class Permission {
 public:
  explicit Permission(const std::string& name) {
    std::ifstream file(kAllowed);
    std::getline(file, before_);
    const bool allowed = fmt::format(" {} ", before_).find(fmt::format(" {} ", name)) != name.npos;
    if (before_.empty() || name.empty() || allowed) return;
    changed_ = write_setting(kAllowed, fmt::format("{} {}", before_, name).c_str());
  }
  ~Permission() {
    if (changed_) write_setting(kAllowed, before_.c_str());
  }

 private:
  std::string before_;
  bool changed_ = false;
};

}  // namespace

Result<std::string> apply_host_settings(const Spaces& spaces, const TestbedOptions& options) {
  const Permission permission(options.congestion_control);
  auto applied = in_child("configure the hosts", [&] {
    return apply_in_all(spaces, options.hosts, options.congestion_control.c_str());
  });
  if (!applied.ok()) return std::move(applied).error();
  return ask_first_host(spaces);
}

Result<void> await_links(const Spaces& spaces, std::uint32_t first, std::uint32_t last) {
  return in_child("wait for the links", [&] { return await_devices(spaces, first, last); });
}

}  // namespace weft::testbed
