// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft::shm {
namespace {

constexpr std::uint64_t listener_tag = 0;
constexpr std::uint64_t stop_tag = 1;
constexpr std::uint64_t first_connection = 2;
constexpr std::int64_t longest_linger_s = 366 * 86'400;
constexpr int messages_per_turn = 64;  // of one connection before others get their turn
constexpr int accepts_per_turn = 16;

bool watch(int epoll, int operation, int descriptor, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll, operation, descriptor, &event) == 0;
}

}  // namespace

Server::Server(ServerOptions options, const SinkPlace& place, MirroredRing tables,
               std::size_t stride)
    : options_(std::move(options)),
      place_(place),
      address_{options_.name, place.compute},
      stride_(stride),
      tables_(std::move(tables)),
      board_(options_.held),
      slots_(options_.held),
      last_connection_(first_connection) {
  for (const GroupOption& g : options_.groups) board_.declare(g.name, g.policy, g.members);
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options, const SinkPlace& place) {
  if (auto r = check_name(options.name); !r) return std::move(r).error();
  if (place.computes > max_computes) {
    return invalid("shm:{}: {} compute nodes are more than the {} that can share one name",
                   options.name, place.computes, max_computes);
  }
  const std::size_t stride = (table_size(place.inputs) + 63) & ~std::size_t{63};
  auto tables = MirroredRing::create(ring_size_for(ByteCount(stride) * options.held), "weft-shm");
  if (!tables) return std::move(tables).error();
  std::unique_ptr<Server> server(new Server(std::move(options), place, std::move(*tables), stride));
  if (auto r = server->start(); !r) return std::move(r).error();
  return server;
}

Result<void> Server::start() {
  auto listener = listen_at(address_);
  if (!listener) return std::move(listener).error();
  listener_ = std::move(*listener);
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (epoll_.get() < 0 || stop_.get() < 0 ||
      !watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), listener_tag, EPOLLIN) ||
      !watch(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), stop_tag, EPOLLIN)) {
    return make_error(ErrorCode::exhausted,
                      "shm:{}: cannot wait for consumers: {}; raise the limit of open files",
                      options_.name, std::strerror(errno));
  }
  thread_ = std::thread([this] { serve(); });
  return {};
}

Server::~Server() {
  interrupt();
  finish();
}

void Server::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void Server::stop_waiting() {
  const std::lock_guard lock(mutex_);
  waits_ = false;
  changed_.notify_all();
}

ServerCounts Server::counts() const {
  const std::lock_guard lock(mutex_);
  ServerCounts counts = counts_;
  counts.board = board_.counts();
  return counts;
}

void Server::finish() {
  {
    std::unique_lock lock(mutex_);
    if (finished_) return;
    finished_ = true;
    const auto done = [this] {
      if (interrupted_ || nobody_can_release()) return true;
      for (const auto& [id, c] : connections_) {
        if (!c.unsent.empty()) return false;
      }
      return board_.slots_in_use() == 0;
    };
    const Duration linger = std::min(options_.linger, Duration::seconds(longest_linger_s));
    changed_.wait_for(lock, std::chrono::nanoseconds(linger.to_nanoseconds()), done);
  }
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    WEFT_CHECK(::write(stop_.get(), &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }
  std::vector<HeldTimeslice> released;
  {
    const std::lock_guard lock(mutex_);
    std::array<std::byte, max_message> buffer;
    const std::size_t size = encode(End{}, buffer);
    for (auto& [id, c] : connections_) {
      if (c.member) send_message(c.socket.get(), std::span(buffer).first(size));
    }
    connections_.clear();
    for (Slot& slot : slots_) released.push_back(std::move(slot.held));
    counts_.unreleased = board_.slots_in_use();
  }
  if (counts_.unreleased > 0) {
    spdlog::warn("shm:{}: the end came with {} timeslices not released by consumers", options_.name,
                 counts_.unreleased);
  }
  if (listener_.get() >= 0) {
    unlink_address(address_);
    listener_ = Descriptor();
  }
}

// ---- the service thread

void Server::serve() {
  Turn turn;
  std::array<epoll_event, 32> events;
  for (;;) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    WEFT_CHECK(n >= 0 || errno == EINTR, "epoll_wait: {}", std::strerror(errno));
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == stop_tag) return;
      {
        const std::lock_guard lock(mutex_);
        handle_event(event.data.u64, event.events, turn);
        carry_out(nullptr, turn);
      }
      turn.released.clear();
    }
  }
}

void Server::handle_event(std::uint64_t tag, std::uint32_t events, Turn& turn) {
  if (tag == listener_tag) return accept_all();
  const auto found = connections_.find(tag);
  if (found == connections_.end()) return;  // closed earlier in this batch of events
  if ((events & EPOLLOUT) != 0) {
    flush(tag, found->second);
    changed_.notify_all();
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  for (int i = 0; i < messages_per_turn; ++i) {
    if (!read_from(tag, turn)) return;
  }
}

// A bounded number: the listener stays readable, and consumers that are there have their turn.
void Server::accept_all() {
  for (int i = 0; i < accepts_per_turn; ++i) {
    if (spare_.get() < 0) spare_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
    Descriptor socket = accept_from(listener_.get());
    if (socket.get() < 0 && (errno == EMFILE || errno == ENFILE) && spare_.get() >= 0) {
      // No descriptor left, which also hides whether a consumer waits: turn it away with the spare
      // one, or it would be reported as waiting for ever.
      spare_ = Descriptor();
      if (accept_from(listener_.get()).get() < 0) return;
      continue;
    }
    if (socket.get() < 0) return;
    if (connections_.size() >= options_.consumers) {
      std::array<std::byte, max_message> buffer;
      const std::string reason = fmt::format(
          "there are {} consumers already; raise consumers= of the sink", connections_.size());
      const std::size_t size = encode(Refusal{reason}, buffer);
      send_message(socket.get(), std::span(buffer).first(size));
      continue;
    }
    const ConnectionId id = last_connection_++;
    if (!watch(epoll_.get(), EPOLL_CTL_ADD, socket.get(), id, EPOLLIN)) continue;
    connections_[id].socket = std::move(socket);
  }
}

// One message; false when there is none or the connection was closed.
bool Server::read_from(ConnectionId id, Turn& turn) {
  Connection& c = connections_.at(id);
  std::array<std::byte, max_message> buffer;
  const Received r = receive_message(c.socket.get(), buffer, false);
  if (r.state == Transfer::would_block) return false;
  if (r.state == Transfer::closed) {
    disconnect(id, false, turn);
    return false;
  }
  const auto message = r.size <= buffer.size()
                           ? decode_from_consumer(std::span(buffer).first(r.size))
                           : std::nullopt;
  if (message && handle(id, c, *message, turn)) return true;
  if (!message && counts_.nonsense++ == 0) {
    spdlog::warn("shm:{}: a consumer talks nonsense (another version?); such are turned away",
                 options_.name);
  }
  disconnect(id, message && std::holds_alternative<Leave>(*message), turn);
  return false;
}

// False when the connection is to be closed.
bool Server::handle(ConnectionId id, Connection& c, const FromConsumer& message, Turn& turn) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    return !c.member && welcome(id, c, *hello, turn);
  }
  const auto* release = std::get_if<Release>(&message);
  if (release == nullptr || !c.member || !board_.release(id, release->delivery, turn.out)) {
    return false;
  }
  if (const auto block = c.blocks.find(release->delivery); block != c.blocks.end()) {
    c.copies->free(block->second);
    c.blocks.erase(block);
  }
  return true;
}

bool Server::welcome(ConnectionId id, Connection& c, const Hello& hello, Turn& turn) {
  std::array<std::byte, max_message> buffer;
  const auto refuse = [&](const Error& error) {
    const std::size_t size = encode(Refusal{error.message}, buffer);
    send_message(c.socket.get(), std::span(buffer).first(size));
    return false;
  };
  if (hello.policy == GroupPolicy::skip) {
    auto copies = CopyRing::create(options_.copy, "weft-shm-copies");
    if (!copies) return refuse(copies.error());
    c.copies = std::make_unique<CopyRing>(std::move(*copies));
  }
  if (auto r = board_.join(id, hello.group, hello.policy, hello.depth, turn.out); !r) {
    return refuse(r.error());
  }
  c.member = true;
  const std::size_t size = encode(Welcome{place_.compute, place_.computes}, buffer);
  const auto first =
      send_message(c.socket.get(), std::span(buffer).first(size), tables_.descriptor());
  if (first != Transfer::done) return false;
  if (c.copies != nullptr) {
    const std::size_t notice = encode(FileNotice{private_file}, buffer);
    if (send_message(c.socket.get(), std::span(buffer).first(notice), c.copies->descriptor()) !=
        Transfer::done) {
      return false;
    }
  }
  spdlog::debug("shm:{}: a consumer joins group {}", options_.name, hello.group);
  changed_.notify_all();
  warn_of_orphans();
  return true;
}

void Server::disconnect(ConnectionId id, bool orderly, Turn& turn) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second.member) board_.leave(id, orderly, turn.out);
  connections_.erase(found);  // closing the socket takes it out of epoll
  changed_.notify_all();
  warn_of_orphans();
}

void Server::warn_of_orphans() {
  const std::string_view orphan = board_.orphaned_group();
  if (orphan == warned_of_) return;
  warned_of_ = orphan;
  if (orphan.empty()) return;
  spdlog::warn("shm:{}: group {} lost its last consumer; its timeslices wait for a new one",
               options_.name, orphan);
}

// ---- any thread, with the mutex

void Server::carry_out(const TimesliceView* timeslice, Turn& turn) {
  for (const Assignment& a : turn.out.copies) offer_copy(a, *timeslice);
  for (const Assignment& a : turn.out.assigned) {
    const auto c = connections_.find(a.member);
    if (c == connections_.end()) continue;
    Outgoing outgoing;
    outgoing.files = static_cast<std::uint32_t>(files_.size());
    outgoing.offer = {a.delivery, 0, a.repeated,
                      Piece{table_file, 0, tables_.size().value(), table_position(a.slot),
                            table_size(slots_[a.slot].components)}};
    c->second.unsent.push_back(outgoing);
    flush(a.member, c->second);
  }
  for (const SlotNumber s : turn.out.freed) {
    if (slots_[s].held) turn.released.push_back(std::move(slots_[s].held));
    if (slots_[s].copy) copies_->free(*slots_[s].copy);
    slots_[s].copy.reset();
    changed_.notify_all();
  }
  turn.out.clear();
}

void Server::offer_copy(const Assignment& a, const TimesliceView& timeslice) {
  Connection& c = connections_.at(a.member);
  const std::size_t components = timeslice.components.size();
  std::size_t size = table_size(components);
  for (const ComponentView& component : timeslice.components) size += component.data.size();
  const auto position = c.copies->take(size);
  if (!position) return board_.no_room_for_copy(a.member, a.delivery);
  const auto block = c.copies->at(*position, size);
  const std::uint64_t start = *position & (c.copies->capacity().value() - 1);
  write_header(block, header_of(timeslice));
  std::size_t at = table_size(components);
  for (std::size_t i = 0; i < components; ++i) {
    const ComponentView& from = timeslice.components[i];
    ComponentEntry entry;
    entry.flags = from.flags;
    entry.num_microslices = from.num_microslices;
    if (!from.data.empty()) {
      entry.file = private_file;
      entry.ring_size = c.copies->capacity().value();
      entry.position = start + at;
      entry.size = from.data.size();
      std::memcpy(block.data() + at, from.data.data(), from.data.size());
      at += from.data.size();
    }
    write_entry(block, i, entry);
  }
  ++counts_.copied_skip;
  c.blocks.emplace(a.delivery, *position);
  Outgoing outgoing;
  outgoing.offer = {
      a.delivery, board_.missed_by(a.member), false,
      Piece{private_file, 0, c.copies->capacity().value(), start, table_size(components)}};
  c.unsent.push_back(outgoing);
  flush(a.member, c);
}

// Sends waiting messages, as far as the socket takes them. A broken socket shows as end of file to
// the service thread, which then gives everything back.
void Server::flush(ConnectionId id, Connection& c) {
  Transfer state = Transfer::done;
  while (!c.unsent.empty() && state == Transfer::done) state = send_next(c);
  const bool wants_write = state == Transfer::would_block;
  if (wants_write == c.wants_write) return;
  c.wants_write = wants_write;
  watch(epoll_.get(), EPOLL_CTL_MOD, c.socket.get(), id,
        wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// The next memory file that the first waiting offer needs, or that offer.
Transfer Server::send_next(Connection& c) {
  std::array<std::byte, max_message> buffer;
  if (c.files_sent < c.unsent.front().files) {
    const std::size_t size = encode(FileNotice{first_shared_file + c.files_sent}, buffer);
    const Transfer state =
        send_message(c.socket.get(), std::span(buffer).first(size), files_[c.files_sent].get());
    if (state == Transfer::done) ++c.files_sent;
    return state;
  }
  const std::size_t size = encode(c.unsent.front().offer, buffer);
  const Transfer state = send_message(c.socket.get(), std::span(buffer).first(size));
  if (state == Transfer::done) c.unsent.pop_front();
  return state;
}

// The number of a memory file, which is kept open for consumers to come; no_file when there are
// too many.
std::uint32_t Server::shared_file(std::uint64_t file, int descriptor) {
  if (const auto known = file_numbers_.find(file); known != file_numbers_.end()) {
    return known->second;
  }
  if (files_.size() >= max_files - first_shared_file) return no_file;
  Descriptor kept(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (kept.get() < 0) return no_file;
  const auto number = first_shared_file + static_cast<std::uint32_t>(files_.size());
  files_.push_back(std::move(kept));
  file_numbers_.emplace(file, number);
  return number;
}

// ---- the publishing thread

bool Server::ready_to_publish() const {
  return board_.complete() && (!board_.holds() || board_.free_slot().has_value());
}

/// Nobody waits for consumers any more, and without one that comes no timeslice can be published.
bool Server::lacks_consumers() const {
  return !waits_ && (!board_.complete() || !board_.orphaned_group().empty());
}

/// No consumer is there that could release timeslices, and the job waits for none to come.
bool Server::nobody_can_release() const {
  return !waits_ && std::none_of(connections_.begin(), connections_.end(),
                                 [](const auto& c) { return c.second.member; });
}

/// Consumers that never come would hold the stream up for ever.
Result<void> Server::await_groups(std::unique_lock<std::mutex>& lock) {
  const Duration wait = std::min(options_.wait, Duration::seconds(longest_linger_s));
  const auto here = [this] { return interrupted_ || !waits_ || board_.complete(); };
  if (changed_.wait_for(lock, std::chrono::nanoseconds(wait.to_nanoseconds()), here)) return {};
  const auto awaited = board_.awaited();
  return invalid(
      "shm:{}: after {} group {} still lacks {} of the consumers that groups= names; start them, "
      "name fewer, or give them longer with wait=TIME",
      options_.name, to_text(options_.wait), awaited->first, awaited->second);
}

Result<void> Server::publish(const TimesliceView& timeslice, HeldTimeslice held) {
  {
    std::unique_lock lock(mutex_);
    WEFT_CHECK(!finished_, "publish after finish");
    if (auto here = await_groups(lock); !here) return here;
    changed_.wait(lock, [this] { return interrupted_ || ready_to_publish() || lacks_consumers(); });
    if (interrupted_) return Error{ErrorCode::cancelled, "shm: the run is being stopped"};
    if (!ready_to_publish()) {
      ++counts_.passed;
      return {};
    }
    const SlotNumber slot = board_.holds() ? *board_.free_slot() : 0;
    bool in_place = true;
    if (board_.holds()) {
      auto filled = fill(slot, timeslice, lock);
      if (!filled) return std::move(filled).error();
      in_place = *filled;
    }
    (in_place ? slots_[slot].held : publish_turn_.released.emplace_back()) = std::move(held);
    board_.publish(slot, publish_turn_.out);
    carry_out(&timeslice, publish_turn_);
  }
  publish_turn_.released.clear();
  return {};
}

// Writes the slot's table; true when some of the timeslice is read in place by consumers, false
// when all of it was copied.
Result<bool> Server::fill(SlotNumber slot, const TimesliceView& timeslice,
                          std::unique_lock<std::mutex>& lock) {
  const std::size_t components = timeslice.components.size();
  if (components > place_.inputs) {
    return invalid("shm:{}: timeslice {} has {} components, but there are {} inputs", options_.name,
                   timeslice.index.value(), components, place_.inputs);
  }
  const auto table = tables_.at(table_position(slot), table_size(components));
  write_header(table, header_of(timeslice));
  slots_[slot].components = components;
  bool in_place = false;
  std::size_t to_copy = 0;
  for (std::size_t i = 0; i < components; ++i) {
    const ComponentView& from = timeslice.components[i];
    ComponentEntry entry;
    entry.flags = from.flags;
    entry.num_microslices = from.num_microslices;
    entry.size = from.data.size();
    const auto place = from.data.empty() ? std::nullopt : find_shared_place(from.data);
    if (place) {
      entry.file = shared_file(place->file, place->descriptor);
      entry.ring_offset = place->ring_offset;
      entry.ring_size = place->ring_size.value();
      entry.position = place->position;
    }
    if (entry.file == no_file) to_copy += from.data.size();
    in_place = in_place || entry.file != no_file;
    write_entry(table, i, entry);
  }
  if (to_copy == 0) return true;
  const auto position = take_copy_room(to_copy, lock);
  if (!position) return position.error();
  slots_[slot].copy = *position;
  ++counts_.copied_unmapped;
  auto to = copies_->at(*position, to_copy);
  std::uint64_t at = *position & (copies_->capacity().value() - 1);
  for (std::size_t i = 0; i < components; ++i) {
    ComponentEntry entry = read_entry(table, i);
    if (entry.file != no_file || entry.size == 0) continue;
    std::memcpy(to.data(), timeslice.components[i].data.data(), entry.size);
    to = to.subspan(entry.size);
    entry.file = copies_file_;
    entry.ring_offset = 0;
    entry.ring_size = copies_->capacity().value();
    entry.position = at;
    at += entry.size;
    write_entry(table, i, entry);
  }
  return in_place;
}

Result<std::uint64_t> Server::take_copy_room(std::size_t size, std::unique_lock<std::mutex>& lock) {
  if (copies_ == nullptr) {
    auto ring = CopyRing::create(options_.copy, "weft-shm-copies");
    if (!ring) return std::move(ring).error();
    copies_ = std::make_unique<CopyRing>(std::move(*ring));
    copies_file_ = shared_file(next_memory_file(), copies_->descriptor());
    if (copies_file_ == no_file) {
      return make_error(ErrorCode::exhausted,
                        "shm:{}: no descriptor left; raise the limit of open files", options_.name);
    }
  }
  if (size > copies_->capacity().value()) {
    return make_error(
        ErrorCode::exhausted,
        "shm:{}: a timeslice of {} is larger than the buffer for copies; give copy={}",
        options_.name, to_text(ByteCount(size)), to_text(ByteCount(size)));
  }
  std::optional<std::uint64_t> position;
  changed_.wait(lock, [&] { return interrupted_ || (position = copies_->take(size)).has_value(); });
  if (!position) return Error{ErrorCode::cancelled, "shm: the run is being stopped"};
  return *position;
}

}  // namespace weft::shm
