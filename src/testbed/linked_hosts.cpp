// SPDX-License-Identifier: Apache-2.0
#include "testbed/linked_hosts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "testbed/host_settings.hpp"
#include "testbed/keeper.hpp"
#include "testbed/plan.hpp"
#include "testbed/spaces.hpp"
#include "testbed/tool.hpp"

namespace weft::testbed {
namespace {

constexpr std::uint32_t kHosts = 2;
constexpr const char* kTunDevice = "/dev/net/tun";

Error refused(std::string_view what, int error) {
  return make_error(ErrorCode::unavailable, "testbed: {}: {}", what, std::strerror(error));
}

/// A relay's word to its maker before it begins.
struct DeviceReport {
  bool lacks_tun = false;
  int error = 0;
};

/// "eth0" of the network that the calling process is in.
int open_device(DeviceReport& report) {
  const int file = ::open(kTunDevice, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  report.lacks_tun = file < 0;
  ifreq request{};
  std::memcpy(request.ifr_name, "eth0", sizeof "eth0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (file < 0 || ::ioctl(file, TUNSETIFF, &request) != 0) report.error = errno;
  return file;
}

/// The relay's process, which has one thread and nothing else of its maker's to do.
[[noreturn]] void be_relay(const Spaces& spaces, Duration latency, RelayCounters& counters,
                           int maker) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  DeviceReport report;
  report.error = spaces.enter_user();
  std::array<int, kHosts> devices{-1, -1};
  for (std::uint32_t host = 0; host < kHosts && report.error == 0; ++host) {
    report.error = spaces.enter_network(host);
    if (report.error == 0) devices[host] = open_device(report);
  }
  const bool told = ::write(maker, &report, sizeof report) == sizeof report;
  if (!told || report.error != 0) ::_exit(1);
  // Nothing inherited stays open: the keeper ends when the maker alone is gone.
  for (int& device : devices) device = ::fcntl(device, F_DUPFD, 8);
  const int first = ::dup2(devices[0], 3);
  const int second = ::dup2(devices[1], 4);
  ::close_range(5, ~0U, 0);
  relay(first, second, latency, counters);
}

Result<pid_t> start_relay(const Spaces& spaces, Duration latency, RelayCounters& counters) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return refused("pipe", errno);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) be_relay(spaces, latency, counters, writer.get());
  if (pid < 0) return refused("fork", errno);
  writer.reset();
  DeviceReport report;
  ssize_t n = 0;
  while ((n = ::read(reader.get(), &report, sizeof report)) < 0 && errno == EINTR) {
  }
  if (n == sizeof report && report.error == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  if (n != sizeof report) return refused("the relay ended before it was ready", EIO);
  if (!report.lacks_tun) return refused("make the hosts' network devices", report.error);
  return make_error(ErrorCode::unavailable,
                    "testbed: open {}: {}; load the kernel's module tun, and let this user open it",
                    kTunDevice, std::strerror(report.error));
}

/// Longer than any window of TCP: a link that loses nothing.
constexpr int kDeviceQueue = 10'000;

Result<void> wire(const Spaces& spaces, const LinkOptions& options) {
  const std::vector<std::string> batch{"-batch", "-"};
  const TestbedOptions queue{.hosts = kHosts, .link = options.rate, .mtu = options.mtu};
  for (std::uint32_t host = 0; host < kHosts; ++host) {
    const std::string links = fmt::format(
        "link set lo up\n"
        "link set eth0 mtu {} txqueuelen {} addrgenmode none\n"
        "addr add {}/24 dev eth0\n"
        "link set eth0 up\n",
        options.mtu, kDeviceQueue, host_address(host));
    auto done = run_tool(spaces, host, kIp, batch, links);
    const std::string shape = host_queue(queue, options.rate);
    if (done.ok() && !shape.empty()) done = run_tool(spaces, host, kTc, batch, shape);
    if (!done.ok()) return done;
  }
  return {};
}

}  // namespace

struct LinkedHosts::State {
  Keeper keeper;
  Spaces spaces;
  pid_t relay = 0;
  RelayCounters* counters = nullptr;

  ~State() {
    if (relay > 0) {
      ::kill(relay, SIGKILL);
      ::waitpid(relay, nullptr, 0);
    }
    if (keeper.handle.open()) (void)end_keeper(keeper.handle, keeper.pid);
    if (counters != nullptr) ::munmap(counters, sizeof *counters);
  }
};

LinkedHosts::LinkedHosts(std::unique_ptr<State> state) : state_(std::move(state)) {}
LinkedHosts::LinkedHosts(LinkedHosts&&) noexcept = default;
LinkedHosts& LinkedHosts::operator=(LinkedHosts&&) noexcept = default;
LinkedHosts::~LinkedHosts() = default;

Result<LinkedHosts> LinkedHosts::up(const LinkOptions& options) {
  for (const Tool& tool : {kIp, kTc}) {
    if (auto found = find_tool(tool); !found.ok()) return std::move(found).error();
  }
  auto state = std::make_unique<State>();
  void* memory = ::mmap(nullptr, sizeof(RelayCounters), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return refused("map memory", errno);
  state->counters = new (memory) RelayCounters;
  auto keeper = start_keeper({.hosts = kHosts, .user_namespace = ::geteuid() != 0});
  if (!keeper.ok()) return std::move(keeper).error();
  state->keeper = std::move(*keeper);
  auto spaces = Spaces::open(state->keeper.pid, kHosts);
  if (!spaces.ok()) return std::move(spaces).error();
  state->spaces = std::move(*spaces);
  auto relay = start_relay(state->spaces, options.latency, *state->counters);
  if (!relay.ok()) return std::move(relay).error();
  state->relay = *relay;
  if (auto wired = wire(state->spaces, options); !wired.ok()) return std::move(wired).error();
  auto set = apply_host_settings(state->spaces, {.hosts = kHosts});
  if (!set.ok()) return std::move(set).error();
  return LinkedHosts(std::move(state));
}

std::string LinkedHosts::address(std::uint32_t host) {
  WEFT_CHECK(host < kHosts, "host {} of {}", host, kHosts);
  return host_address(host);
}

const RelayCounters& LinkedHosts::counters() const {
  return *state_->counters;
}

Result<void> LinkedHosts::enter_host(std::uint32_t host) const {
  WEFT_CHECK(host < kHosts, "host {} of {}", host, kHosts);
  int error = state_->spaces.enter_user();
  if (error == 0) error = state_->spaces.enter_network(host);
  return error == 0 ? Result<void>() : refused(fmt::format("enter host{}", host), error);
}

Result<void> LinkedHosts::contain_children() const {
  int error = state_->spaces.enter_user();
  if (error == 0) error = state_->spaces.adopt_children();
  return error == 0 ? Result<void>() : refused("contain processes", error);
}

}  // namespace weft::testbed
