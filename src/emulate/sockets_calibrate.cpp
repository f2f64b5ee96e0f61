// SPDX-License-Identifier: Apache-2.0
// A link's latency and bandwidth, measured by TCP between two processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/make_error.hpp"
#include "emulate/own_process.hpp"
#include "emulate/sockets.hpp"

namespace weft::emulate {
namespace {

using testbed::LinkedHosts;
using Seconds = std::chrono::duration<double>;
using Steady = std::chrono::steady_clock;

constexpr std::uint16_t kPort = 7'777;
constexpr int kRoundTrips = 2'000;
constexpr Seconds kLongestPingPong{0.5};
constexpr Seconds kStreamed{0.3};
constexpr std::size_t kMessage = 8;
constexpr std::size_t kPiece = 1 << 16;

Error failed(const char* what) {
  return make_error(ErrorCode::io, "sockets: {}: {}", what, std::strerror(errno));
}

sockaddr_in address_of_server() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  ::inet_pton(AF_INET, LinkedHosts::address(0).c_str(), &address.sin_addr);
  return address;
}

/// Turns off Nagle's algorithm: a small write leaves at once, not together with later ones.
void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool read_all(int socket, std::byte* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(socket, to, size);
    if (n <= 0) return false;
    to += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// The peer's process: answers messages on one connection, takes a stream on the next.
[[noreturn]] void serve(const LinkedHosts& hosts, int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!hosts.enter_host(0)) ::_exit(1);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = address_of_server();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 2) != 0 || ::write(ready, "", 1) != 1) {
    ::_exit(1);
  }
  static std::array<std::byte, kPiece> bytes;
  const int first = ::accept(listener, nullptr, nullptr);
  send_at_once(first);
  while (read_all(first, bytes.data(), kMessage)) {
    if (::write(first, bytes.data(), kMessage) != kMessage) break;
  }
  const int second = ::accept(listener, nullptr, nullptr);
  while (::read(second, bytes.data(), bytes.size()) > 0) {
  }
  ::_exit(::write(second, "", 1) == 1 ? 0 : 1);
}

/// Owns the peer process and waits for its end: the hosts end with their last process.
class Peer {
 public:
  Peer(const LinkedHosts& hosts, int ready) : pid_(::fork()) {
    if (pid_ == 0) serve(hosts, ready);
  }
  ~Peer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

 private:
  pid_t pid_;
};

Result<int> connect_to_server() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = address_of_server();
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed("connect");
  }
  send_at_once(socket);
  return socket;
}

Result<double> median_round_trip_ns() {
  const auto socket = connect_to_server();
  if (!socket) return socket.error();
  std::array<std::byte, kMessage> message{};
  std::vector<double> times;
  const auto began = Steady::now();
  for (int i = 0; i < kRoundTrips && Steady::now() - began < kLongestPingPong; ++i) {
    const auto sent = Steady::now();
    if (::write(*socket, message.data(), kMessage) != kMessage ||
        !read_all(*socket, message.data(), kMessage)) {
      return failed("round trip");
    }
    times.push_back(std::chrono::duration<double, std::nano>(Steady::now() - sent).count());
  }
  ::close(*socket);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Result<double> bytes_per_second() {
  const auto socket = connect_to_server();
  if (!socket) return socket.error();
  static std::array<std::byte, kPiece> bytes{};
  double sent = 0;
  const auto began = Steady::now();
  while (Steady::now() - began < kStreamed) {
    const ssize_t n = ::write(*socket, bytes.data(), bytes.size());
    if (n <= 0) return failed("stream");
    sent += static_cast<double>(n);
  }
  ::shutdown(*socket, SHUT_WR);
  std::byte taken{};
  if (!read_all(*socket, &taken, 1)) return failed("end of stream");
  const double seconds = Seconds(Steady::now() - began).count();
  ::close(*socket);
  return sent / seconds;
}

Result<LinkMeasured> measure(const testbed::LinkOptions& link, bool with_bandwidth) {
  const auto hosts = LinkedHosts::up(link);
  if (!hosts) return hosts.error();
  if (auto contained = hosts->contain_children(); !contained) return contained.error();
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return failed("pipe");
  const Peer peer(*hosts, ends[1]);
  ::close(ends[1]);
  std::byte ready{};
  if (!read_all(ends[0], &ready, 1)) return failed("start of the server");
  if (auto entered = hosts->enter_host(1); !entered) return entered.error();
  LinkMeasured measured;
  const auto round_trip = median_round_trip_ns();
  if (!round_trip) return round_trip.error();
  measured.one_way_ns = *round_trip / 2;
  if (with_bandwidth) {
    const auto bandwidth = bytes_per_second();
    if (!bandwidth) return bandwidth.error();
    measured.bandwidth_bytes_per_s = *bandwidth;
  }
  return measured;
}

}  // namespace

Result<LinkMeasured> measure_link(const testbed::LinkOptions& link, bool with_bandwidth) {
  return in_own_process<LinkMeasured>(
      [&](const StopRequest&) { return measure(link, with_bandwidth); });
}

Result<LayerCalibration> calibrate_sockets(const std::function<void()>& on_measured) {
  LayerCalibration layer;
  // Nothing is subtracted for holding: it adds less than a disturbance of this measurement.
  layer.overhead_ns = 0;
  for (int i = 0; i < kSocketRepetitions; ++i) {
    const auto native = measure_link({}, true);
    if (!native) return native.error();
    const bool is_first = i == 0;
    layer.latency_ns =
        is_first ? native->one_way_ns : std::min(layer.latency_ns, native->one_way_ns);
    layer.bandwidth_bytes_per_s =
        std::max(layer.bandwidth_bytes_per_s, native->bandwidth_bytes_per_s);
    on_measured();
  }
  return layer;
}

}  // namespace weft::emulate
