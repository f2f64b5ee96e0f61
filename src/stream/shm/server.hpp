// SPDX-License-Identifier: Apache-2.0
// The compute node's side of the sink shm: it holds timeslices and hands them to consumer
// processes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "stream/shm/board.hpp"
#include "stream/shm/channel.hpp"
#include "stream/shm/copy_ring.hpp"
#include "stream/shm/protocol.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft::shm {

struct GroupOption {
  std::string name;
  GroupPolicy policy = GroupPolicy::all;
  std::uint32_t members = 1;  ///< the first timeslice waits until so many consumers have joined
};

struct ServerOptions {
  std::string name;
  std::vector<GroupOption> groups;
  std::uint32_t held = 64;       ///< most timeslices held for consumers at once
  std::uint32_t consumers = 64;  ///< most connections at once
  /// Memory for copies: for each consumer of policy skip, and once for the node.
  ByteCount copy = ByteCount::mib(64);
  Duration linger = Duration::seconds(10);  ///< `finish` waits this long for releases
  Duration wait = Duration::seconds(30);    ///< `publish` waits this long for `members` to join
};

struct ServerCounts {
  std::uint64_t copied_skip = 0;      ///< timeslices copied for consumers of policy skip
  std::uint64_t copied_unmapped = 0;  ///< timeslices with data in memory that cannot be shared
  std::uint64_t nonsense = 0;         ///< connections closed for wrong messages
  std::uint64_t unreleased = 0;       ///< timeslices that consumers had not released in `finish`
  std::uint64_t passed = 0;  ///< timeslices after `stop_waiting` that no consumer could take
  BoardCounts board;
};

/// The server owns the sockets, the tables and the timeslices' handles. Threads: one thread calls
/// `publish` and `finish`; any thread may call `interrupt`, `stop_waiting` and `counts`; a service
/// thread of the server's own serves the consumers. The server trusts no consumer: the worst that a
/// wrong message does is to end its sender's connection.
class Server {
 public:
  /// Listens, so that consumers can attach from now on. Errors: a wrong name, more compute nodes
  /// than can share one name, no memory or no descriptor left.
  static Result<std::unique_ptr<Server>> open(ServerOptions options, const SinkPlace& place);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Hands a timeslice out. Blocks while `held` timeslices are with consumers of policies all and
  /// one, and before the first timeslice while declared groups lack members, for at most `wait`.
  /// Errors: cancelled after `interrupt`; invalid_argument when `wait` is over, or when the
  /// timeslice has more components than there are inputs; exhausted when a timeslice that has to be
  /// copied can never fit, or no descriptor is left.
  Result<void> publish(const TimesliceView& timeslice, HeldTimeslice held);
  /// Waits until the consumers have released all timeslices, for at most `linger`. Then tells them
  /// that the stream has ended, and closes. Further calls do nothing.
  void finish();
  /// Makes `publish` and `finish` return soon, now and later.
  void interrupt();
  /// From now on `publish` waits for no consumer to join: it counts a timeslice as passed instead.
  void stop_waiting();
  /// Returns the counts so far.
  ServerCounts counts() const;

 private:
  using ConnectionId = MemberId;
  struct Outgoing {
    Offer offer;
    std::uint32_t files = 0;  // how many shared files the consumer must have before the offer
  };
  struct Connection {
    Descriptor socket;
    bool member = false;
    bool wants_write = false;
    std::uint32_t files_sent = 0;
    std::unique_ptr<CopyRing> copies;               // policy skip
    std::map<std::uint64_t, std::uint64_t> blocks;  // delivery → position in `copies`
    std::deque<Outgoing> unsent;                    // at most the member's depth
  };
  struct Slot {
    HeldTimeslice held;
    std::optional<std::uint64_t> copy;  // position in `copies_`, if the slot has a copy there
    std::size_t components = 0;
  };
  /// What one turn under the mutex leaves to do after the mutex is released.
  struct Turn {
    BoardOutbox out;
    // Destroyed without the mutex, since destroying them calls the driver.
    std::vector<HeldTimeslice> released;
  };

  Server(ServerOptions options, const SinkPlace& place, MirroredRing tables, std::size_t stride);
  Result<void> start();

  // The service thread.
  void serve();
  void handle_event(std::uint64_t tag, std::uint32_t events, Turn& turn);
  void accept_all();
  bool read_from(ConnectionId id, Turn& turn);
  bool handle(ConnectionId id, Connection& c, const FromConsumer& message, Turn& turn);
  bool welcome(ConnectionId id, Connection& c, const Hello& hello, Turn& turn);
  void disconnect(ConnectionId id, bool orderly, Turn& turn);

  // Any thread, with the mutex.
  void carry_out(const TimesliceView* timeslice, Turn& turn);
  void offer_copy(const Assignment& a, const TimesliceView& timeslice);
  void flush(ConnectionId id, Connection& c);
  Transfer send_next(Connection& c);
  std::uint32_t shared_file(std::uint64_t file, int descriptor);
  void warn_of_orphans();
  std::uint64_t table_position(SlotNumber slot) const { return slot * stride_; }

  // The publishing thread, with the mutex.
  bool ready_to_publish() const;
  bool lacks_consumers() const;
  bool nobody_can_release() const;
  Result<void> await_groups(std::unique_lock<std::mutex>& lock);
  Result<bool> fill(SlotNumber slot, const TimesliceView& timeslice,
                    std::unique_lock<std::mutex>& lock);
  Result<std::uint64_t> take_copy_room(std::size_t size, std::unique_lock<std::mutex>& lock);

  const ServerOptions options_;
  const SinkPlace place_;
  const Address address_;
  const std::size_t stride_;  // bytes per slot in tables_
  MirroredRing tables_;
  Descriptor listener_, epoll_, stop_;
  Descriptor spare_;  // closed for a moment to turn a consumer away when descriptors run out
  std::thread thread_;

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  Board board_;
  std::vector<Slot> slots_;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_connection_ = 0;
  std::vector<Descriptor> files_;                                  // number − first_shared_file
  std::unordered_map<std::uint64_t, std::uint32_t> file_numbers_;  // by SharedPlace::file
  std::unique_ptr<CopyRing> copies_;                               // made when first needed
  std::uint32_t copies_file_ = no_file;
  bool interrupted_ = false;
  bool waits_ = true;  // for consumers to join; false after `stop_waiting`
  bool finished_ = false;
  std::string warned_of_;  // the orphaned group last warned of
  Turn publish_turn_;      // of the publishing thread
  ServerCounts counts_;
};

}  // namespace weft::shm
