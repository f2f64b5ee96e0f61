// SPDX-License-Identifier: Apache-2.0
// Network: hosts that put messages into packets, links, and switches that keep packets in virtual
// lanes under credit flow control. Nothing is lost except on links that are declared lossy: a
// blocked packet keeps its place in the buffer, and packets behind it in the same buffer wait too.
//
// A packet's hop costs one event, its arrival; another one only where it had to wait. An arrival at
// a host costs none unless it completes the message. Room in a buffer comes back to the sender as
// an entry in a list that the sender reads when it needs room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/rng.hpp"
#include "net/link_clock.hpp"
#include "net/link_model.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/border.hpp"
#include "sim/network/flow_table.hpp"
#include "sim/network/lane.hpp"
#include "sim/network/observer.hpp"
#include "sim/network/options.hpp"
#include "sim/network/packet.hpp"
#include "sim/network/queue_blocks.hpp"
#include "sim/routing/router.hpp"
#include "sim/topology/topology.hpp"

namespace weft::sim {

/// Hears of its messages, during events of the network.
class NetworkUser {
 public:
  virtual ~NetworkUser() = default;
  /// The last packet leaves the host; the last byte will have at `departure`.
  virtual void on_sent(const Message& message, PicoInstant departure) = 0;
  /// The last byte is at the destination. Messages of one pair may overtake each other when they
  /// are on different paths or take turns.
  virtual void on_arrived(const Message& message) = 0;
  /// A lossy link has lost it; only of messages that may be lost, and after on_sent.
  virtual void on_lost(const Message& /*message*/) {}
  /// A word of the same user in another part (Network::tell). Between events.
  virtual void on_told(std::span<const std::byte> word);
};

/// The packets that went onto a link, and how long they waited for that.
struct LinkCounters {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< headers included
  /// All packets' waits added up: in the buffers of a switch, until now if a packet waits still; at
  /// a host from the posting of the message, once the packet goes.
  PicoDuration waited{};

  LinkCounters& operator+=(const LinkCounters& more) {
    packets += more.packets;
    bytes += more.bytes;
    waited += more.waited;
    return *this;
  }
  /// The difference since `before`.
  LinkCounters operator-(const LinkCounters& before) const {
    return {packets - before.packets, bytes - before.bytes, waited - before.waited};
  }
  bool operator==(const LinkCounters&) const = default;
};

class Network final : public EventHandler {
 public:
  /// Topology, router, engine and border outlive the network. Options must pass `check_network`.
  /// With a border only the border's own vertices have records and are simulated here: hosts of
  /// other parts must not send here.
  Network(const Topology& topology, const Router& router, const NetworkOptions& options,
          Engine& engine, std::uint64_t seed, Border* border = nullptr);

  /// Its number for MessageRequest::user.
  std::uint16_t add_user(NetworkUser& user);
  /// Hands a message to its source host's adapter, now. Messages of a level and
  /// queue to one host go out in the order posted, others in turn.
  void send(const MessageRequest& request);
  void on_event(const Event& event) override;
  void fetch(const Event& event, Ahead ahead) const override;
  /// A user is likely to send from the host soon; see EventHandler::fetch.
  void fetch_sender(std::uint32_t host, std::uint8_t level, Ahead ahead) const;

  /// From now on tells the observer, which outlives the network, of everything; null: nobody.
  void set_observer(NetworkObserver* observer) {
    observer_ = observer;
    looks_closer_ = observer_ != nullptr || !losses_.empty();
  }

  /// Returns whether this part of a divided network keeps the vertex; one that is whole keeps all.
  bool owns(Vertex v) const { return border_ == nullptr || border_->is_own(v); }
  /// This part's number, 0 of a whole network.
  std::uint32_t part() const { return border_ == nullptr ? 0 : border_->self(); }
  /// Tells the user of that number in the part that has the host, which is another one. It is told
  /// before anything arrives there that is sent from now on. `matters_from`: it has no effect there
  /// before then; see Guarantees. never: it has no effect by itself.
  void tell(std::uint32_t host, std::uint16_t user, PicoInstant matters_from,
            std::initializer_list<std::span<const std::byte>> word);
  /// An event in one part cannot affect another part earlier than this much later, if the
  /// guarantees hold. The same in every part; the longest duration there is when nothing crosses.
  /// Rates must not grow afterwards beyond the expected ones.
  PicoDuration lookahead(const Guarantees& expected) const;
  /// A batch that another part's border collected; nothing in it is before now.
  void receive(std::span<const std::byte> batch);

  const Topology& topology() const { return topology_; }
  const NetworkOptions& options() const { return options_; }
  /// The vertex is simulated here.
  Rng& rng(Vertex v) { return rngs_[numbers_[v.value()]]; }

  /// Changes a link's rate from now on; packets on their way arrive as before. Does nothing to
  /// links of other parts.
  void set_rate(LinkId link, Bandwidth rate);
  /// The link is simulated here.
  Bandwidth rate(LinkId link) const;
  /// A link that is down keeps its packets until it is up again.
  void set_up(LinkId link, bool up);
  /// Also of other parts' links, which are set down in all parts.
  std::uint32_t links_down() const { return static_cast<std::uint32_t>(down_.size()); }
  /// Declares a link lossy: from now on it loses so many of a million packets, each on its own. The
  /// room a packet would have taken is free when it would have been, and its bytes are sent again
  /// by their host (NetworkOptions::retransmit_after). 0: it loses none. In a divided network all
  /// parts must be neighbours, and expect it.
  void set_loss(LinkId link, std::uint32_t parts_per_million);
  /// Shares and priorities of levels at every port, from now on.
  void set_levels(std::span<const LevelOptions> levels);

  /// Since the beginning, of all levels or of one; nothing of other parts' links. Looks at every
  /// packet that waits in a switch for the link: once in a while, not for each packet.
  LinkCounters counters(LinkId link) const;
  LinkCounters counters(LinkId link, std::uint8_t level) const {
    return counters(link, level, engine_.now());
  }
  /// The same at `at`, after the last event: packets have waited until then.
  LinkCounters counters(LinkId link, std::uint8_t level, PicoInstant at) const;
  std::uint64_t packet_hops() const { return hops_; }
  std::uint64_t packets_delivered() const { return delivered_; }
  std::uint64_t packets_lost() const { return lost_; }
  std::uint64_t messages_in_flight() const { return messages_.in_use(); }
  std::uint64_t packets_in_flight() const { return packets_.in_use(); }
  /// Every buffer is whole again and nothing is under way: checked when all has been delivered.
  bool at_rest() const;
  /// Memory of the model itself, without topology and router.
  std::size_t memory_bytes() const;

 private:
  /// The state of a link, in one cache line; its lanes are in as many more.
  struct alignas(64) Transmitter {
    net::LinkClock clock;
    Bandwidth rate;
    PicoInstant wake = PicoInstant::never();  // it is scheduled to look then
    std::uint64_t waiting = 0;                // a bit for each lane that has packets
    std::uint64_t turns = 0;  // four bits for each priority: the level whose turn it is
    Vertex own;
    Vertex peer;
    PortNumber peer_port;
    std::uint16_t passed_over = 0;  // a bit for each level that could not use all of its turn
    std::uint16_t queue_kind = 0;   // switches: of QueueBlocks
    CableKind kind = CableKind::local;
    bool up : 1 = true;
    bool at_host : 1 = false;
    bool to_host : 1 = false;
    bool never_starves : 1 = false;  // `never_starves`: room behind it is not counted
  };
  static_assert(sizeof(Transmitter) == 64);
  /// A link's transmitter and the first of its lanes, looked up once for all that happens there.
  struct Port {
    Transmitter& transmitter;
    Lane* lanes;
  };
  /// The facts that follow from a lane's number.
  struct LaneFacts {
    std::uint8_t level = 0;
    std::uint8_t channel = 0;   // class; and the lane that has the class's room
    std::uint8_t first = 0;     // the lane of the level's first class, which has its state
    std::uint8_t priority = 0;  // the number of the level's priority
  };
  /// A lane that may send, and the levels of its priority that wait.
  struct Pick {
    std::uint32_t lane = kNone;
    std::uint16_t waiting = 0;
  };
  /// Levels of one priority.
  struct Priority {
    std::uint64_t lanes = 0;
    std::uint16_t levels = 0;
  };
  /// Messages of one level that wait at a host for their turns: the first ones of their flows.
  struct Adapter {
    FlowTable flows;  // that have a message
    std::uint32_t waiting_head = kNone;
    std::uint32_t waiting_tail = kNone;
    std::uint32_t in_turn = 0;
  };

  std::uint32_t header_of(const MessageRequest& request) const {
    return request.header != 0 ? request.header : options_.packet_overhead;
  }
  // Links that are simulated here have numbers in the order of their LinkIds, as their records do:
  // in an undivided network the same numbers.
  std::uint32_t number_of(LinkId l) const {
    const PortRef own = topology_.port(l);
    return first_links_[own.vertex.value()] + own.port.value();
  }
  std::uint32_t number_of(const Port& port) const {
    return static_cast<std::uint32_t>(&port.transmitter - transmitters_.data());
  }
  /// A host's number among those here, which is also that of its link.
  std::uint32_t number_of(std::uint32_t host) const { return first_links_[host]; }
  LinkId link(const Port& port) const {
    const Vertex own = port.transmitter.own;
    const std::uint32_t first = topology_.link({own, PortNumber(0)}).value();
    return LinkId(first + number_of(port) - first_links_[own.value()]);
  }
  bool is_here(LinkId l) const { return owns(topology_.port(l).vertex); }
  std::size_t first_lane(std::uint32_t number) const { return std::size_t{number} * lane_stride_; }
  Port port(std::uint32_t number) { return {transmitters_[number], &lanes_[first_lane(number)]}; }
  LevelState& level_state(const Port& port, std::uint32_t level) const {
    return port.lanes[level * channels_].level;
  }
  /// Of the lane's level.
  LevelState& state_of(const Port& port, std::uint32_t lane_index) const {
    return port.lanes[facts_[lane_index].first].level;
  }
  PicoDuration latency(CableKind kind) const { return latencies_[static_cast<std::size_t>(kind)]; }
  Room& room(const Port& port, std::uint32_t lane_index) const {
    return port.lanes[facts_[lane_index].channel].room;
  }

  // Always inline: the compiler takes a function that only prefetches for one without effect, and
  // may drop a call of it.
  [[gnu::always_inline]] inline void fetch_host(const Event& event, Ahead ahead) const;
  [[gnu::always_inline]] inline void fetch_adapter(std::uint32_t number, std::uint8_t level,
                                                   Ahead ahead) const;
  void deliver(std::uint32_t packet);
  void build(std::uint64_t seed);
  void build_transmitters(Vertex own);
  bool never_starves(const Transmitter& t) const;
  std::uint64_t packets_waiting(std::uint32_t number, std::uint32_t level) const;
  // network_serve.cpp: packets' arrivals, and the work of a transmitter. What each hop takes is
  // inline there: calls that looked everything up again took a tenth of a hop's instructions.
  void on_arrival(const Event& event);
  inline Hop hop_of(const Event& event, Packet& packet, const Port& first);
  inline void enqueue(Port out, std::uint32_t lane, PortNumber in, std::uint32_t packet);
  inline bool join_queue(Port out, std::uint32_t lane, PortNumber in, std::uint32_t packet);
  bool serve(Port port);  // true: sent something
  /// Hosts make packets of messages, and switches pass packets on: the caller chooses once.
  template <bool kAtHost>
  bool serve_as(Port port);
  void wake_at(Port port, PicoInstant at);
  inline Arrival likely_next(Port port) const;
  inline bool passes_at_once(Port port, std::uint32_t lane_index, std::uint32_t bytes);
  template <bool kAtHost>
  inline std::uint32_t head_bytes(Port port, std::uint32_t lane_index) const;
  void tell_queued(Port out, std::uint32_t lane_index, std::uint32_t bytes);
  inline void take_returns(Port port, Room& room);
  template <bool kAtHost>
  inline bool has_credit(Port port, std::uint32_t lane_index);
  std::uint16_t waiting_levels(std::uint64_t lanes) const;
  template <bool kAtHost>
  inline std::uint32_t able_lane(Port port, std::uint32_t level);
  std::uint32_t able_class(Port port, std::uint32_t level);
  template <bool kAtHost>
  inline Pick pick(Port port);
  template <bool kAtHost>
  std::uint32_t choose(Port port, std::uint32_t priority, std::uint16_t waiting);
  inline void charge(Port port, Pick pick, std::uint32_t bytes);
  void charge_turn(Port port, std::uint32_t priority, std::uint32_t level, std::uint16_t waiting,
                   std::uint32_t bytes);
  void pass(Port port, std::uint32_t level, bool starved);
  void move_turn(Port port, std::uint32_t priority, std::uint32_t level, std::uint16_t waiting);
  /// The level whose turn it is.
  static std::uint32_t turn_of(const Transmitter& t, std::uint32_t priority) {
    return static_cast<std::uint32_t>(t.turns >> (4 * priority) & 15);
  }
  inline std::uint32_t take_packet(Port port, std::uint32_t lane_index);
  template <bool kAtHost>
  bool transmit(Port port, std::uint32_t lane_index, std::uint32_t packet);
  bool arrives_unheard(Port port, std::uint32_t packet, PicoInstant& at);
  bool is_lost(Port port, std::uint32_t packet, const net::Transit& transit);
  inline void leave_buffer(const Packet& packet, PicoInstant departure);
  inline void take_room(Port port, std::uint32_t lane_index, std::uint32_t bytes);
  inline void count_packet(Port port, std::uint32_t lane_index, std::uint32_t bytes);
  void count_overflow(Port port, std::uint32_t level);
  void return_credit(Port port, PicoInstant at, std::uint32_t bytes, std::uint32_t lane);
  [[gnu::always_inline]] inline void note_return(Port port, PicoInstant at, std::uint32_t bytes,
                                                 std::uint32_t lane);
  void add_return(Room& to, PicoInstant at, std::uint32_t bytes, std::uint32_t lane);
  void insert_return(Room& to, PicoInstant at, std::uint32_t bytes, std::uint32_t lane);
  void advance_returns(Room& of);
  inline static void set_next(Room& of, PicoInstant at, std::uint32_t bytes, std::uint32_t lane);
  // network_border.cpp: several processes
  void send_across(Port port, PicoInstant at, std::uint32_t packet);
  void give_back_across(const Packet& packet, PicoInstant departure);
  void release(std::uint32_t message);
  void forget(std::uint32_t message);
  std::uint32_t adopt(const PacketCrossing& crossing);
  void receive_packet(const PacketCrossing& crossing);
  void receive_credit(const CreditCrossing& crossing);
  void receive_loss(const LossCrossing& crossing);
  void receive_word(const WordCrossing& crossing, std::span<const std::byte>& batch);
  std::uint32_t sender_of(const LossCrossing& crossing);
  // network_rest.cpp: packets that come in slowly
  bool waits_for_rest(const Event& event, Hop hop, Bandwidth rate);
  PicoInstant start_in_time(const Packet& packet, Bandwidth rate) const;
  void arrive_again(const Event& event, std::uint32_t packet, PicoInstant at);
  // network_loss.cpp: lossy links
  bool loses(LinkId l);
  bool lose(Port port, std::uint32_t lane_index, std::uint32_t packet, PicoInstant arrival);
  void send_again(const Event& event);
  // adapter.cpp: hosts
  Adapter& adapter_of(const MessageRequest& request);
  bool is_small(const MessageRequest& request) const;
  void add_message(std::uint32_t message);
  void line_up(Adapter& adapter, std::uint32_t message);
  void admit(Adapter& adapter);
  void end_turns(std::uint32_t message);
  void join_round(std::uint32_t message);
  void join_round(Port port, std::uint32_t lane_index, std::uint32_t message);
  bool gap_is_over(Port port, std::uint32_t lane_index);
  std::uint32_t make_packet(Port port, std::uint32_t lane_index);

  static constexpr std::uint16_t kHostWakes = 1;  // Event::detail of a wake-up
  static constexpr int kSerialBits = 44;          // of Message::serial; above is the part
  // Packet::arrived_by: the LinkId of a link in another part
  static constexpr std::uint32_t kElsewhere = 0x8000'0000;

  const Topology& topology_;
  const Router& router_;
  NetworkOptions options_;
  Engine& engine_;
  std::uint32_t lane_count_;   // levels · channel classes
  std::uint32_t lane_stride_;  // from link to link: see build_transmitters
  std::uint32_t channels_;
  std::uint32_t reserve_;                      // bytes of each lane behind a link
  std::array<LaneFacts, 64> facts_{};          // by lane
  std::array<PicoDuration, 3> latencies_{};    // by CableKind: of packets and of credits
  std::array<std::int32_t, 16> allowances_{};  // by level: bytes of a turn
  std::vector<Priority> priorities_;           // the highest first

  std::vector<std::uint32_t> numbers_;      // by vertex: its number among those here, or kNone
  std::vector<std::uint32_t> first_links_;  // by vertex: the number of its first link, or kNone
  HugeVector<Transmitter> transmitters_;    // by number
  HugeVector<Lane> lanes_;                  // by number of the link, level and class
  /// By link, where levels have several classes: four bits for each level, the class that sent
  /// last.
  std::vector<std::uint64_t> class_turns_;
  QueueBlocks queues_;
  std::vector<Rng> rngs_;                 // by the number of the vertex
  HugeVector<Adapter> adapters_;          // by the number of the host and level
  std::vector<PicoInstant> next_starts_;  // by the number of the host: the injection gap
  Pool<Packet> packets_;
  Pool<Message> messages_;
  Pool<CreditReturn> returns_;
  /// By number of the link and level: how often Lane::packets began again at 0.
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint64_t> packets_overflown_;
  std::vector<NetworkUser*> users_;
  std::uint64_t hops_ = 0;
  std::uint64_t delivered_ = 0;
  struct Loss {
    std::uint32_t parts_per_million = 0;
    Rng rng;
  };
  std::map<LinkId, Loss> losses_;  // of links here that were ever declared lossy
  Rng loss_rng_;
  std::uint64_t lost_ = 0;
  NetworkObserver* observer_ = nullptr;
  bool looks_closer_ = false;  // at transmissions: an observer is told, or links lose packets
  bool rates_differ_ = false;  // or did: packets may come in by a slower link than they leave by
  /// By the number of the link back: packets of a switch's input that wait for their ends, and
  /// those behind them. Empty while none ever has.
  std::vector<InputQueue> resting_;
  std::set<LinkId> down_;
  Border* border_;
  std::uint64_t next_serial_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> foreign_;  // of several packets, by serial
};

}  // namespace weft::sim
