// SPDX-License-Identifier: Apache-2.0
// The cable between two hosts of the guest: forwards frames between two TAP devices, tapa at the
// client and tapb at the server, records the RDMA packets as a tap at the client's port sees them,
// and can lose requests as a ConnectX-4 does.
//   odp_wire pass|damming CAPTURE      until SIGTERM; prints "ready" when the devices are there
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "wire/capture/capture_writer.hpp"

namespace {

using namespace weft;

volatile std::sig_atomic_t stopped = 0;

int open_tap(const char* name) {
  const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (fd < 0 || ::ioctl(fd, TUNSETIFF, &request) != 0) {
    fmt::print(stderr, "odp_wire: {}: {}\n", name, std::strerror(errno));
    std::exit(3);
  }
  return fd;
}

/// The fate of a packet.
enum class Fate { passes, is_lost, becomes_rnr_nak };

/// The second READ: its first request is answered by an RNR NAK, as if its page were not there, and
/// the next one, which ends the wait, is lost without a sign (paper 2, Section IV).
class Damming {
 public:
  Fate of_request(const wire::TransportPacket& packet) {
    if (packet.bth.opcode != wire::Opcode::read_request) return Fate::passes;
    const std::uint32_t psn = packet.bth.psn;
    if (!first_) first_ = psn;
    if (!second_ && psn != *first_) second_ = psn;
    if (psn != second_) return Fate::passes;
    ++requests_;
    if (requests_ == 1) return Fate::becomes_rnr_nak;
    return requests_ == 2 ? Fate::is_lost : Fate::passes;
  }

 private:
  std::optional<std::uint32_t> first_;
  std::optional<std::uint32_t> second_;
  int requests_ = 0;  // of the second READ
};

class Cable {
 public:
  Cable(bool dams, wire::CaptureWriter capture)
      : client_(open_tap("tapa")),
        server_(open_tap("tapb")),
        dams_(dams),
        capture_(std::move(capture)) {}

  void run() {
    while (stopped == 0) {
      std::array<pollfd, 2> ready = {{{client_, POLLIN, 0}, {server_, POLLIN, 0}}};
      ::poll(ready.data(), ready.size(), 100);
      while (forward_request()) {
      }
      forward_response();
    }
  }
  Result<void> commit() { return capture_.commit(); }

 private:
  static std::span<const std::byte> read_from(int fd, std::span<std::byte> into) {
    const auto n = ::read(fd, into.data(), into.size());
    return into.first(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  static void write_to(int fd, std::span<const std::byte> frame) {
    if (::write(fd, frame.data(), frame.size()) < 0 && errno != EIO) {
      fmt::print(stderr, "odp_wire: write: {}\n", std::strerror(errno));
    }
  }
  void record(std::span<const std::byte> frame) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                    static_cast<std::uint64_t>(now.tv_nsec);
    if (!capture_.write(ns, frame, static_cast<std::uint32_t>(frame.size())).ok()) stopped = 1;
  }
  static auto rdma_in(std::span<const std::byte> frame) {
    return wire::read_frame(wire::LinkType::ethernet, frame,
                            static_cast<std::uint32_t>(frame.size()), true);
  }

  bool forward_request() {
    std::array<std::byte, 9'216> buffer;
    const auto frame = read_from(client_, buffer);
    if (frame.empty()) return false;
    const auto rdma = rdma_in(frame);
    if (rdma) record(frame);
    const Fate fate = rdma && dams_ ? damming_.of_request(rdma->packet) : Fate::passes;
    if (fate == Fate::passes) write_to(server_, frame);
    if (fate == Fate::becomes_rnr_nak && response_) answer_by_rnr_nak(rdma->packet.bth.psn);
    return true;
  }

  void forward_response() {
    std::array<std::byte, 9'216> buffer;
    const auto frame = read_from(server_, buffer);
    if (frame.empty()) return;
    const auto rdma = rdma_in(frame);
    if (rdma) {
      record(frame);
      response_ = rdma;
      std::copy_n(frame.begin(), ethernet_bytes, response_head_.begin());
    }
    write_to(client_, frame);
  }

  /// No request names the client's queue pair: an earlier response does.
  void answer_by_rnr_nak(std::uint32_t psn) {
    constexpr std::uint8_t after_1_28_ms = 14;
    wire::RdmaFrame nak = *response_;
    nak.packet.bth.opcode = wire::Opcode::acknowledge;
    nak.packet.bth.psn = psn;
    nak.packet.bth.pad = 0;
    nak.packet.payload = 0;
    const std::uint32_t messages = nak.packet.aeth ? nak.packet.aeth->message_number : 0;
    nak.packet.aeth = wire::Aeth{wire::rnr_nak_syndrome(after_1_28_ms), messages};
    std::array<std::byte, 256> bytes;
    const std::size_t size = wire::write_frame(wire::LinkType::ethernet, nak, bytes);
    std::copy(response_head_.begin(), response_head_.end(), bytes.begin());
    const auto frame = std::span<const std::byte>(bytes).first(size);
    record(frame);
    write_to(client_, frame);
  }

  static constexpr std::size_t ethernet_bytes = 14;
  int client_;
  int server_;
  bool dams_;
  Damming damming_;
  std::optional<wire::RdmaFrame> response_;  // the latest
  std::array<std::byte, ethernet_bytes> response_head_{};
  wire::CaptureWriter capture_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view rule = argc == 3 ? argv[1] : "";
  if (rule != "pass" && rule != "damming") {
    fmt::print(stderr, "usage: odp_wire pass|damming CAPTURE\n");
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  auto capture =
      wire::CaptureWriter::create(argv[2], wire::CaptureFormat::pcap, wire::LinkType::ethernet);
  if (!capture) {
    fmt::print(stderr, "odp_wire: {}\n", capture.error().message);
    return 3;
  }
  Cable cable(rule == "damming", std::move(capture).value());
  fmt::print("ready\n");
  std::fflush(stdout);
  cable.run();
  return cable.commit().ok() ? 0 : 3;
}
