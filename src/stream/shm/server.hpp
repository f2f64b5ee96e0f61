// SPDX-License-Identifier: Apache-2.0
// The compute node's side of shm: holds timeslices and hands them to consumer processes.
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
  std::uint32_t members = 1;  ///< to wait for before the first timeslice
};

struct ServerOptions {
  std::string name;
  std::vector<GroupOption> groups;
  std::uint32_t held = 64;                  ///< timeslices held for consumers at once
  std::uint32_t consumers = 64;             ///< connections at once
  ByteCount copy = ByteCount::mib(64);      ///< per consumer that gets copies, and for the node
  Duration linger = Duration::seconds(10);  ///< how long the end waits for consumers
  Duration wait = Duration::seconds(30);    ///< how long the first timeslice waits for them
};

struct ServerCounts {
  std::uint64_t copied_skip = 0;      ///< timeslices copied for consumers of policy skip
  std::uint64_t copied_unmapped = 0;  ///< timeslices with data in memory that cannot be shared
  std::uint64_t nonsense = 0;         ///< connections closed for wrong messages
  std::uint64_t unreleased = 0;       ///< still held by a consumer when the end came
  std::uint64_t passed = 0;           ///< came after `stop_waiting`, for groups without members
  BoardCounts board;
};

/// Ownership: of the sockets, the tables and the timeslices' handles. Threads: `publish` and
/// `finish` from one thread, `interrupt`, `stop_waiting` and `counts` from any; a service thread of
/// its own serves the consumers. A consumer is trusted with nothing: what it sends can only end its
/// connection.
class Server {
 public:
  /// Listens; consumers can attach from now on.
  static Result<std::unique_ptr<Server>> open(ServerOptions options, const SinkPlace& place);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Hands a timeslice out. Blocks while `held` timeslices are with consumers of policies all and
  /// one, or while declared groups lack members. Errors: cancelled after `interrupt`, exhausted
  /// when a timeslice that has to be copied can never fit, invalid_argument for more components
  /// than inputs.
  Result<void> publish(const TimesliceView& timeslice, HeldTimeslice held);
  /// Waits for consumers (`linger`), says the end to them and closes. Idempotent.
  void finish();
  void interrupt();
  /// Timeslices that would wait for consumers to come pass from now on, and are counted.
  void stop_waiting();
  ServerCounts counts() const;

 private:
  using ConnectionId = MemberId;
  struct Outgoing {
    Offer offer;
    std::uint32_t files = 0;  // shared files that it may refer to
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
    std::optional<std::uint64_t> copy;  // position in copies_, when something had to be copied
    std::size_t components = 0;
  };
  /// The work that one turn under the mutex leaves for after it.
  struct Turn {
    BoardOutbox out;
    std::vector<HeldTimeslice> released;  // destroyed without the mutex: it calls the driver
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
  Descriptor spare_;  // given up for a moment when descriptors run out
  std::thread thread_;

  mutable std::mutex mutex_;  // everything below
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
  bool waits_ = true;  // for consumers to come
  bool finished_ = false;
  std::string warned_of_;  // the orphaned group last warned of
  Turn publish_turn_;      // the publishing thread's
  ServerCounts counts_;
};

}  // namespace weft::shm
