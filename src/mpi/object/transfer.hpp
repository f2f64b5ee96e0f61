// SPDX-License-Identifier: Apache-2.0
// Transfer: point-to-point messages of MPI, on flows of the message layer (docs/mpi.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/determinant/outcome_log.hpp"
#include "core/match/matcher.hpp"
#include "mpi/object/board.hpp"
#include "mpi/object/brief_wait.hpp"
#include "mpi/object/call_name.hpp"
#include "mpi/object/datatype.hpp"
#include "mpi/object/group.hpp"
#include "process/messenger.hpp"

namespace weft::mpi {

struct Status {
  std::uint32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;  ///< received; of a probe: to be received
  bool is_truncated = false;
  bool is_cancelled = false;
};

/// Memory of any contents.
struct Scratch {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
};

/// The caller's memory, as a datatype lays it out.
struct Buffer {
  void* address = nullptr;
  std::uint64_t count = 0;
  const Datatype* type = nullptr;
  std::uint64_t bytes() const { return count * type->size(); }
  /// Whether it begins at no address. MPI_BOTTOM, with a datatype of addresses, does not.
  bool is_null() const {
    return address == nullptr && count > 0 && type->size() > 0 && type->true_lower() == 0;
  }
};

/// A send or a receive under way. The caller owns it, and keeps it where it is until `done`. What
/// each message needs comes first: it lies on few cache lines.
struct Request {
  bool done = false;
  bool is_special = false;  ///< of the API: generalized, persistent or shared
  // Transfer's own state.
  bool is_receive = false;
  bool is_matched = false;   ///< a message belongs to this receive
  bool is_recorded = false;  ///< the match of this receive records its sender
  // The API uses these in special requests.
  bool is_active = true;        ///< false: a persistent one that is not started
  bool is_shared = false;       ///< by several operations, all of them done
  bool is_generalized = false;  ///< see mpi/api/generalized.hpp
  Status status;
  Buffer buffer;           // of Transfer
  std::uint64_t kept = 0;  ///< of the API: how many were kept when this one was; 0: it is not

  const Group* group = nullptr;
  match::WaitingReceive waiting;
  int open = 0;                   ///< operations of the message layer
  std::uint64_t number = 0;       ///< of a receive, in the log of outcomes
  std::vector<std::byte> packed;  ///< a body that does not go from or to where it lies
  /// Starts a persistent request again and returns MPI's error code. Empty in other requests.
  std::function<int(Request&)> starts;

  /// Makes a done request that is not special as good as new. Fields that each send and receive
  /// sets keep their values.
  void reset() {
    done = is_receive = is_matched = false;
    status.is_truncated = status.is_cancelled = false;
  }
};

/// Work that goes on whenever something was received or sent: a collective operation under way, the
/// service of a window.
class Task {
 public:
  virtual ~Task() = default;
  /// Goes on as far as it can without waiting. True: it is finished, and is destroyed.
  virtual bool advance() = 0;
};

/// All point-to-point messages of a process, and the requests for them. Errors of the message
/// layer end the process's part in the job: after one, only `failure` may be called. One thread.
class Transfer final : private message::EarlyWatch, private WantedPeers {
 public:
  explicit Transfer(Messenger& messenger);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  struct Opening {
    bool by_tasks = false;  ///< tasks send some, in another order among others in each life
    /// Its processes leave the job together: one that was here and is gone for too long has died,
    /// which is a failure of this process's part, too.
    bool is_world = false;
  };
  /// Messages of the group can come from now on. It outlives this.
  void open(const Group& group, const Opening& opening);
  void open(const Group& group) { open(group, {}); }

  /// The buffer stays as it is until `request` is done. `synchronous`: not done before it was
  /// matched.
  void send(const Group& group, std::uint32_t to, std::int32_t tag, const Buffer& buffer,
            bool synchronous, Request& request);
  /// A short message that leaves at once: it needs no request. False: nothing has happened.
  bool send_now(const Group& group, std::uint32_t to, std::int32_t tag, const Buffer& buffer);
  /// Source and tag may be wildcards of core/match.
  void receive(const Group& group, std::uint32_t from, std::int32_t tag, Buffer buffer,
               Request& request);
  /// A receive that takes no message, and is under way until somebody sets it done.
  static void hold(const Group& group, const Buffer& buffer, Request& request);
  /// Returns the status of the message that a receive would take; turns once when there is none.
  std::optional<Status> probe(const Group& group, std::uint32_t from, std::int32_t tag);
  /// The same; waits until there is one. None: a failure.
  std::optional<Status> await(const Group& group, std::uint32_t from, std::int32_t tag);
  /// The same without a turn.
  std::optional<Status> waiting(const Group& group, std::uint32_t from, std::int32_t tag) const;
  /// Takes the message that a receive would take now, so that no other receive can: into `memory`,
  /// which has its length then. Both stay where they are until the request is done. False: there is
  /// none.
  bool extract(const Group& group, std::uint32_t from, std::int32_t tag, Request& request,
               std::vector<std::byte>& memory);
  /// A receive that was not matched is done, as cancelled. A send goes on.
  void cancel(Request& request);

  /// The group's next blocking operation begins. Its short messages name it, so that members that
  /// call another one, or with another root, end with an error that names both.
  void begin_collective(const Group& group, collective::Operation operation, std::uint32_t root,
                        bool is_among_neighbors = false) {
    if (Lanes* const lanes = lanes_of(group)) {
      lanes->call = lanes->calls.add(operation, root, CallKind::blocking, is_among_neighbors);
    }
  }
  /// The same of one that does not block, on the collectives' flows of that tag. A process that
  /// waits for long tells its peers the name, since the messages have none.
  void begin_collective_on(const Group& group, std::int32_t tag, CallKind kind,
                           const collective::Request& what, bool is_among_neighbors = false);
  /// The call on that tag is over in all members; the next one there may have another name.
  void forget_collective_on(const Group& group, std::int32_t tag);
  /// Messages of collective operations of which one at a time is under way: at most `longest_short`
  /// bytes, in the order of their sending. `done` becomes true, and outlives it. The receive has
  /// exactly the size of the message, and both ends of a pair take such messages and plain ones of
  /// tag 0 in one order: a message that breaks this rule is a failure. `send_short` returns whether
  /// it left at once.
  std::size_t longest_short() const { return std::min(most_short, inline_limit_); }
  /// False: the group has none, and uses plain ones.
  bool has_short(const Group& group) { return lanes_of(group) != nullptr; }
  bool send_short(const Group& group, std::uint32_t to, std::span<const std::byte> bytes,
                  bool& done);
  void receive_short(const Group& group, std::uint32_t from, std::span<std::byte> into, bool& done);
  /// From now on groups may have boards, in all processes of the job. Not where lives of a process
  /// repeat its messages: what stands on a board is not kept.
  void allow_boards() { may_have_boards_ = true; }
  /// Whether the messages of this process and all others of the group that it has heard from go
  /// through memory that they share, and other memory may be used beside them. All members have to
  /// agree.
  bool shares_memory_with(const Group& group) const;
  /// Whether this process could share a board with all others of the group, likewise.
  bool can_have_board(const Group& group);
  /// The group's next blocking operations may use it. Null: they never do.
  void set_board(const Group& group, std::unique_ptr<Board> board);
  /// Null: the group has none.
  Board* find_board(const Group& group) {
    Lanes* const lanes = lanes_of(group);
    return lanes != nullptr ? lanes->board.get() : nullptr;
  }
  /// Counts the calls of a group without a board that could use one. Returns true once, when there
  /// were enough of them: then the members are to agree whether they have one.
  bool is_board_due(const Group& group) {
    Lanes* const lanes = may_have_boards_ ? lanes_of(group) : nullptr;
    return lanes != nullptr && lanes->calls_before_board > 0 && --lanes->calls_before_board == 0;
  }
  /// Meets all other members on the group's board. Returns when all have arrived, or with a
  /// failure. In transfer_board.hpp.
  void meet_on_board(const Group& group, std::span<const std::byte> values);
  /// Starts an exchange of the collectives' flow of that tag; `done` becomes true, and outlives it.
  void send_plain(const Group& group, std::uint32_t to, std::int32_t tag,
                  std::span<const std::byte> bytes, bool& done);
  void receive_plain(const Group& group, std::uint32_t from, std::int32_t tag,
                     std::span<std::byte> into, bool& done);

  /// Memory for an operation, which gives it back for the next one: that of a large
  /// vector takes the kernel as long to make as a copy.
  Scratch take_scratch(std::size_t bytes) {
    if (scratch_.bytes >= bytes) return std::exchange(scratch_, {});
    scratch_ = {};
    return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  }
  void give_back_scratch(Scratch scratch) {
    if (scratch.bytes > scratch_.bytes && scratch.bytes <= most_scratch) {
      scratch_ = std::move(scratch);
    }
  }

  /// Advances it now, and from now on until it is finished.
  void start(std::unique_ptr<Task> task);

  /// Lets everything go on, without waiting.
  [[gnu::noinline]] void turn();
  /// Until `finished()`; sleeps where nothing happens. Ends early with a failure.
  template <class Finished>
  void until(Finished&& finished) {
    look_if_queued();
    while (!failure_ && !finished()) {
      if (!take_what_is_done()) wait_for_something();
      // Others are not forgotten when this one is finished by what came.
      if (!tasks_.empty() || !matched_.empty()) take_what_is_done();
    }
  }
  /// A wait calls it after each turn in which nothing happened, with the number of such turns in a
  /// row, and never sleeps itself. Other calls may be made meanwhile, one at a time.
  void set_pause(void (*pause)(int)) { pause_ = pause; }
  /// Other calls may be made while one waits.
  bool lets_others_in() const { return pause_ != nullptr; }
  /// Until everything that was sent is on its way, and needs this process no more.
  void flush();
  /// Goes on with receives and tasks, for which something may have arrived. For a process that only
  /// serves others, and turns the messenger itself.
  void serve() {
    if (!failure_) take_what_is_done();
  }
  /// To be called behind sends that need not wait: messages that found no room leave, as far as
  /// there is some by now.
  void look_if_queued() {
    if (queued_ > few_queued) [[unlikely]] {
      look_at_fabric();
    }
  }
  /// The last message to that process: to be called right behind a send, for `make_way`.
  message::Name last_sent_to(NodeId to) const { return messenger_.machine().last_sent_to(to); }
  /// Until few messages to that process wait in this one, or that one does not: for sends that may
  /// wait. A process that runs ahead of its peers has to stop somewhere.
  void make_way(NodeId to, const message::Name& message) {
    if (messenger_.machine().queued_to(to) > most_queued) [[unlikely]] {
      wait_for_way(to, message);
    }
  }
  /// The same of what a blocking collective of the group has sent: behind each send of it that did
  /// not leave at once, `note_collective_send`, and at its end, `make_way`.
  void note_collective_send(const Group& group, std::uint32_t to);
  void make_way(const Group& group) {
    if (!behind_many_.empty()) [[unlikely]] {
      wait_for_way(group);
    }
  }
  /// A turn of a wait for something that no message brings, if others may be let in meanwhile.
  void turn_and_pause();
  /// Until the next send finds room, so that it does not wait.
  void make_room();
  const std::optional<Error>& failure() const { return failure_; }
  /// The failure is that members of a group call collective operations that do not fit together.
  bool has_disagreement() const { return has_disagreement_; }
  /// Ends the process's part in the job, as an error of the message layer does.
  void fail(Error why) {
    if (!failure_) failure_ = std::move(why);
  }
  /// Counts of messages that arrived, from others or from this process; they include messages that
  /// still wait for a receive.
  struct Counts {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  ///< of their content, bodies included
    std::uint64_t waiting = 0;
    std::uint64_t most_waiting = 0;
  };
  Counts counts() const {
    Counts now = counts_;
    now.waiting = unexpected_.size();
    return now;
  }
  /// Gets the senders of receives that are to be recorded. Null: none.
  void set_log(determinant::OutcomeLog* log) {
    log_ = log;
    has_had_log_ = has_had_log_ || log != nullptr;
  }

 private:
  /// Begins each message of the envelopes' flow. Both ends are the same version of weft, on
  /// machines of one byte order: the message layer made sure of the former.
  struct Header {
    std::int32_t tag = 0;
    std::uint8_t has_body = 0;     // it follows in the bodies' flow of its tag
    std::uint8_t wants_match = 0;  // the sender waits for a message of the matches' flow of its tag
    // 1: a short message of a collective operation. Only `bytes` counts, in which its length and
    // its call's name are, and `tag`, the number of plain messages before it (Lane::sent_plain). 2:
    // the name of a call in which the sender waits for this process. 3: the same on the group's
    // board, with the length of the sender's values, and in `tag` the meeting's number modulo 2^31.
    // 4: all have arrived there.
    std::uint8_t is_short = 0;
    // A message of MPI, all of which follows, and whose sender waits for nothing: `bytes` is left
    // out, so that two of the shortest share a cache line.
    std::uint8_t is_whole = 0;
    std::uint64_t bytes = 0;

    std::size_t size() const { return is_whole == 1 ? whole_header : sizeof(Header); }
  };
  static constexpr std::size_t whole_header = 8;
  static_assert(sizeof(Header) == 16);
  /// A message on its way to a receive, or that waits for one.
  struct Arrived {
    const Group* group = nullptr;
    std::uint32_t source = 0;
    Header header;
    std::span<const std::byte> content;
  };
  /// Then a group has called enough short operations to be worth a board.
  static constexpr std::uint32_t calls_to_board = 16;
  /// Then members of a group may have called collective operations that do not fit together.
  static constexpr Duration long_wait = Duration::seconds(2);
  /// Short messages that wait for one process: as many as a window of sends may have.
  static constexpr std::size_t most_queued = 1024;
  /// So few may wait for the next look at the fabric: each takes system calls over TCP.
  static constexpr std::uint32_t few_queued = 16;
  /// A program may do nothing but meet; others' messages for it go on in a turn.
  static constexpr std::uint32_t meetings_per_turn = 64;
  /// Not more than any fabric carries in an envelope, so that all processes have the same limit.
  static constexpr std::size_t most_short = 2 << 10;
  struct Unexpected;
  class Lane;
  struct Slot;
  /// The object that an operation of the message layer serves. At most one pointer is not null.
  struct Watched {
    Slot* slot = nullptr;
    Request* request = nullptr;
    bool* flag = nullptr;
    NodeId sender{};           ///< of a receive that has to fill its buffer:
    std::size_t expected = 0;  ///< so many bytes
  };

  Messenger& messenger_;
  determinant::OutcomeLog* log_ = nullptr;
  bool has_had_log_ = false;  // this process may have other lives
  match::Matcher matcher_;
  std::size_t inline_limit_;
  struct Lanes {
    std::vector<std::unique_ptr<Lane>> by_source;
    bool by_tasks = false;
    CallName call;  // the blocking one under way, or the last one
    CallRecord calls;
    std::vector<CallName> on_tag;                       // the latest call on the flows of each tag
    std::unique_ptr<Board> board;                       // null: none, or not yet
    std::uint32_t calls_before_board = calls_to_board;  // 0: the members have agreed
    bool waits_on_board = false;
  };
  std::unordered_map<const Group*, Lanes> lanes_;
  std::unordered_map<Generation, Lanes*> collective_lanes_;  // by the flows of collectives
  std::uint32_t queued_ =
      0;  // short messages that found no room, since the last look at the fabric
  struct BehindMany {
    const Group* group = nullptr;
    NodeId to{};
    message::Name message;
  };
  std::vector<BehindMany> behind_many_;  // messages of blocking collectives
  static constexpr std::size_t most_scratch = std::size_t{16} << 20;
  Scratch scratch_;
  bool may_have_boards_ = false;
  std::size_t boards_ = 0;
  BriefWait brief_wait_;
  std::uint32_t meetings_without_turn_ = 0;
  const Group* latest_group_ = nullptr;  // whose lanes were looked for
  Lanes* latest_lanes_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_slots_;
  std::list<Unexpected> unexpected_;  // the matcher names them
  Counts counts_;
  /// A peer for which the process waits, although it has posted nothing for it. Each thread has
  /// one.
  struct Wanted {
    static Wanted member_of(const Group& group, std::uint32_t source) {
      if (source == match::any_source) return {&group, {}};
      return {nullptr, group.members[source]};
    }
    const Group* any_of;  // null: `peer` alone
    NodeId peer;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  /// It waits for that peer for as long as this lives.
  class Wants {
   public:
    Wants(Transfer& transfer, const Wanted& what) : all_(transfer.wanted_), what_(what) {
      all_.push_back(what);
    }
    ~Wants() { all_.erase(std::find(all_.begin(), all_.end(), what_)); }
    Wants(const Wants&) = delete;
    Wants& operator=(const Wants&) = delete;

   private:
    std::vector<Wanted>& all_;
    Wanted what_;
  };
  std::vector<Wanted> wanted_;
  std::vector<Operation> operations_;  // those that are watched
  std::vector<Watched> watched_;       // of each of them
  std::optional<Error> failure_;
  bool has_disagreement_ = false;
  std::vector<std::unique_ptr<Task>> tasks_;  // the oldest first
  /// Matched while the message layer was at work: what is to be sent or received for them is left.
  std::vector<std::pair<Request*, Arrived>> matched_;
  bool has_arrived_ = false;  // something, since it was asked for
  int takes_in_a_row_ = 0;
  void (*pause_)(int) = nullptr;
  int fruitless_turns_ = 0;
  bool is_advancing_ = false;
  bool advance_again_ = false;  // something was done while tasks were advanced

  void watch(Operation operation, const Watched& what);
  bool take_what_is_done();
  void advance_tasks();
  void take(const Watched& what);
  void wait_for_something();
  void look_at_fabric();
  void arrive(Lane& lane, std::span<const std::byte> all);
  void refuse(const Lane& lane, std::size_t bytes);
  void refuse_count(NodeId sender, std::uint64_t came, std::uint64_t expected);
  void refuse_call(const Lane& lane, CallName theirs, CallName own);
  void tell_calls();
  void tell_call(const Lane& lane, CallName call);
  void compare_calls(const Lane& lane, CallName theirs);
  [[gnu::noinline]] void wait_on_board(const Group& group, Lanes& lanes);
  [[gnu::noinline]] void wake_on_board(const Group& group, const Board& board);
  [[gnu::noinline]] bool has_other_word(const Group& group, const Lanes& lanes);
  bool has_early_message(const Group& group, const Lanes& lanes);
  void tell_meeting(const Group& group, const Lanes& lanes);
  void compare_meeting(const Lane& lane, const Header& header);
  static Lane* lane_from(const Lanes& lanes, NodeId sender);
  void disagree(std::string why);
  void on_early(NodeId from, const message::FlowKey& flow, std::uint64_t bytes) override;
  void for_each_wanted(const WantedPeers::Visit& visit) const override;
  Lanes* lanes_of(const Group& group) {
    return latest_group_ == &group ? latest_lanes_ : find_lanes(group);
  }
  Lanes* find_lanes(const Group& group);
  void take_short(Lane& lane, std::uint32_t place, CallName call,
                  std::span<const std::byte> content);
  bool send_header_now(const Group& group, std::uint32_t to, const Header& header);
  bool send_envelope_now(const Group& group, std::uint32_t to, const Header& header,
                         std::span<const std::byte> bytes);
  [[gnu::noinline]] void wait_for_way(NodeId to, const message::Name& message);
  [[gnu::noinline]] void wait_for_way(const Group& group);
  void take_matched();
  void post_envelope(const Group& group, std::uint32_t to, const Header& header,
                     const Buffer* whole);
  void take_unexpected(match::Token message, Request& request);
  void arrive_otherwise(Lane& lane, std::span<const std::byte> all);
  void match_whole(Request& receive, std::uint32_t source, std::int32_t tag,
                   std::span<const std::byte> content);
  bool fill(Request& receive, const Arrived& message);
  void deliver(Request& receive, const Arrived& message);
  void receive_body(Request& receive, const Arrived& message);
  void finish(Request& request);
};

// In the header: each message pays for it.
inline void Transfer::receive(const Group& group, std::uint32_t from, std::int32_t tag,
                              Buffer buffer, Request& request) {
  request.group = &group;
  request.buffer = buffer;
  request.is_receive = true;
  if (!matched_.empty()) take_matched();  // those before this one come first
  const match::Envelope pattern{group.generation.value(), from, tag};
  if (matcher_.waiting_messages() > 0) {
    if (const auto message = matcher_.extract(pattern)) {
      return take_unexpected(message->token, request);
    }
  }
  request.waiting = matcher_.wait(pattern, reinterpret_cast<match::Token>(&request));
}

}  // namespace weft::mpi
