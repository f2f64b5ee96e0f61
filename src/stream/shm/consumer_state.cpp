// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/consumer_state.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::shm {
namespace {

using std::chrono::nanoseconds;
constexpr nanoseconds look_interval = std::chrono::seconds(1);
constexpr nanoseconds first_look_interval = std::chrono::milliseconds(20);
constexpr std::size_t max_rings = 65536;  // mapped of one compute node; more is nonsense

// Milliseconds for epoll_wait, rounded up, so that it does not return early.
int to_wait(nanoseconds left) {
  constexpr std::int64_t longest = 1'000'000'000;  // eleven days
  const std::int64_t ms = (std::max<std::int64_t>(left.count(), 0) + 999'999) / 1'000'000;
  return static_cast<int>(std::min(ms, longest));
}

std::chrono::steady_clock::time_point after(std::chrono::steady_clock::time_point now,
                                            Duration span) {
  constexpr std::int64_t for_ever = std::int64_t{1} << 61;  // nanoseconds: 73 years
  return now + nanoseconds(std::clamp<std::int64_t>(span.to_nanoseconds(), 0, for_ever));
}

}  // namespace

Result<std::shared_ptr<ConsumerState>> ConsumerState::attach(std::string_view name,
                                                             std::string_view group,
                                                             const ConsumerOptions& options) {
  if (auto r = check_name(name); !r) return std::move(r).error();
  if (group.empty() || group.size() > max_group_name) {
    return invalid("group '{}': the name of a group has 1 to {} characters", group, max_group_name);
  }
  if (options.depth == 0 || options.depth > max_depth) {
    return invalid("depth {}: a consumer is given 1 to {} timeslices at once", options.depth,
                   max_depth);
  }
  if (options.compute && *options.compute >= max_computes) {
    return invalid("compute {}: there are at most {} compute nodes of one name", *options.compute,
                   max_computes);
  }
  std::shared_ptr<ConsumerState> state(new ConsumerState(name, group, options));
  state->epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (state->epoll_.get() < 0) {
    return make_error(ErrorCode::exhausted, "shm:{}: cannot wait for timeslices: {}", name,
                      std::strerror(errno));
  }
  if (auto r = state->wait_for_first(); !r) return std::move(r).error();
  return state;
}

// A compute node that is just starting has no name to wait on: look for it again and again.
Result<void> ConsumerState::wait_for_first() {
  const auto deadline = after(Clock::now(), options_.wait);
  for (;;) {
    const auto now = Clock::now();
    if (auto r = look_for_computes(now); !r) return r;
    if (!connections_.empty()) return {};
    if (now >= deadline) {
      return make_error(ErrorCode::timed_out,
                        "shm:{}: no compute node with this sink runs on this host; start one with "
                        "--sink shm:{}, or wait longer",
                        name_, name_);
    }
    look_again_ = now + first_look_interval;
    const auto until = std::min(deadline, look_again_);
    epoll_event event{};
    ::epoll_wait(epoll_.get(), &event, 1, to_wait(until - now));
  }
}

// Connects to compute nodes not connected to yet, when it is time to look again.
Result<void> ConsumerState::look_for_computes(Clock::time_point now) {
  if (now < look_again_) return {};
  look_again_ = now + look_interval;
  if (options_.compute) {
    const auto r = connections_.empty() ? connect_compute(*options_.compute) : Result<bool>(true);
    return r ? Result<void>() : Result<void>(r.error());
  }
  const std::uint32_t count = computes_ == 0 ? max_computes : computes_;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (connections_.contains(i)) continue;
    if (auto r = connect_compute(i); !r) return std::move(r).error();
  }
  return {};
}

// False when nobody listens there.
Result<bool> ConsumerState::connect_compute(std::uint32_t compute) {
  auto socket = connect_to({name_, compute});
  if (!socket && socket.error().code == ErrorCode::not_found) return false;
  if (!socket) return std::move(socket).error();
  auto c = std::make_shared<Connection>();
  c->socket = std::move(*socket);
  c->compute = compute;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = compute;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, c->socket.get(), &event) != 0) {
    return make_error(ErrorCode::exhausted, "shm:{}: cannot wait for timeslices: {}", name_,
                      std::strerror(errno));
  }
  connections_.emplace(compute, c);
  counts_.attached = static_cast<std::uint32_t>(connections_.size());
  send(*c, Hello{options_.policy, options_.depth, group_});
  return true;
}

Result<std::optional<SharedTimeslice>> ConsumerState::next(Duration timeout) {
  const auto deadline = after(Clock::now(), timeout);
  while (!connections_.empty()) {
    const auto now = Clock::now();
    if (auto r = look_for_computes(now); !r) return std::move(r).error();
    epoll_event event{};
    const auto until = std::min(deadline, look_again_);
    const int n = ::epoll_wait(epoll_.get(), &event, 1, to_wait(until - now));
    if (n < 0) return std::optional<SharedTimeslice>();  // a signal: the caller may want to stop
    if (n == 0 && Clock::now() >= deadline) return std::optional<SharedTimeslice>();
    if (n == 0) continue;
    auto timeslice = read_one(event.data.u64);
    if (!timeslice || timeslice->has_value()) return timeslice;
  }
  if (counts_.lost > 0) {
    return make_error(ErrorCode::unavailable,
                      "shm:{}: {} compute nodes went away before the end of their stream", name_,
                      counts_.lost);
  }
  return std::optional<SharedTimeslice>();
}

bool ConsumerState::ended() const {
  return connections_.empty();
}

ConsumerCounts ConsumerState::counts() const {
  ConsumerCounts counts = counts_;
  for (const auto& [compute, missed] : missed_) counts.missed += missed;
  return counts;
}

// One message of the compute node `tag`.
Result<std::optional<SharedTimeslice>> ConsumerState::read_one(std::uint64_t tag) {
  const auto found = connections_.find(static_cast<std::uint32_t>(tag));
  if (found == connections_.end()) return std::optional<SharedTimeslice>();
  const std::shared_ptr<Connection> c = found->second;
  std::array<std::byte, max_message> buffer;
  Received r = receive_message(c->socket.get(), buffer, true);
  if (r.state == Transfer::would_block) return std::optional<SharedTimeslice>();
  if (r.state == Transfer::closed) {
    close(*c, false);
    return std::optional<SharedTimeslice>();
  }
  const auto message =
      r.size <= buffer.size() ? decode_from_sink(std::span(buffer).first(r.size)) : std::nullopt;
  if (!message) return nonsense(*c, "a message that does not decode");
  return handle(c, *message, std::move(r.attached));
}

Result<std::optional<SharedTimeslice>> ConsumerState::handle(const std::shared_ptr<Connection>& c,
                                                             const FromSink& message,
                                                             Descriptor attached) {
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    const Error error{ErrorCode::invalid_argument,
                      fmt::format("shm:{}: {}", name_, refusal->reason)};
    close(*c, true);
    return error;
  }
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    if (c->welcomed || attached.get() < 0 || welcome->compute != c->compute) {
      return nonsense(*c, "an unexpected welcome");
    }
    c->welcomed = true;
    computes_ = std::max(computes_, welcome->computes);
    c->files.emplace(table_file, std::move(attached));
    return std::optional<SharedTimeslice>();
  }
  if (!c->welcomed) return nonsense(*c, "something else than a welcome");
  if (const auto* file = std::get_if<FileNotice>(&message)) {
    if (attached.get() < 0 || !c->files.emplace(file->number, std::move(attached)).second) {
      return nonsense(*c, "a memory file that is none, or twice");
    }
    return std::optional<SharedTimeslice>();
  }
  if (const auto* offer = std::get_if<Offer>(&message)) return take(c, *offer);
  close(*c, true);  // the end
  return std::optional<SharedTimeslice>();
}

Result<std::optional<SharedTimeslice>> ConsumerState::take(const std::shared_ptr<Connection>& c,
                                                           const Offer& offer) {
  const auto table = map(*c, offer.table, 0);
  const auto header = table ? read_header(*table) : std::nullopt;
  if (!header) return nonsense(*c, "a timeslice without a table");
  Record* record = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (free_records_.empty()) {
      records_.push_back(std::make_unique<Record>());
      free_records_.push_back(records_.back().get());
    }
    record = free_records_.back();
    free_records_.pop_back();
  }
  record->connection = c;
  record->delivery = offer.delivery;
  record->compute = c->compute;
  SharedTimeslice timeslice(shared_from_this(), record);
  if (!fill(*record, *c, *table, *header, offer.repeated)) {
    return nonsense(*c, "a component outside of its memory");
  }
  ++counts_.timeslices;
  if (offer.repeated) ++counts_.repeated;
  missed_[c->compute] = offer.missed;
  return std::optional<SharedTimeslice>(std::move(timeslice));
}

bool ConsumerState::fill(Record& record, Connection& c, std::span<const std::byte> table,
                         const TimesliceHeader& header, bool repeated) {
  record.components.resize(header.components);
  for (std::uint32_t i = 0; i < header.components; ++i) {
    const ComponentEntry entry = read_entry(table, i);
    ComponentView& component = record.components[i];
    component = {entry.flags, entry.num_microslices, {}};
    if (entry.file == no_file) continue;
    const auto data = map(c, entry.piece(), i + 1);
    if (!data) return false;
    component.data = *data;
  }
  TimesliceView& view = record.view;
  view.index = TimesliceIndex(header.index);
  view.start_time = header.start_time;
  view.duration = header.duration;
  view.flags = header.flags | (repeated ? bit(TimesliceFlag::repeated) : 0);
  view.num_core_microslices = header.num_core_microslices;
  view.components = record.components;
  return true;
}

// The bytes of a piece, mapped when its ring is new. `hint` numbers the pieces of a timeslice: the
// same one was most likely in the same ring the last time.
std::optional<std::span<const std::byte>> ConsumerState::map(Connection& c, const Piece& piece,
                                                             std::size_t hint) {
  if (!plausible(piece)) return std::nullopt;
  const Connection::RingKey key{piece.file, piece.ring_offset, piece.ring_size};
  if (hint >= c.last_rings.size()) c.last_rings.resize(hint + 1);
  auto& last = c.last_rings[hint];
  if (last.second == nullptr || last.first != key) {
    auto ring = c.rings.find(key);
    if (ring == c.rings.end()) {
      const auto file = c.files.find(piece.file);
      if (file == c.files.end() || c.rings.size() >= max_rings) return std::nullopt;
      auto attached =
          AttachedRing::attach(file->second.get(), ByteCount(piece.ring_size), piece.ring_offset);
      if (!attached) return std::nullopt;
      ring = c.rings.emplace(key, std::move(*attached)).first;
    }
    last = {key, &ring->second};
  }
  // Not through `at`: the position may lie in the second mapping, which is as good.
  const std::byte* const base = last.second->memory().data();
  return std::span(base + piece.position, static_cast<std::size_t>(piece.size));
}

void ConsumerState::release(Record& record) {
  const std::shared_ptr<Connection> c = std::move(record.connection);
  const std::lock_guard lock(mutex_);
  if (c->open) send(*c, Release{record.delivery});
  free_records_.push_back(&record);
}

void ConsumerState::leave() {
  while (!connections_.empty()) {
    const std::shared_ptr<Connection> c = connections_.begin()->second;
    send(*c, Leave{});
    close(*c, true);
  }
}

// A message that does not fit the socket is lost: that takes a compute node that has not read for
// hundreds of messages, while at most `depth` releases can be on their way.
void ConsumerState::send(Connection& c, const FromConsumer& message) {
  std::array<std::byte, max_message> buffer;
  const std::size_t size = encode(message, buffer);
  send_message(c.socket.get(), std::span(buffer).first(size));
}

void ConsumerState::close(Connection& c, bool in_the_end) {
  if (!in_the_end) ++counts_.lost;
  {
    const std::lock_guard lock(mutex_);
    c.open = false;
    c.socket = Descriptor();  // also takes it out of epoll
  }
  connections_.erase(c.compute);
  counts_.attached = static_cast<std::uint32_t>(connections_.size());
}

Error ConsumerState::nonsense(Connection& c, std::string_view what) {
  const std::uint32_t compute = c.compute;
  close(c, false);
  return corrupt("shm:{}: compute node {} sent {}; is it another version?", name_, compute, what);
}

}  // namespace weft::shm
