// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace weft::mpi {
namespace {

/// Begins each message of the envelopes' flow. Both ends are the same version of weft, on machines
/// of one byte order: the message layer made sure of the former.
struct Header {
  std::int32_t tag = 0;
  std::uint8_t has_body = 0;     // it follows in the bodies' flow of its tag
  std::uint8_t wants_match = 0;  // the sender waits for a message of the matches' flow of its tag
  std::uint16_t reserved = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Header) == 16);

/// Of messages that travel in their envelope. Each peer of each communicator has a buffer of it.
constexpr std::size_t most_inline = 8 << 10;
/// Envelopes for which their receivers have no room yet: a sender of more waits, and takes the
/// messages that come to it meanwhile.
constexpr std::size_t most_slots = 1024;
/// Without a look at the fabric.
constexpr int most_takes_in_a_row = 16;

message::FlowKey flow(const Group& group, Purpose purpose, std::int32_t tag = 0) {
  return {.generation = group.generation_for(purpose),
          .tag = Tag(static_cast<std::uint32_t>(tag)),
          .type = purpose == Purpose::collectives ? message::MessageType::collective
                                                  : message::MessageType::point_to_point};
}

bool is_sound(const Header& header, std::size_t bytes) {
  const std::size_t room = bytes - sizeof header;
  return header.tag >= 0 && header.has_body <= 1 && header.wants_match <= 1 &&
         (header.has_body == 1 ? room == 0 : room == header.bytes);
}

}  // namespace

/// The memory for the next envelope of one sender.
struct Transfer::Lane {
  const Group* group = nullptr;
  std::uint32_t source = 0;
  message::FlowKey envelopes;
  std::vector<std::byte> memory;
};

/// A message on its way in its envelope.
struct Transfer::Slot {
  std::vector<std::byte> memory;
};

/// A message that no receive has taken, or that one takes just now.
struct Transfer::Unexpected {
  const Group* group = nullptr;
  std::uint32_t source = 0;
  Header header;
  std::span<const std::byte> content;
  std::vector<std::byte> kept;  // the content, if it waits
  std::list<Unexpected>::iterator self;
};

Transfer::Transfer(Messenger& messenger)
    : messenger_(messenger),
      inline_limit_(std::min(most_inline, messenger.machine().eager_limit()) - sizeof(Header)) {}

Transfer::~Transfer() = default;

void Transfer::open(const Group& group) {
  for (std::uint32_t source = 0; source < group.size(); ++source) {
    auto lane = std::make_unique<Lane>();
    lane->group = &group;
    lane->source = source;
    lane->envelopes = flow(group, Purpose::envelopes);
    lane->memory.resize(inline_limit_ + sizeof(Header));
    listen(*lane);
    lanes_.push_back(std::move(lane));
  }
}

void Transfer::listen(Lane& lane) {
  watch(messenger_.start_receive(lane.group->members[lane.source], lane.envelopes, lane.memory),
        {.lane = &lane});
}

void Transfer::watch(Operation operation, const Watched& what) {
  operations_.push_back(operation);
  watched_.push_back(what);
  if (what.request != nullptr) ++what.request->open;
}

// Content and header in one message, which is copied: it goes on its way by itself.
void Transfer::post_envelope(const Group& group, std::uint32_t to,
                             std::span<const std::byte> header, const Buffer* whole) {
  if (slots_.size() == most_slots) {
    until([&] { return !free_slots_.empty(); });
    if (failure_) return;
  }
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    free_slots_.push_back(slots_.back().get());
  }
  Slot& slot = *free_slots_.back();
  free_slots_.pop_back();
  slot.memory.resize(header.size() + (whole != nullptr ? whole->bytes() : 0));
  std::copy(header.begin(), header.end(), slot.memory.begin());
  if (whole != nullptr) {
    whole->type->pack(whole->address, whole->count, slot.memory.data() + header.size());
  }
  const Operation operation =
      messenger_.start_send(group.members[to], flow(group, Purpose::envelopes), slot.memory);
  if (!messenger_.is_ready(operation)) return watch(operation, {.slot = &slot});
  if (auto sent = messenger_.wait(operation); !sent) failure_ = sent.error();
  free_slots_.push_back(&slot);
}

void Transfer::send(const Group& group, std::uint32_t to, std::int32_t tag, const Buffer& buffer,
                    bool synchronous, Request& request) {
  request.group = &group;
  request.buffer = buffer;
  request.status = {.source = group.rank, .tag = tag, .bytes = buffer.bytes()};
  const bool has_body = buffer.bytes() > inline_limit_;
  const Header header{
      .tag = tag, .has_body = has_body, .wants_match = synchronous, .bytes = buffer.bytes()};
  post_envelope(group, to, std::as_bytes(std::span(&header, 1)), has_body ? nullptr : &buffer);
  if (has_body) {
    std::span<const std::byte> body;
    if (buffer.type->is_contiguous()) {
      body = {static_cast<const std::byte*>(buffer.address), buffer.bytes()};
    } else {
      request.packed.resize(buffer.bytes());
      buffer.type->pack(buffer.address, buffer.count, request.packed.data());
      body = request.packed;
    }
    watch(messenger_.start_send(group.members[to], flow(group, Purpose::bodies, tag), body),
          {.request = &request});
  }
  if (synchronous) {
    watch(messenger_.start_receive(group.members[to], flow(group, Purpose::matches, tag), {}),
          {.request = &request});
  }
  if (request.open == 0) request.done = true;
}

void Transfer::receive(const Group& group, std::uint32_t from, std::int32_t tag,
                       const Buffer& buffer, Request& request) {
  request.group = &group;
  request.buffer = buffer;
  request.is_receive = true;
  const match::Envelope pattern{group.generation.value(), from, tag};
  const auto posted = matcher_.post(pattern, reinterpret_cast<match::Token>(&request));
  request.waiting = posted.waiting;
  if (!posted.message) return;
  const auto* message = reinterpret_cast<const Unexpected*>(posted.message->token);
  deliver(request, *message);
  unexpected_.erase(message->self);
}

void Transfer::arrive(Lane& lane, std::size_t bytes) {
  Unexpected message{.group = lane.group, .source = lane.source};
  const std::span<const std::byte> all(lane.memory.data(), bytes);
  if (bytes >= sizeof(Header)) std::memcpy(&message.header, all.data(), sizeof(Header));
  if (bytes < sizeof(Header) || !is_sound(message.header, bytes)) {
    failure_ = Error{ErrorCode::corrupt,
                     fmt::format("rank {} sent {} bytes that are no message of MPI; use the same "
                                 "version of weft everywhere",
                                 lane.group->members[lane.source].value(), bytes)};
    return;
  }
  message.content = all.subspan(sizeof(Header));
  const match::Envelope envelope{lane.group->generation.value(), lane.source, message.header.tag};
  Unexpected& kept = unexpected_.emplace_back();
  kept.self = std::prev(unexpected_.end());
  const auto receive = matcher_.arrive(envelope, reinterpret_cast<match::Token>(&kept));
  if (receive) {
    unexpected_.pop_back();
    return deliver(*reinterpret_cast<Request*>(*receive), message);
  }
  kept.group = message.group;
  kept.source = message.source;
  kept.header = message.header;
  kept.kept.assign(message.content.begin(), message.content.end());
  kept.content = kept.kept;
}

// At once when it is matched: messages of one sender and tag are matched in the order of their
// sending, so that their bodies are received, and their matches told, in the order of their flows.
void Transfer::deliver(Request& receive, const Unexpected& message) {
  const Group& group = *message.group;
  const Header& header = message.header;
  const std::uint64_t room = receive.buffer.bytes();
  receive.is_matched = true;
  receive.status = {.source = message.source,
                    .tag = header.tag,
                    .bytes = std::min(header.bytes, room),
                    .is_truncated = header.bytes > room};
  const NodeId sender = group.members[message.source];
  if (header.wants_match == 1) {
    watch(messenger_.start_send(sender, flow(group, Purpose::matches, header.tag), {}), {});
  }
  if (header.has_body == 0) {
    receive.buffer.type->unpack(message.content.first(receive.status.bytes),
                                receive.buffer.address);
    receive.done = true;
    return;
  }
  std::span<std::byte> into{static_cast<std::byte*>(receive.buffer.address), header.bytes};
  if (receive.status.is_truncated || !receive.buffer.type->is_contiguous()) {
    receive.packed.resize(header.bytes);
    into = receive.packed;
  }
  watch(messenger_.start_receive(sender, flow(group, Purpose::bodies, header.tag), into),
        {.request = &receive});
}

void Transfer::finish(Request& request) {
  if (--request.open > 0) return;
  if (request.is_receive && !request.packed.empty()) {
    request.buffer.type->unpack(
        std::span<const std::byte>(request.packed).first(request.status.bytes),
        request.buffer.address);
  }
  request.packed = {};
  request.done = true;
}

std::optional<Status> Transfer::waiting(const Group& group, std::uint32_t from,
                                        std::int32_t tag) const {
  const auto found = matcher_.probe({group.generation.value(), from, tag});
  if (!found) return std::nullopt;
  const auto& message = *reinterpret_cast<const Unexpected*>(found->token);
  return Status{.source = message.source, .tag = message.header.tag, .bytes = message.header.bytes};
}

std::optional<Status> Transfer::probe(const Group& group, std::uint32_t from, std::int32_t tag) {
  if (const auto found = waiting(group, from, tag)) return found;
  turn();
  return waiting(group, from, tag);
}

// The body is received at once, since bodies of a flow come in the order in which their messages
// were matched.
bool Transfer::extract(const Group& group, std::uint32_t from, std::int32_t tag, Request& request,
                       std::vector<std::byte>& memory) {
  static const Datatype bytes(Basic::bytes);
  const auto found = matcher_.extract({group.generation.value(), from, tag});
  if (!found) return false;
  const auto* message = reinterpret_cast<const Unexpected*>(found->token);
  memory.resize(message->header.bytes);
  request.group = &group;
  request.buffer = {memory.data(), memory.size(), &bytes};
  request.is_receive = true;
  deliver(request, *message);
  unexpected_.erase(message->self);
  return true;
}

void Transfer::cancel(Request& request) {
  if (!request.is_receive || request.is_matched || request.done) return;
  if (!matcher_.cancel(request.waiting)) return;
  request.status.is_cancelled = true;
  request.done = true;
}

void Transfer::send_plain(const Group& group, std::uint32_t to, std::int32_t tag,
                          std::span<const std::byte> bytes, bool& done) {
  const Operation operation =
      messenger_.start_send(group.members[to], flow(group, Purpose::collectives, tag), bytes);
  watch(operation, {.flag = &done});
}

void Transfer::receive_plain(const Group& group, std::uint32_t from, std::int32_t tag,
                             std::span<std::byte> into, bool& done) {
  const Operation operation =
      messenger_.start_receive(group.members[from], flow(group, Purpose::collectives, tag), into);
  watch(operation, {.flag = &done});
}

void Transfer::start(std::unique_ptr<Task> task) {
  tasks_.push_back(std::move(task));
  advance_tasks();
}

// A task may send, and a send may wait for room: the turns of that wait leave the tasks to the
// outer call.
void Transfer::advance_tasks() {
  advance_again_ = true;
  if (is_advancing_) return;
  is_advancing_ = true;
  while (std::exchange(advance_again_, false) && !failure_) {
    for (std::size_t i = 0; i < tasks_.size() && !failure_;) {
      if (tasks_[i]->advance()) {
        tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  is_advancing_ = false;
}

bool Transfer::take_what_is_done() {
  bool took = false;
  for (std::size_t i = 0; i < operations_.size() && !failure_;) {
    if (!messenger_.is_ready(operations_[i])) {
      ++i;
      continue;
    }
    const Operation operation = std::exchange(operations_[i], operations_.back());
    const Watched what = std::exchange(watched_[i], watched_.back());
    operations_.pop_back();
    watched_.pop_back();
    took = true;
    const auto bytes = messenger_.wait(operation);
    if (!bytes) {
      failure_ = bytes.error();
      break;
    }
    take(what, *bytes);
  }
  if (took && !tasks_.empty()) advance_tasks();
  // A process that talks to itself finds something done whenever it looks, and others wait.
  if (took && ++takes_in_a_row_ > most_takes_in_a_row) look_at_fabric();
  return took;
}

void Transfer::take(const Watched& what, std::size_t bytes) {
  if (what.flag != nullptr) *what.flag = true;
  if (what.slot != nullptr) free_slots_.push_back(what.slot);
  if (what.request != nullptr) finish(*what.request);
  if (what.lane == nullptr) return;
  arrive(*what.lane, bytes);
  if (!failure_) listen(*what.lane);
}

void Transfer::wait_for_something() {
  if (failure_) return;
  takes_in_a_row_ = 0;
  if (pause_ != nullptr) {
    look_at_fabric();
    if (take_what_is_done()) {
      fruitless_turns_ = 0;
      return;
    }
    return pause_(++fruitless_turns_);
  }
  if (auto good = messenger_.wait_any(operations_); !good) failure_ = good.error();
}

void Transfer::turn() {
  if (failure_ || take_what_is_done()) return;
  look_at_fabric();
  if (!failure_) take_what_is_done();
}

void Transfer::look_at_fabric() {
  takes_in_a_row_ = 0;
  if (auto good = messenger_.turn_once(); !good) failure_ = good.error();
}

void Transfer::flush() {
  until([&] { return free_slots_.size() == slots_.size(); });
}

}  // namespace weft::mpi
