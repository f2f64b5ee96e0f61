// SPDX-License-Identifier: Apache-2.0
// The state behind weft::Consumer: connections to the compute nodes of this host, their memory, and
// the timeslices given out.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/memory/mirrored_ring.hpp"
#include "stream/shm/channel.hpp"
#include "stream/shm/protocol.hpp"
#include "weft/consumer.hpp"

namespace weft::shm {

/// One compute node. It stays for as long as one of its timeslices is out, even if the compute node
/// dies. Threads: the consumer's; `socket` and `open` under the state's mutex.
struct Connection {
  Descriptor socket;
  std::uint32_t compute = 0;
  bool open = true;
  bool welcomed = false;
  using RingKey = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
  std::map<std::uint32_t, Descriptor> files;
  std::map<RingKey, AttachedRing> rings;
  std::vector<std::pair<RingKey, const AttachedRing*>> last_rings;  // by component: the likely one
};

/// A timeslice given to the application.
struct Record {
  std::shared_ptr<Connection> connection;
  std::uint64_t delivery = 0;
  std::uint32_t compute = 0;
  std::vector<ComponentView> components;
  TimesliceView view;
};

/// Threads: as Consumer, SharedTimeslice.
class ConsumerState : public std::enable_shared_from_this<ConsumerState> {
 public:
  static Result<std::shared_ptr<ConsumerState>> attach(std::string_view name,
                                                       std::string_view group,
                                                       const ConsumerOptions& options);

  Result<std::optional<SharedTimeslice>> next(Duration timeout);
  bool ended() const;
  int descriptor() const { return epoll_.get(); }
  ConsumerCounts counts() const;
  void leave();
  /// Any thread.
  void release(Record& record);

 private:
  using Clock = std::chrono::steady_clock;

  ConsumerState(std::string_view name, std::string_view group, const ConsumerOptions& options)
      : name_(name), group_(group), options_(options) {}

  Result<void> wait_for_first();
  Result<void> look_for_computes(Clock::time_point now);
  Result<bool> connect_compute(std::uint32_t compute);
  Result<std::optional<SharedTimeslice>> read_one(std::uint64_t tag);
  Result<std::optional<SharedTimeslice>> handle(const std::shared_ptr<Connection>& c,
                                                const FromSink& message, Descriptor attached);
  Result<std::optional<SharedTimeslice>> take(const std::shared_ptr<Connection>& c,
                                              const Offer& offer);
  bool fill(Record& record, Connection& c, std::span<const std::byte> table,
            const TimesliceHeader& header, bool repeated);
  std::optional<std::span<const std::byte>> map(Connection& c, const Piece& piece,
                                                std::size_t hint);
  void close(Connection& c, bool in_the_end);
  Error nonsense(Connection& c, std::string_view what);
  void send(Connection& c, const FromConsumer& message);

  const std::string name_;
  const std::string group_;
  const ConsumerOptions options_;
  Descriptor epoll_;
  std::map<std::uint32_t, std::shared_ptr<Connection>> connections_;  // by compute: the open ones
  std::uint32_t computes_ = 0;  // as the compute nodes say; 0 before the first said it
  Clock::time_point look_again_{};
  ConsumerCounts counts_;
  std::map<std::uint32_t, std::uint64_t> missed_;  // by compute

  std::mutex mutex_;  // for `release` too: the two below, Connection::socket and ::open
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<Record*> free_records_;
};

}  // namespace weft::shm
