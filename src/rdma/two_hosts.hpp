// SPDX-License-Identifier: Apache-2.0
// TwoHosts: two adapters at the ends of one link, in simulated time. Host 0 is the client, host 1
// the server of a benchmark, but either may post.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "net/link_model.hpp"
#include "net/rc/adapter.hpp"
#include "rdma/packet_file.hpp"

namespace weft::rdma {

/// A packet as a tap at the client's port sees it: the responses that arrive, the requests that
/// leave, and those that an adapter loses there.
struct TappedPacket {
  Instant at;
  bool from_client = true;
  net::rc::Packet packet;
};

/// The client is host 0, and its queue pair i has number 256 + i; the server is host 1, queue pair
/// 65536 + i.
PacketEnds ends_of(const TappedPacket& tapped);

struct TwoHostsOptions {
  net::rc::DeviceProfile profile;
  std::array<net::rc::AdapterOptions, 2> adapters;
  std::uint32_t queue_pairs = 1;
  Duration latency = Duration::microseconds(1);  ///< one way
  bool connected = true;                         ///< false: nothing that is sent arrives
  std::uint64_t seed = 1;
};

class TwoHosts {
 public:
  explicit TwoHosts(const TwoHostsOptions& options);
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  std::function<void(const TappedPacket&)> tap;
  std::function<void(Instant, int host, const net::rc::Completion&)> completed;
  /// Packets for which it says so are lost on the link.
  std::function<bool(const TappedPacket&)> loses;

  net::rc::Adapter& host(int i) { return adapters_[static_cast<std::size_t>(i)]; }
  Instant now() const { return now_; }
  std::uint64_t packets() const { return packets_; }

  /// Calls `what` at that time, in the order given.
  void at(Instant when, std::function<void()> what);
  void post(int host, std::uint32_t queue_pair, const net::rc::WorkRequest& request);
  /// Goes on until nothing is left to happen, `until` is reached, or `done` says so; false when it
  /// ended by the time.
  bool run(Instant until, const std::function<bool()>& done);

 private:
  struct Arrival {
    Instant at;
    std::uint64_t order = 0;
    int host = 0;
    net::rc::Packet packet;
    bool operator>(const Arrival& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Call {
    Instant at;
    std::uint64_t order = 0;
    std::function<void()> what;
    bool operator>(const Call& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void carry_out(int host);
  void arrive();

  TwoHostsOptions options_;
  std::vector<net::rc::Adapter> adapters_;
  std::array<net::LinkModel, 2> links_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
  net::rc::Outbox outbox_;
  Instant now_{};
  std::uint64_t order_ = 0;
  std::uint64_t packets_ = 0;
};

}  // namespace weft::rdma
