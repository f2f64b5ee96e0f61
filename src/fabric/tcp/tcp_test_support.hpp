// SPDX-License-Identifier: Apache-2.0
// For the tests of the TCP fabric with processes, strangers and limits.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/tcp/frame.hpp"
#include "fabric/tcp/handshake.hpp"
#include "fabric/tcp/socket.hpp"
#include "fabric/tcp/tcp.hpp"

namespace weft::tcp {

inline constexpr std::string_view kTestSecret = "thirty-two bytes of test secret!";

std::span<const std::byte> bytes(std::string_view text);
TcpOptions options_for(std::uint32_t self, const char* listen = "127.0.0.1:0");

/// An endpoint and its completions.
class Party {
 public:
  explicit Party(const TcpOptions& options);

  Fabric& fabric() { return *fabric_; }
  NodeId id() const { return options_.self; }
  Incarnation incarnation() const { return options_.incarnation; }
  void add(Party& other);
  /// Posts when there is room; false under back-pressure.
  bool send(NodeId peer, std::string_view text);
  bool write(NodeId peer, const RemoteRegion& region, std::uint64_t offset,
             std::span<const std::byte> data);
  /// Polls once; returns whether anything was reported.
  bool step();
  bool is_up(NodeId peer) const;
  std::size_t count(CompletionKind kind) const;

  std::function<void(NodeId, std::string_view)> on_message;
  std::vector<std::pair<NodeId, std::string>> messages;
  std::vector<Completion> events;  ///< peer_up and peer_down
  std::size_t outstanding = 0;
  std::size_t failed = 0;

 private:
  TcpOptions options_;
  std::unique_ptr<Fabric> fabric_;
};

/// Steps everybody, sleeping when there is nothing to do, until `done`; false after a minute.
bool drive(std::span<Party* const> parties, const std::function<bool()>& done);
/// Steps everybody for so long.
void drive_for(std::span<Party* const> parties, Duration time);
void introduce(Party& a, Party& b);
Instant test_now();

/// A plain socket that knocks at an endpoint's door.
class Stranger {
 public:
  explicit Stranger(const std::string& address);
  /// False when the other side has closed.
  bool send(std::span<const std::byte> data);
  /// Reads exactly so much while `parties` are stepped; false when the connection ended before.
  bool read(std::span<Party* const> parties, std::span<std::byte> into);
  /// Until the other side closes; returns how many bytes came before that, −1 when it never does.
  int read_to_end(std::span<Party* const> parties);
  /// Takes the initiator's part of the handshake and says `hello`; false when turned away silently.
  bool join(std::span<Party* const> parties, const JobKey& key, const Hello& hello, Answer& answer);

 private:
  Descriptor socket_;
};

}  // namespace weft::tcp
