// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/message_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/object/collectives.hpp"

namespace weft::mpi {
namespace {

// Tags of the window's own context.
constexpr std::int32_t ask_tag = 0;
constexpr std::int32_t answer_tag = 1;  // of one target in the order in which it was asked
constexpr std::int32_t posted_tag = 2;
constexpr std::int32_t completed_tag = 3;

enum class Kind : std::uint8_t {
  put,
  get,
  accumulate,
  get_accumulate,
  compare_and_swap,
  lock,
  unlock,
  flush
};

Buffer plain(std::vector<std::byte>& memory) {
  return {memory.data(), memory.size(), &plain_bytes()};
}

std::vector<std::byte> packed(const Buffer& elements) {
  std::vector<std::byte> bytes(elements.bytes());
  elements.type->pack(elements.address, elements.count, bytes.data());
  return bytes;
}

}  // namespace

/// Begins each message to a target. The runs of an element follow, unless elements have no gaps,
/// and then the origin's elements one behind the other.
struct MessageWindow::Ask {
  Kind kind = Kind::flush;
  Change change = Change::replace;
  Fold fold = Fold::sum;
  Basic basic = Basic::none;
  std::uint8_t is_exclusive = 0;
  std::uint32_t runs = 0;
  std::int64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;

  /// The message with it.
  std::vector<std::byte> about(const Target& target, std::span<const std::byte> more) const;
  bool has_elements_as_answer() const {
    return kind == Kind::get || kind == Kind::get_accumulate || kind == Kind::compare_and_swap;
  }
};

std::vector<std::byte> MessageWindow::Ask::about(const Target& target,
                                                 std::span<const std::byte> more) const {
  Ask head = *this;
  std::span<const Run> element;
  if (target.type != nullptr) {
    head.basic = target.type->basic();
    head.offset = target.offset;
    head.count = target.count;
    head.element_bytes = target.type->size();
    head.extent = target.type->extent();
    if (!target.type->is_contiguous()) element = target.type->runs();
  }
  head.runs = static_cast<std::uint32_t>(element.size());
  std::vector<std::byte> bytes(sizeof head + element.size_bytes() + more.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!element.empty()) {
    std::memcpy(bytes.data() + sizeof head, element.data(), element.size_bytes());
  }
  if (!more.empty()) {
    std::memcpy(bytes.data() + sizeof head + element.size_bytes(), more.data(), more.size());
  }
  return bytes;
}

struct MessageWindow::Incoming {
  Request request;
  std::vector<std::byte> memory;
};

struct MessageWindow::Outgoing {
  Request request;
  std::vector<std::byte> memory;
};

/// The window may be served until it is closed.
class MessageWindow::Service final : public Task {
 public:
  explicit Service(MessageWindow& window) : window_(window) {}
  bool advance() override { return window_.serve(); }

 private:
  MessageWindow& window_;
};

MessageWindow::MessageWindow(Transfer& transfer, const Group& group, std::byte* base)
    : transfer_(transfer),
      group_(group),
      base_(base),
      expected_(group.size()),
      is_asked_(group.size()),
      questions_(group.size()),
      answers_(group.size()),
      is_dirty_(group.size()),
      outgoing_(group.size()),
      held_(group.size()) {}

MessageWindow::~MessageWindow() = default;

void MessageWindow::open() {
  transfer_.start(std::make_unique<Service>(*this));
}

void MessageWindow::send(std::uint32_t to, std::int32_t tag, std::vector<std::byte> bytes) {
  if (transfer_.send_now(group_, to, tag, plain(bytes))) return;
  auto& all = outgoing_[to];
  for (; !all.empty() && all.front()->request.done; all.pop_front()) ++looks_;
  all.push_back(std::make_unique<Outgoing>());
  Outgoing& message = *all[all.size() - 1];
  message.memory = std::move(bytes);
  transfer_.send(group_, to, tag, plain(message.memory), false, message.request);
}

void MessageWindow::ask(const Ask& ask, const Target& target, std::span<const std::byte> more) {
  is_dirty_[target.rank] = true;
  send(target.rank, ask_tag, ask.about(target, more));
}

/// An access that has no answer.
void MessageWindow::change(const Ask& ask, const Target& target, const Buffer& with) {
  const std::vector<std::byte> values = packed(with);
  if (target.rank == group_.rank) {
    is_dirty_[target.rank] = true;
    return void(carry_out(ask.about(target, values)));
  }
  this->ask(ask, target, values);
}

/// An access whose answer has the elements before it.
void MessageWindow::fetch(const Ask& ask, const Target& target, std::span<const std::byte> more,
                          const Buffer& into, Request* request) {
  if (target.rank != group_.rank) {
    expect(target.rank, into, request);
    return this->ask(ask, target, more);
  }
  is_dirty_[target.rank] = true;
  const std::vector<std::byte> old = carry_out(ask.about(target, more));
  into.type->unpack(std::span(old).first(std::min<std::size_t>(old.size(), into.bytes())),
                    into.address);
  if (request != nullptr) request->done = true;
}

void MessageWindow::expect(std::uint32_t from, const Buffer& into, Request* request) {
  (void)has_answered(from);
  make_room(into);
  auto& all = expected_[from];
  ++questions_[from];
  all.emplace_back(std::make_unique<Request>(), request, into.bytes());
  coming_ += into.bytes();
  if (request != nullptr) ++requests_;
  if (!is_asked_[from]) asked_.push_back(from);
  is_asked_[from] = true;
  transfer_.receive(group_, from, answer_tag, into, *all[all.size() - 1].answer);
}

/// For a question and its answer. Targets would keep answers without a limit, and this process look
/// at all that it receives.
void MessageWindow::make_room(const Buffer& into) {
  const std::uint64_t bytes = into.bytes();
  if (coming_ + bytes > most_coming) {
    transfer_.until([&] {
      for (const std::uint32_t target : asked_) (void)has_answered(target);
      return coming_ == 0 || coming_ + bytes <= most_coming;
    });
  }
  // Else another thread would ask between this receive of an answer and its question.
  if (transfer_.lets_others_in()) transfer_.make_room();
}

/// All that it was asked. A long answer may come behind shorter ones to later questions, which wait
/// for it here.
bool MessageWindow::has_answered(std::uint32_t target) {
  auto& all = expected_[target];
  for (; !all.empty(); all.pop_front()) {
    ++looks_;
    if (!all.front().answer->done) return false;
    ++answers_[target];
    coming_ -= all.front().bytes;
    Request* const request = all.front().request;
    if (request == nullptr) continue;
    request->done = true;
    --requests_;
  }
  return true;
}

/// Finishes the caller's requests whose answers have arrived.
void MessageWindow::finish_requests() {
  if (requests_ == 0) return;
  std::erase_if(asked_, [&](std::uint32_t target) {
    const bool has_all = has_answered(target);
    if (has_all) is_asked_[target] = false;
    return has_all;
  });
}

void MessageWindow::put(const Target& target, const Buffer& from) {
  change({.kind = Kind::put}, target, from);
}

void MessageWindow::get(const Target& target, const Buffer& into, Request* request) {
  fetch({.kind = Kind::get, .change = Change::nothing}, target, {}, into, request);
}

void MessageWindow::accumulate(const Target& target, const Buffer& from, Change change, Fold fold) {
  this->change({.kind = Kind::accumulate, .change = change, .fold = fold}, target, from);
}

void MessageWindow::get_accumulate(const Target& target, const Buffer& from, const Buffer& into,
                                   Change change, Fold fold, Request* request) {
  const auto values = change != Change::nothing ? packed(from) : std::vector<std::byte>();
  fetch({.kind = Kind::get_accumulate, .change = change, .fold = fold}, target, values, into,
        request);
}

void MessageWindow::compare_and_swap(const Target& target, const void* wanted, const void* expected,
                                     const Buffer& into, Request* request) {
  const std::uint64_t size = target.type->size();
  std::vector<std::byte> both(2 * size);
  target.type->pack(wanted, 1, both.data());
  target.type->pack(expected, 1, both.data() + size);
  fetch({.kind = Kind::compare_and_swap}, target, both, into, request);
}

// Not for what other threads ask meanwhile, who may do so without an end.
void MessageWindow::await(std::uint32_t target) {
  const std::uint64_t last = questions_[target];
  transfer_.until([&] { return has_answered(target) || answers_[target] >= last; });
}

/// A question whose answer is empty.
void MessageWindow::signal(std::uint32_t target, const Ask& ask) {
  expect(target, {nullptr, 0, &plain_bytes()}, nullptr);
  this->ask(ask, {.rank = target}, {});
}

/// The same, whose answer tells that all accesses so far have taken place.
void MessageWindow::signal_last(std::uint32_t target, const Ask& ask) {
  signal(target, ask);
  is_dirty_[target] = false;
}

/// A flush after accesses to the process's own part, which have taken place, asks as well: a
/// process that polls its part until another process has changed it serves that process here.
/// Where nothing was accessed since the last flush, another thread may wait for that one's answer.
void MessageWindow::flush(std::uint32_t target) {
  if (is_dirty_[target]) signal_last(target, {.kind = Kind::flush});
  await(target);
}

bool MessageWindow::expects() const {
  return std::any_of(expected_.begin(), expected_.end(),
                     [](const auto& requests) { return !requests.empty(); });
}

void MessageWindow::flush_all() {
  for (std::uint32_t i = 0; i < group_.size(); ++i) {
    if (is_dirty_[i]) signal_last(i, {.kind = Kind::flush});
  }
  for (std::uint32_t i = 0; i < group_.size(); ++i) await(i);
}

void MessageWindow::flush_local(std::uint32_t target) {
  if (target == group_.rank) return flush(target);
  await(target);
}

void MessageWindow::fence() {
  flush_all();
  run_collective(transfer_, group_, {.operation = collective::Operation::barrier}, nullptr,
                 nullptr);
}

void MessageWindow::lock(std::uint32_t target, bool exclusive) {
  signal(target, {.kind = Kind::lock, .is_exclusive = static_cast<std::uint8_t>(exclusive)});
  await(target);
}

void MessageWindow::lock_all() {
  for (std::uint32_t i = 0; i < group_.size(); ++i) signal(i, {.kind = Kind::lock});
  for (std::uint32_t i = 0; i < group_.size(); ++i) await(i);
}

// The target answers in the order of the questions: all earlier accesses have taken place.
void MessageWindow::unlock(std::uint32_t target) {
  signal_last(target, {.kind = Kind::unlock});
  await(target);
}

void MessageWindow::unlock_all() {
  for (std::uint32_t i = 0; i < group_.size(); ++i) signal_last(i, {.kind = Kind::unlock});
  for (std::uint32_t i = 0; i < group_.size(); ++i) await(i);
}

void MessageWindow::post(const std::vector<std::uint32_t>& origins) {
  completions_.clear();
  for (const std::uint32_t origin : origins) {
    Request& request = completions_.emplace_back();
    transfer_.receive(group_, origin, completed_tag, {nullptr, 0, &plain_bytes()}, request);
    send(origin, posted_tag, {});
  }
}

void MessageWindow::start(const std::vector<std::uint32_t>& targets) {
  std::list<Request> posted;
  for (const std::uint32_t target : targets) {
    transfer_.receive(group_, target, posted_tag, {nullptr, 0, &plain_bytes()},
                      posted.emplace_back());
  }
  for (const Request& request : posted) {
    transfer_.until([&] { return request.done; });
  }
  started_ = targets;
}

void MessageWindow::complete() {
  for (const std::uint32_t target : started_) {
    flush(target);
    send(target, completed_tag, {});
  }
  started_.clear();
}

bool MessageWindow::is_completed() const {
  return std::all_of(completions_.begin(), completions_.end(),
                     [](const Request& request) { return request.done; });
}

void MessageWindow::wait() {
  transfer_.until([&] { return is_completed(); });
}

bool MessageWindow::serve() {
  finish_requests();
  while (!is_closed_ && !transfer_.failure()) {
    if (incoming_ == nullptr) {
      auto next = std::make_unique<Incoming>();
      if (!transfer_.extract(group_, match::any_source, ask_tag, next->request, next->memory)) {
        return false;
      }
      incoming_ = std::move(next);
    }
    if (!incoming_->request.done) return false;
    const auto served = std::move(incoming_);
    serve_one(served->request.status.source, served->memory);
  }
  return is_closed_;
}

void MessageWindow::serve_one(std::uint32_t origin, std::span<const std::byte> message) {
  Ask ask;
  if (message.size() < sizeof ask) return;
  std::memcpy(&ask, message.data(), sizeof ask);
  switch (ask.kind) {
    case Kind::flush:
      return send(origin, answer_tag, {});
    case Kind::lock:
      waiters_.push_back({origin, ask.is_exclusive != 0});
      return give_locks();
    case Kind::unlock:
      elders_ -= held_[origin] == Held::as_elder ? 1 : 0;
      held_[origin] = Held::no;
      --holders_;
      is_exclusive_ = false;
      send(origin, answer_tag, {});
      return give_locks();
    default: {
      auto old = carry_out(message);
      if (ask.has_elements_as_answer()) send(origin, answer_tag, std::move(old));
    }
  }
}

// In the order in which they were asked for, so that nobody waits for ever. But readers that have
// the lock may wait for one behind a writer, in a barrier say. As long as they have it, the writer
// loses little to readers that go first. When they have left, an era ends; a writer waits for a
// number of them. Readers that need each other for longer hang behind it: it is high until a writer
// has got the lock after so many, which shows that they do not.
void MessageWindow::give_locks() {
  while (!waiters_.empty() && !is_exclusive_) {
    auto next = waiters_.begin();
    if (next->exclusive && holders_ > 0) {
      const auto reader = std::ranges::find(waiters_, false, &Waiter::exclusive);
      if (reader == waiters_.end()) return;
      if (elders_ == 0 && !begin_era(*next)) return;
      next = reader;
    }
    const Waiter taken = *next;
    waiters_.erase(next);
    if (taken.exclusive) {
      most_eras_ = taken.eras == most_eras_ ? std::max(most_eras_ / 2, least_eras)
                                            : std::min(most_eras_ * 2, first_eras);
    }
    held_[taken.origin] = Held::since_then;
    ++holders_;
    is_exclusive_ = taken.exclusive;
    send(taken.origin, answer_tag, {});
  }
}

bool MessageWindow::begin_era(Waiter& writer) {
  if (writer.eras == most_eras_) return false;
  ++writer.eras;
  std::ranges::replace(held_, Held::since_then, Held::as_elder);
  elders_ = holders_;
  return true;
}

/// Returns the elements before the access, unless nobody asks for them.
std::vector<std::byte> MessageWindow::carry_out(std::span<const std::byte> question) {
  Ask ask;
  std::memcpy(&ask, question.data(), sizeof ask);
  std::span<const std::byte> rest = question.subspan(sizeof ask);
  std::vector<Run> runs(ask.runs);
  if (rest.size() < runs.size() * sizeof(Run)) return {};
  if (runs.empty()) {
    runs.push_back({0, ask.element_bytes});
  } else {
    std::memcpy(runs.data(), rest.data(), runs.size() * sizeof(Run));
    rest = rest.subspan(runs.size() * sizeof(Run));
  }
  const Datatype element = Datatype::of_runs(runs, ask.extent, ask.basic);
  std::byte* const at = base_ + ask.offset;
  std::vector<std::byte> old(ask.has_elements_as_answer() ? ask.count * element.size() : 0);
  if (ask.kind == Kind::compare_and_swap) {
    const std::size_t size = rest.size() / 2;
    element.pack(at, 1, old.data());
    if (std::memcmp(old.data(), rest.data() + size, size) == 0) {
      element.unpack(rest.first(size), at);
    }
  } else {
    change_elements(at, ask.count, element, rest, ask.change, ask.fold, old);
  }
  return old;
}

}  // namespace weft::mpi
