// SPDX-License-Identifier: Apache-2.0
// MetricsServer: an OpenMetrics endpoint that lives in a driver loop. It has no thread: the loop
// watches one descriptor and calls `serve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "metrics/registry.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::metrics {

/// Answers GET and HEAD of /metrics with the registry's exposition and closes the connection.
/// Everything else is refused. There is no authentication: a client that reaches the port reads the
/// figures, and only those.
///
/// Bounds, with any behaviour of clients: `most_connections` connections (a new one replaces the
/// oldest), `largest_head` bytes of a request, `request_time` from accept to close.
///
/// Threads: one thread at a time. No call but `open` blocks (it may resolve a host name).
class MetricsServer {
 public:
  static constexpr std::size_t most_connections = 16;
  static constexpr std::size_t largest_head = 8192;
  static constexpr Duration request_time = Duration::seconds(5);

  /// Listens on "[HOST]:PORT": ":9100" (127.0.0.1, so that only this machine reads it),
  /// "10.0.0.7:9100", "0.0.0.0:9100" (every address of this machine), "[::1]:9100". Port 0 takes a
  /// free one. `registry` must outlive the server. Errors name the address and why it cannot be
  /// used.
  static Result<std::unique_ptr<MetricsServer>> open(std::string_view address,
                                                     const Registry& registry);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// Readable when `serve` has something to do. Owned by the server.
  int descriptor() const { return poller_.get(); }
  /// Call `serve` no later than this, readable or not.
  Instant next_deadline() const;
  /// Accepts, reads, answers, and closes connections that took too long. Bounded work per call.
  void serve(Instant now);

  /// The port that it listens on.
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection;

  MetricsServer(Descriptor listener, Descriptor poller, std::uint16_t port,
                const Registry& registry);
  void accept_all(Instant now);
  void watch_listener(bool on);
  void advance(Connection& connection);
  void read_request(Connection& connection);
  void write_answer(Connection& connection);
  void drain(Connection& connection);
  void close_finished();

  Descriptor listener_;
  Descriptor poller_;
  std::uint16_t port_;
  const Registry& registry_;
  Instant accept_again_ = Instant::never();  ///< while the process has no descriptors left
  std::vector<std::unique_ptr<Connection>> connections_;  ///< oldest first
};

}  // namespace weft::metrics
