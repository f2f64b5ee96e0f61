// SPDX-License-Identifier: Apache-2.0
#include "program/recorded_process.hpp"

#include <utility>

#include "base/system_error.hpp"

namespace weft {

using trace::Call;
using trace::Record;

namespace {

/// Looks that are so close to each other that the program did nothing in between.
constexpr std::uint64_t looks_apart_ns = 1000;
/// The time of the first record, so that a clock which is set back has room.
constexpr std::uint64_t clock_begins_ns = 1'000'000'000;
/// In the flow between rank 0 and each other.
constexpr Tag clock_tag{0xfffffffe};

std::int32_t tag_of(Tag tag) {
  return static_cast<std::int32_t>(tag.value());
}

}  // namespace

/// Forwards, and notes. Communicators that the program makes of others are recorded likewise.
class RecordedCommunicator final : public Communicator {
 public:
  RecordedCommunicator(RecordedProcess& process, Communicator& inner,
                       std::vector<std::uint32_t> members)
      : process_(process),
        inner_(inner),
        members_(std::move(members)),
        number_(process.define(inner.generation(), members_)) {}
  RecordedCommunicator(RecordedProcess& process, std::unique_ptr<Communicator> inner,
                       std::vector<std::uint32_t> members)
      : RecordedCommunicator(process, *inner, std::move(members)) {
    owned_ = std::move(inner);
  }

  Rank rank() const override { return inner_.rank(); }
  std::uint32_t size() const override { return inner_.size(); }
  Generation generation() const override { return inner_.generation(); }
  MessageHistory* history() override { return inner_.history(); }

  Operation start_send(Rank to, Tag tag, std::span<const std::byte> bytes) override {
    const std::uint64_t entered = process_.now_ns();
    const Operation operation = inner_.start_send(to, tag, bytes);
    process_.note_start(entered, operation,
                        {.peer = to.value(), .communicator = number_, .tag = tag, .sends = true},
                        bytes.size());
    return operation;
  }
  Operation start_receive(Rank from, Tag tag, std::span<std::byte> into) override {
    const std::uint64_t entered = process_.now_ns();
    const Operation operation = inner_.start_receive(from, tag, into);
    process_.note_start(entered, operation,
                        {.peer = from.value(), .communicator = number_, .tag = tag}, 0);
    return operation;
  }
  Result<std::size_t> wait(Operation operation) override {
    const std::uint64_t entered = process_.now_ns();
    auto done = inner_.wait(operation);
    process_.note_wait(entered, operation, done);
    return done;
  }
  bool is_done(Operation operation) override {
    const std::uint64_t entered = process_.now_ns();
    const bool done = inner_.is_done(operation);
    process_.note_look(entered);
    return done;
  }
  std::unique_ptr<Communicator> subgroup(std::span<const Rank> members) override {
    auto inner = inner_.subgroup(members);
    if (inner == nullptr) return nullptr;
    std::vector<std::uint32_t> of_world;
    for (const Rank member : members) of_world.push_back(members_[member.value()]);
    return std::make_unique<RecordedCommunicator>(process_, std::move(inner), std::move(of_world));
  }

 private:
  RecordedProcess& process_;
  std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  std::vector<std::uint32_t> members_;  // as ranks of the world
  std::uint32_t number_;
};

Result<std::unique_ptr<RecordedProcess>> RecordedProcess::begin(Process& process,
                                                                const std::string& directory) {
  std::unique_ptr<RecordedProcess> recorded(new RecordedProcess(process));
  Communicator& world = process.world();
  const std::uint32_t rank = world.rank().value();
  if (const int failed = recorded->recorder_.open(directory, rank, world.size()); failed != 0) {
    return system_error("write", trace::recording_path(directory, rank), failed);
  }
  recorded->measure_clocks();
  std::vector<std::uint32_t> members(world.size());
  for (std::uint32_t i = 0; i < world.size(); ++i) members[i] = i;
  recorded->world_ = std::make_unique<RecordedCommunicator>(*recorded, world, std::move(members));
  if (const MessageHistory* history = world.history(); history && history->is_later_life()) {
    recorded->recorder_.add({.time_ns = recorded->now_ns(),
                             .operation = static_cast<std::uint16_t>(trace::Incomplete::restarted),
                             .kind = Record::Kind::incomplete});
  }
  recorded->add(recorded->now_ns(), Call::weft_begin, Record::Kind::enter);
  recorded->add(recorded->now_ns(), Call::weft_begin, Record::Kind::leave);
  return recorded;
}

RecordedProcess::RecordedProcess(Process& process) : process_(process) {}

RecordedProcess::~RecordedProcess() = default;

void RecordedProcess::end() {
  end_looks();
  const std::uint64_t now = now_ns();
  add(now, Call::weft_end, Record::Kind::enter);
  add(now, Call::weft_end, Record::Kind::leave);
  measure_clocks();
  recorder_.finish(now_ns());
}

Communicator& RecordedProcess::world() {
  return *world_;
}

void RecordedProcess::mark_progress() {
  end_looks();
  recorder_.add({.time_ns = now_ns(), .kind = Record::Kind::progress});
  process_.mark_progress();
}

std::uint64_t RecordedProcess::now_ns() const {
  return clock_begins_ns + static_cast<std::uint64_t>(process_.elapsed().to_nanoseconds());
}

void RecordedProcess::add(std::uint64_t now_ns, Call call, Record::Kind kind) {
  recorder_.add({.time_ns = now_ns, .operation = static_cast<std::uint16_t>(call), .kind = kind});
}

/// Not in jobs that restart failed processes: a later life need not have the same flows.
void RecordedProcess::measure_clocks() {
  Communicator& world = process_.world();
  if (world.history() != nullptr) return;
  if (world.rank() != Rank(0)) return measure_clock_of(world.rank().value());
  recorder_.add({.time_ns = now_ns(), .kind = Record::Kind::clock});
  for (std::uint32_t other = 1; other < world.size(); ++other) measure_clock_of(other);
}

/// Measures the clock offset of a rank by several round trips, of which the shortest is the most
/// accurate.
void RecordedProcess::measure_clock_of(std::uint32_t rank) {
  constexpr int rounds = 8;
  Communicator& world = process_.world();
  const bool answers = world.rank() == Rank(0);
  const Rank peer(answers ? rank : 0);
  std::uint64_t best = ~std::uint64_t{0};
  Record clock{.kind = Record::Kind::clock};
  for (int i = 0; i < rounds; ++i) {
    std::uint64_t theirs = 0;
    const std::uint64_t asked = now_ns();
    const Operation receive =
        world.start_receive(peer, clock_tag, std::as_writable_bytes(std::span(&theirs, 1)));
    if (answers && !world.wait(receive)) return;
    std::uint64_t mine = now_ns();
    const Operation send = world.start_send(peer, clock_tag, std::as_bytes(std::span(&mine, 1)));
    if (!world.wait(send) || (!answers && !world.wait(receive))) return;
    const std::uint64_t answered = now_ns();
    if (answers || answered - asked >= best) continue;
    best = answered - asked;
    clock.time_ns = answered;
    clock.more = theirs - (asked + best / 2);
  }
  if (!answers) recorder_.add(clock);
}

std::uint32_t RecordedProcess::define(Generation generation,
                                      const std::vector<std::uint32_t>& members) {
  recorder_.define(now_ns(), communicators_, generation.value(), members);
  return communicators_++;
}

void RecordedProcess::note_start(std::uint64_t entered_ns, Operation operation, Open open,
                                 std::size_t bytes) {
  end_looks();
  const Call call = open.sends ? Call::weft_send : Call::weft_receive;
  open.request = ++requests_;
  add(entered_ns, call, Record::Kind::enter);
  recorder_.add({.time_ns = entered_ns,
                 .bytes = bytes,
                 .more = open.request,
                 .peer = open.peer,
                 .tag = tag_of(open.tag),
                 .communicator = open.communicator,
                 .kind = open.sends ? Record::Kind::send_started : Record::Kind::receive_started});
  open_.emplace(operation.number(), open);
  add(now_ns(), call, Record::Kind::leave);
}

void RecordedProcess::note_wait(std::uint64_t entered_ns, Operation operation,
                                const Result<std::size_t>& done) {
  end_looks();
  const auto found = open_.find(operation.number());
  if (found == open_.end()) return;
  const Open open = found->second;
  open_.erase(found);
  const std::uint64_t left_ns = now_ns();
  add(entered_ns, Call::weft_wait, Record::Kind::enter);
  Record record{.time_ns = left_ns, .more = open.request, .kind = Record::Kind::cancelled};
  if (done) {
    record.kind = open.sends ? Record::Kind::send_done : Record::Kind::receive_done;
    record.bytes = *done;
    record.peer = open.peer;
    record.tag = tag_of(open.tag);
    record.communicator = open.communicator;
  }
  recorder_.add(record);
  add(left_ns, Call::weft_wait, Record::Kind::leave);
}

void RecordedProcess::note_look(std::uint64_t entered_ns) {
  const bool goes_on = looks_until_ns_ != 0 && entered_ns <= looks_until_ns_ + looks_apart_ns;
  if (!goes_on) {
    end_looks();
    looks_from_ns_ = entered_ns;
  }
  looks_until_ns_ = now_ns();
}

void RecordedProcess::end_looks() {
  if (looks_until_ns_ == 0) return;
  add(looks_from_ns_, Call::weft_test, Record::Kind::enter);
  add(looks_until_ns_, Call::weft_test, Record::Kind::leave);
  looks_until_ns_ = 0;
}

}  // namespace weft
