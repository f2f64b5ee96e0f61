// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/transfer.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <iterator>

#include "base/copy.hpp"
#include "mpi/object/transfer_lane.hpp"

namespace weft::mpi {
namespace {

/// The most bytes of a message that travels in its envelope. Each peer of each communicator has a
/// buffer of this size.
constexpr std::size_t most_inline = 8 << 10;
/// Envelopes for which their receivers have no room yet: a sender of more waits, and takes the
/// messages that come to it meanwhile.
constexpr std::size_t most_slots = 1024;
/// Without a look at the fabric.
constexpr int most_takes_in_a_row = 16;
/// The largest place of a short message of a collective operation; then they begin again.
constexpr std::uint32_t most_places = 0x7fff'ffff;

message::FlowKey flow(const Group& group, Purpose purpose, std::int32_t tag = 0) {
  return {.generation = group.generation_for(purpose),
          .tag = Tag(static_cast<std::uint32_t>(tag)),
          .type = purpose == Purpose::collectives ? message::MessageType::collective
                                                  : message::MessageType::point_to_point};
}

}  // namespace

/// A message on its way in its envelope.
struct Transfer::Slot {
  std::vector<std::byte> memory;
};

/// A message that no receive has taken.
struct Transfer::Unexpected : Arrived {
  std::vector<std::byte> kept;  // the content
  std::list<Unexpected>::iterator self;
};

Transfer::Transfer(Messenger& messenger)
    : messenger_(messenger),
      inline_limit_(std::min(most_inline, messenger.machine().eager_limit()) - sizeof(Header)) {
  messenger_.machine().watch_early(this);
  messenger_.watch_wanted(this);
}

Transfer::~Transfer() {
  messenger_.machine().watch_early(nullptr);
  messenger_.watch_wanted(nullptr);
}

void Transfer::open(const Group& group, const Opening& opening) {
  const message::FlowKey envelopes = flow(group, Purpose::envelopes);
  latest_group_ = nullptr;
  lanes_[&group].by_tasks = opening.by_tasks;
  if (!opening.by_tasks) {
    collective_lanes_[group.generation_for(Purpose::collectives)] = &lanes_[&group];
  }
  auto& lanes = lanes_[&group].by_source;
  for (std::uint32_t source = 0; source < group.size(); ++source) {
    lanes.push_back(std::make_unique<Lane>(*this, group, source));
    messenger_.listen(group.members[source], envelopes, *lanes.back(), opening.is_world);
  }
}

/// Null: short messages cannot be among the envelopes.
Transfer::Lanes* Transfer::find_lanes(const Group& group) {
  const auto found = lanes_.find(&group);
  latest_lanes_ = found == lanes_.end() || found->second.by_tasks ? nullptr : &found->second;
  latest_group_ = &group;
  return latest_lanes_;
}

void Transfer::watch(Operation operation, const Watched& what) {
  operations_.push_back(operation);
  watched_.push_back(what);
  if (what.request != nullptr) ++what.request->open;
}

void Transfer::make_room() {
  if (slots_.size() == most_slots) until([&] { return !free_slots_.empty(); });
}

// Content and header in one message, which is copied: it goes on its way by itself.
void Transfer::post_envelope(const Group& group, std::uint32_t to, const Header& header,
                             const Buffer* whole) {
  make_room();
  if (failure_) return;
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<Slot>());
    free_slots_.push_back(slots_.back().get());
  }
  Slot& slot = *free_slots_.back();
  free_slots_.pop_back();
  slot.memory.resize(header.size() + (whole != nullptr ? whole->bytes() : 0));
  std::memcpy(slot.memory.data(), &header, header.size());
  if (whole != nullptr) {
    whole->type->pack(whole->address, whole->count, slot.memory.data() + header.size());
  }
  const Operation operation =
      messenger_.start_send(group.members[to], flow(group, Purpose::envelopes), slot.memory);
  // A process that talks to itself needs nothing from the fabric, and others wait.
  const bool is_own = group.members[to] == messenger_.machine().self();
  if (!is_own) ++queued_;
  if (is_own && ++takes_in_a_row_ > most_takes_in_a_row) look_at_fabric();
  if (!messenger_.is_ready(operation)) return watch(operation, {.slot = &slot});
  if (auto sent = messenger_.wait(operation); !sent) failure_ = sent.error();
  free_slots_.push_back(&slot);
}

inline bool Transfer::send_envelope_now(const Group& group, std::uint32_t to, const Header& header,
                                        std::span<const std::byte> bytes) {
  // As it lies in memory, but written in words, as it is read when it is copied.
  const std::array<std::uint64_t, 2> words{std::uint64_t{header.is_whole} << 56 |
                                               std::uint64_t{header.is_short} << 48 |
                                               static_cast<std::uint32_t>(header.tag),
                                           header.bytes};
  return messenger_.send_now(group.members[to], flow(group, Purpose::envelopes),
                             std::as_bytes(std::span(words)).first(header.size()), bytes);
}

bool Transfer::send_header_now(const Group& group, std::uint32_t to, const Header& header) {
  return send_envelope_now(group, to, header, {});
}

bool Transfer::send_now(const Group& group, std::uint32_t to, std::int32_t tag,
                        const Buffer& buffer) {
  const std::uint64_t bytes = buffer.bytes();
  if (bytes > inline_limit_ || !buffer.type->is_contiguous()) return false;
  return send_envelope_now(group, to, {.tag = tag, .is_whole = 1},
                           {static_cast<const std::byte*>(buffer.address), bytes});
}

bool Transfer::send_short(const Group& group, std::uint32_t to, std::span<const std::byte> bytes,
                          bool& done) {
  const Lanes& lanes = *lanes_of(group);
  const Header header{.tag = static_cast<std::int32_t>(lanes.by_source[to]->sent_plain),
                      .is_short = 1,
                      .bytes = lanes.call.with(bytes.size())};
  if (!send_envelope_now(group, to, header, bytes)) {
    const Buffer whole{const_cast<std::byte*>(bytes.data()), bytes.size(), &plain_bytes()};
    post_envelope(group, to, header, &whole);
    done = true;
    return false;
  }
  done = true;
  return true;
}

void Transfer::tell_call(const Lane& lane, CallName call) {
  if (!call.is_named()) return;
  // When there is no room, the next time will do.
  (void)send_header_now(lane.group(), lane.source(), {.is_short = 2, .bytes = call.with(0)});
}

void Transfer::receive_short(const Group& group, std::uint32_t from, std::span<std::byte> into,
                             bool& done) {
  const Lanes& lanes = *lanes_of(group);
  Lane& lane = *lanes.by_source[from];
  lane.wanted.push_back({into, &done, lane.wanted_plain, lanes.call});
  const bool is_next = !lane.early.empty() && lane.early.front().place == lane.wanted_plain;
  // The short message would have come before the plain one.
  if (!is_next && !lane.early_plain.empty()) {
    return refuse_count(lane.sender(), lane.early_plain.front(), into.size());
  }
  if (lane.early.empty()) return;
  const Lane::Early first = std::move(lane.early.front());
  lane.early.pop_front();
  take_short(lane, first.place, first.call, first.content);
}

void Transfer::take_short(Lane& lane, std::uint32_t place, CallName call,
                          std::span<const std::byte> content) {
  if (failure_) return;  // the receive may be gone
  if (lane.wanted.empty()) {
    // It arrived before the plain messages that it follows, or instead of the last one.
    const std::uint32_t missing = (place - lane.wanted_plain) & most_places;
    if (missing > most_places / 2) {
      return refuse_count(lane.sender(), content.size(), lane.last_wanted_plain);
    }
    lane.early.push_back({{content.begin(), content.end()}, place, call});
    return;
  }
  const Lane::Wanted wanted = lane.wanted.front();
  lane.wanted.pop_front();
  if (!wanted.call.fits(call)) return refuse_call(lane, call, wanted.call);
  if (content.size() != wanted.into.size() || place != wanted.place) {
    return refuse_count(lane.sender(), content.size(), wanted.into.size());
  }
  copy_bytes(wanted.into.data(), content.data(), content.size());
  *wanted.done = true;
}

void Transfer::send(const Group& group, std::uint32_t to, std::int32_t tag, const Buffer& buffer,
                    bool synchronous, Request& request) {
  request.group = &group;
  request.buffer = buffer;
  request.status = {.source = group.rank, .tag = tag, .bytes = buffer.bytes()};
  if (!synchronous && send_now(group, to, tag, buffer)) {
    request.done = true;
    return;
  }
  const bool has_body = buffer.bytes() > inline_limit_;
  const Header header{.tag = tag,
                      .has_body = has_body,
                      .wants_match = synchronous,
                      .is_whole = !has_body && !synchronous,
                      .bytes = buffer.bytes()};
  post_envelope(group, to, header, has_body ? nullptr : &buffer);
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

void Transfer::take_unexpected(match::Token token, Request& request) {
  const auto* message = reinterpret_cast<const Unexpected*>(token);
  deliver(request, *message);
  unexpected_.erase(message->self);
}

void Transfer::hold(const Group& group, const Buffer& buffer, Request& request) {
  request.group = &group;
  request.buffer = buffer;
  request.is_receive = true;
}

// Its content is here, and its sender does not wait.
inline void Transfer::match_whole(Request& receive, std::uint32_t source, std::int32_t tag,
                                  std::span<const std::byte> content) {
  const std::uint64_t room = receive.buffer.bytes();
  // Before anything that depends on it is sent.
  if (receive.is_recorded && log_ != nullptr) log_->match(receive.number, source);
  receive.is_matched = true;
  receive.status = {.source = source,
                    .tag = tag,
                    .bytes = std::min<std::uint64_t>(content.size(), room),
                    .is_truncated = content.size() > room};
  receive.buffer.type->unpack(content.first(receive.status.bytes), receive.buffer.address);
  receive.done = true;
}

// False: something is to be sent or received for it.
inline bool Transfer::fill(Request& receive, const Arrived& message) {
  const Header& header = message.header;
  match_whole(receive, message.source, header.tag, message.content);
  if (header.has_body == 1) {
    const std::uint64_t room = receive.buffer.bytes();
    receive.status.bytes = std::min(header.bytes, room);
    receive.status.is_truncated = header.bytes > room;
  }
  receive.done = header.has_body == 0 && header.wants_match == 0;
  return receive.done;
}

void Transfer::refuse(const Lane& lane, std::size_t bytes) {
  failure_ = Error{ErrorCode::corrupt,
                   fmt::format("rank {} sent {} bytes that are no message of MPI; use the same "
                               "version of weft everywhere",
                               lane.sender().value(), bytes)};
}

// Called by the message layer, which is not to be called meanwhile.
inline void Transfer::arrive(Lane& lane, std::span<const std::byte> all) {
  has_arrived_ = true;
  if (failure_) return;  // receives may be gone
  std::uint64_t word = 0;
  if (all.size() < sizeof word) return refuse(lane, all.size());
  std::memcpy(&word, all.data(), sizeof word);
  const auto content = all.subspan(whole_header);
  // As mostly: a message with a receive, all of it is here, and there is nothing to answer.
  const bool is_whole = word >> 31 == std::uint64_t{1} << (56 - 31);
  const auto tag = static_cast<std::int32_t>(word);
  const match::Envelope envelope{lane.group().generation.value(), lane.source(), tag};
  match::Token receive = 0;
  if (!is_whole || !matcher_.take_receive(envelope, receive)) return arrive_otherwise(lane, all);
  ++counts_.messages;
  counts_.bytes += content.size();
  match_whole(*reinterpret_cast<Request*>(receive), lane.source(), tag, content);
}

void Transfer::Lane::take(std::span<const std::byte> bytes) {
  transfer_.arrive(*this, bytes);
}

void Transfer::arrive_otherwise(Lane& lane, std::span<const std::byte> all) {
  // In words: `all` has one, at least.
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), all.data(), sizeof words[0]);
  auto header = std::bit_cast<Header>(words);
  if (all.size() < header.size()) return refuse(lane, all.size());
  if (header.is_whole != 1) {
    std::memcpy(&header.bytes, all.data() + sizeof words[0], sizeof header.bytes);
  }
  const auto content = all.subspan(header.size());
  if (header.is_whole == 1) header.bytes = content.size();
  const CallName call = CallName::of(header.bytes);
  if (header.is_short != 0 && !call.is_sound()) return refuse(lane, all.size());
  const bool waits = header.has_body != 0 || header.wants_match != 0 || header.is_short != 0;
  if (header.is_short > 4 || header.is_whole > 1 || (header.is_whole == 1 && waits) ||
      (header.is_short > 1 && !content.empty())) {
    return refuse(lane, all.size());
  }
  if (header.is_short == 2) return compare_calls(lane, call);
  if (header.is_short == 3) return compare_meeting(lane, header);
  if (header.is_short == 4) return;  // `has_arrived_` ends the wait
  if (header.is_short != 0) header.bytes = CallName::length_of(header.bytes);
  const bool is_sound = header.tag >= 0 && header.has_body <= 1 && header.wants_match <= 1 &&
                        content.size() == (header.has_body == 1 ? 0 : header.bytes);
  if (!is_sound) return refuse(lane, all.size());
  if (header.is_short != 0) {
    return take_short(lane, static_cast<std::uint32_t>(header.tag), call, content);
  }
  ++counts_.messages;
  counts_.bytes += header.bytes;
  const Arrived message{&lane.group(), lane.source(), header, content};
  const match::Envelope envelope{lane.group().generation.value(), lane.source(), header.tag};
  if (match::Token receive = 0; matcher_.take_receive(envelope, receive)) {
    auto& request = *reinterpret_cast<Request*>(receive);
    if (!fill(request, message)) {
      matched_.emplace_back(&request, message).second.content = {};
    }
    return;
  }
  Unexpected& kept = unexpected_.emplace_back();
  static_cast<Arrived&>(kept) = message;
  kept.self = std::prev(unexpected_.end());
  kept.kept.assign(content.begin(), content.end());
  kept.content = kept.kept;
  counts_.most_waiting = std::max<std::uint64_t>(counts_.most_waiting, unexpected_.size());
  matcher_.keep_message(envelope, reinterpret_cast<match::Token>(&kept));
}

// At once when it is matched: messages of one sender and tag are matched in the order of their
// sending, so that their bodies are received, and their matches told, in the order of their flows.
void Transfer::deliver(Request& receive, const Arrived& message) {
  if (!fill(receive, message)) receive_body(receive, message);
}

void Transfer::take_matched() {
  const auto matched = std::exchange(matched_, {});
  for (const auto& [request, message] : matched) receive_body(*request, message);
}

void Transfer::receive_body(Request& receive, const Arrived& message) {
  const Group& group = *message.group;
  const Header& header = message.header;
  const NodeId sender = group.members[message.source];
  if (header.wants_match == 1) {
    watch(messenger_.start_send(sender, flow(group, Purpose::matches, header.tag), {}), {});
  }
  if (header.has_body == 0) {
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

// The body is received at once, since bodies of a flow come in the order in which their messages
// were matched.
bool Transfer::extract(const Group& group, std::uint32_t from, std::int32_t tag, Request& request,
                       std::vector<std::byte>& memory) {
  if (!matched_.empty()) take_matched();
  const auto found = matcher_.extract({group.generation.value(), from, tag});
  if (!found) return false;
  const auto* message = reinterpret_cast<const Unexpected*>(found->token);
  memory.resize(message->header.bytes);
  request.group = &group;
  request.buffer = {memory.data(), memory.size(), &plain_bytes()};
  request.is_receive = true;
  deliver(request, *message);
  unexpected_.erase(message->self);
  return true;
}

void Transfer::cancel(Request& request) {
  if (!request.is_receive || request.is_matched || request.done) return;
  if (!matcher_.cancel(request.waiting)) return;
  request.status = {.is_cancelled = true};
  request.done = true;
}

void Transfer::send_plain(const Group& group, std::uint32_t to, std::int32_t tag,
                          std::span<const std::byte> bytes, bool& done) {
  const message::FlowKey key = flow(group, Purpose::collectives, tag);
  if (Lanes* const lanes = tag == 0 ? lanes_of(group) : nullptr) {
    Lane& lane = *lanes->by_source[to];
    lane.sent_plain = (lane.sent_plain + 1) & most_places;
  }
  if (messenger_.send_now(group.members[to], key, {}, bytes)) {
    done = true;
    return;
  }
  watch(messenger_.start_send(group.members[to], key, bytes), {.flag = &done});
  ++queued_;
}

void Transfer::receive_plain(const Group& group, std::uint32_t from, std::int32_t tag,
                             std::span<std::byte> into, bool& done) {
  if (Lanes* const lanes = tag == 0 ? lanes_of(group) : nullptr) {
    Lane& lane = *lanes->by_source[from];
    if (!lane.early.empty() && lane.early.front().place == lane.wanted_plain) {
      return refuse_count(lane.sender(), lane.early.front().content.size(), into.size());
    }
    if (!lane.early_plain.empty()) lane.early_plain.pop_front();
    lane.wanted_plain = (lane.wanted_plain + 1) & most_places;
    lane.last_wanted_plain = into.size();
  }
  const Operation operation =
      messenger_.start_receive(group.members[from], flow(group, Purpose::collectives, tag), into);
  watch(operation, {.flag = &done, .sender = group.members[from], .expected = into.size()});
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
  bool took = std::exchange(has_arrived_, false);
  if (!matched_.empty()) take_matched();
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
    const auto excess = what.flag != nullptr ? messenger_.excess(operation) : std::nullopt;
    const auto bytes = messenger_.wait(operation);
    if (excess) {
      refuse_count(what.sender, *excess, what.expected);
      break;
    }
    if (!bytes) {
      failure_ = bytes.error();
      break;
    }
    if (*bytes < what.expected) refuse_count(what.sender, *bytes, what.expected);
    take(what);
  }
  if (took && !tasks_.empty()) advance_tasks();
  // A process that talks to itself finds something done whenever it looks, and others wait.
  if (took && ++takes_in_a_row_ > most_takes_in_a_row) look_at_fabric();
  return took;
}

void Transfer::take(const Watched& what) {
  if (what.flag != nullptr) *what.flag = true;
  if (what.slot != nullptr) free_slots_.push_back(what.slot);
  if (what.request != nullptr) finish(*what.request);
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
    // A pause lasts 50 us by then.
    if (++fruitless_turns_ % 40'000 == 0) tell_calls();
    return pause_(fruitless_turns_);
  }
  const auto something = messenger_.wait_any(operations_, has_arrived_, long_wait);
  if (!something) {
    failure_ = something.error();
  } else if (!*something) {
    tell_calls();
  }
}

void Transfer::turn_and_pause() {
  if (failure_) return;
  look_at_fabric();
  if (failure_ || take_what_is_done()) {
    fruitless_turns_ = 0;
  } else if (pause_ != nullptr) {
    pause_(++fruitless_turns_);
  }
}

void Transfer::turn() {
  if (failure_ || take_what_is_done()) return;
  look_at_fabric();
  // Other threads would wait for the lock meanwhile.
  if (!failure_ && !take_what_is_done() && pause_ == nullptr) messenger_.asked_in_vain();
}

void Transfer::look_at_fabric() {
  takes_in_a_row_ = 0;
  queued_ = 0;
  if (auto good = messenger_.turn_once(); !good) failure_ = good.error();
}

void Transfer::flush() {
  until([&] { return free_slots_.size() == slots_.size(); });
}

}  // namespace weft::mpi
