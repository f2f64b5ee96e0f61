// SPDX-License-Identifier: Apache-2.0
#include "core/message/job_for_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/check.hpp"

namespace weft::message::testing {
namespace {

constexpr Generation world{77};

FlowKey key_of(std::uint32_t tag) {
  return {.generation = world, .tag = Tag(tag)};
}

/// Bytes that no other message has.
void fill(std::span<std::byte> bytes, std::uint32_t from, std::uint32_t to, std::uint32_t tag,
          Serial serial) {
  Rng rng((std::uint64_t{from} << 48) ^ (std::uint64_t{to} << 32) ^ (std::uint64_t{tag} << 20) ^
          serial);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(rng.next());
}

}  // namespace

struct Job::Process {
  /// All messages of one sender with the listened tag.
  struct Inlet final : Sink {
    std::vector<std::vector<std::byte>> came;
    void take(std::span<const std::byte> bytes) override {
      came.emplace_back(bytes.begin(), bytes.end());
    }
    void fail(Failure) override {}
  };
  struct Active {
    Step step;
    Serial serial = 0;
    Operation operation{};
    std::vector<std::byte> bytes;
    Region region;
  };
  std::uint32_t self = 0;
  std::uint32_t life = 0;
  bool paused = false;
  bool left = false;
  bool finished = false;
  std::size_t next = 0;  // step
  std::uint64_t hash = 0;
  std::uint64_t completed = 0;  // the hash of a life that got through
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<MessageMachine> machine;
  std::unique_ptr<TransmitQueue> out;
  std::deque<Active> active;
  std::vector<std::unique_ptr<Inlet>> inlets;  // by sender; none: receives take all messages
  std::vector<std::vector<Serial>> serials;    // by peer and tag: sent, received

  Serial next_serial(const Step& step) {
    const std::size_t at = (step.peer * 64 + step.tag) * 2 + (step.sends ? 1 : 0);
    if (serials.size() <= at) serials.resize(at + 1, {0});
    return serials[at][0]++;
  }
};

std::vector<std::vector<Step>> draw_programs(Rng rng, std::uint32_t processes,
                                             std::uint32_t messages, std::uint32_t largest,
                                             std::uint32_t disorder) {
  struct Placed {
    std::uint64_t at;
    Step step;
  };
  std::vector<std::vector<Placed>> placed(processes);
  for (std::uint32_t m = 0; m < messages; ++m) {
    const auto from = static_cast<std::uint32_t>(rng.below(processes));
    const auto to = static_cast<std::uint32_t>(rng.below(processes));
    const auto tag = static_cast<std::uint32_t>(rng.below(4));
    const auto size = static_cast<std::uint32_t>(
        rng.below(2) == 0 ? rng.below(64) : rng.below(std::uint64_t{largest} + 1));
    placed[from].push_back({std::uint64_t{m} * 2, {true, to, tag, size}});
    placed[to].push_back(
        {std::uint64_t{m} * 2 + 1 + 2 * rng.below(disorder + 1), {false, from, tag, size}});
  }
  std::vector<std::vector<Step>> programs(processes);
  // Disorder is between flows: within one, each receive is for the next message.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<std::uint32_t>>
      sizes;
  for (std::uint32_t p = 0; p < processes; ++p) {
    for (const Placed& one : placed[p]) {
      if (!one.step.sends) sizes[{one.step.peer, p, one.step.tag}].push_back(one.step.size);
    }
    std::stable_sort(placed[p].begin(), placed[p].end(),
                     [](const Placed& a, const Placed& b) { return a.at < b.at; });
    for (Placed& one : placed[p]) {
      if (!one.step.sends) {
        auto& of_flow = sizes[{one.step.peer, p, one.step.tag}];
        one.step.size = of_flow.front();
        of_flow.pop_front();
      }
      programs[p].push_back(one.step);
    }
  }
  return programs;
}

Job::Job(const JobOptions& options, std::vector<std::vector<Step>> programs)
    : options_(options),
      rng_(options.seed),
      hub_(
          {.max_write = options.max_write, .max_outstanding = 64, .is_lossless = options.lossless}),
      programs_(std::move(programs)) {
  for (std::uint32_t i = 0; i < options_.processes; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->self = i;
  }
  for (std::uint32_t i = 0; i < options_.processes; ++i) restart(i);
  if (!options_.listens) return;
  const auto most = static_cast<std::uint32_t>(machine(0).eager_limit());
  for (auto& program : programs_) {
    for (Step& step : program) {
      if (step.tag == listened_tag) step.size = std::min(step.size, most);
    }
  }
}

Job::~Job() = default;

void Job::restart(std::uint32_t i) {
  Process& p = *processes_[i];
  const std::uint32_t life = p.life + 1;
  const std::uint64_t completed = p.completed;
  p = Process{};
  p.completed = completed;
  p.self = i;
  p.life = life;
  auto fabric = hub_.open(NodeId(i), Incarnation(life));
  WEFT_CHECK(fabric.ok());
  p.fabric = std::move(fabric).value();
  MessageOptions o{.self = NodeId(i),
                   .nodes = options_.processes,
                   .incarnation = Incarnation(life),
                   .fabric = p.fabric->limits(),
                   .eager_limit = options_.eager_limit,
                   .inbox = options_.inbox,
                   .retain = options_.retain,
                   .give_up_after = options_.give_up_after};
  o.fabric.write_window = options_.write_window;
  p.machine = std::make_unique<MessageMachine>(o, now_, options_.outbox);
  p.out = std::make_unique<TransmitQueue>(16, 4096);
  for (std::uint32_t from = 0; options_.listens && from < options_.processes; ++from) {
    p.inlets.push_back(std::make_unique<Process::Inlet>());
    p.machine->listen(NodeId(from), key_of(listened_tag), *p.inlets.back());
  }
  for (auto& other : processes_) {
    if (other->self == i || !other->fabric) continue;
    const auto there =
        p.fabric->add_peer(NodeId(other->self), Incarnation(other->life), other->fabric->address());
    const auto back = other->fabric->add_peer(NodeId(i), Incarnation(life), p.fabric->address());
    WEFT_CHECK(there.ok() && back.ok());
  }
}

void Job::kill(std::uint32_t i) {
  Process& p = *processes_[i];
  p.fabric.reset();
  p.machine.reset();
  p.active.clear();
}

void Job::stop_keeping(std::uint32_t i, std::span<const std::uint32_t> newest_lives) {
  processes_[i]->machine->stop_keeping(
      [&](NodeId peer) { return Incarnation(newest_lives[peer.value()]); });
}

void Job::break_connection(std::uint32_t a, std::uint32_t b) {
  hub_.break_connection(NodeId(a), NodeId(b));
}
void Job::pause(std::uint32_t i, bool paused) {
  processes_[i]->paused = paused;
}
std::uint32_t Job::life(std::uint32_t i) const {
  return processes_[i]->life;
}
bool Job::alive(std::uint32_t i) const {
  return processes_[i]->machine != nullptr;
}
bool Job::decided() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& p) {
    return p->left || (p->machine != nullptr && p->machine->all_finished());
  });
}
MessageMachine& Job::machine(std::uint32_t i) {
  return *processes_[i]->machine;
}
std::uint64_t Job::hash(std::uint32_t i) const {
  return processes_[i]->completed;
}
std::size_t Job::started(std::uint32_t i) const {
  return processes_[i]->next;
}

void Job::step() {
  now_ = now_ + Duration::microseconds(10);
  std::vector<std::uint32_t> order(processes_.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
  for (const std::uint32_t i : order) {
    if (alive(i) && !processes_[i]->paused && !processes_[i]->left) turn(i);
  }
}

bool Job::run(int limit) {
  for (int i = 0; i < limit && trouble_.empty(); ++i) {
    step();
    if (std::all_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->left; })) {
      return true;
    }
  }
  return false;
}

void Job::turn(std::uint32_t i) {
  Process& p = *processes_[i];
  std::array<Completion, 8> completions;
  const std::size_t n = p.fabric->poll(now_, completions);
  for (std::size_t c = 0; c < n; ++c) p.machine->on_completion(now_, completions[c], *p.out);
  if (p.machine->refused_frames() > 0 && trouble_.empty()) {
    trouble_ = fmt::format("process {} refused a frame", i);
  }
  p.machine->on_deadline(now_);
  work(p);
  p.machine->pump(*p.out);
  p.out->posted(p.fabric->post(p.out->tx.view()));
  most_inbox_ = std::max(most_inbox_, p.machine->inbox_bytes().value());
  if (p.machine->all_finished()) p.machine->let_go();
  if (p.machine->may_leave() && p.out->tx.empty()) {
    p.left = true;
    p.fabric.reset();
  }
}

void Job::work(Process& p) {
  finish(p);
  const auto& program = programs_[p.self];
  while (p.next < program.size() && p.active.size() < options_.outstanding) {
    begin(p, program[p.next++]);
  }
  finish(p);
  if (p.next == program.size() && p.active.empty() && !std::exchange(p.finished, true)) {
    p.completed = p.hash;
    p.machine->finish();
  }
}

void Job::begin(Process& p, const Step& step) {
  Process::Active a{.step = step, .serial = p.next_serial(step)};
  a.bytes.resize(step.size);
  if (step.sends) {
    fill(a.bytes, p.self, step.peer, step.tag, a.serial);
    std::optional<Operation> left;
    if (p.out->tx.empty() && rng_.below(2) == 0) {
      const std::span<const std::byte> all = a.bytes;
      const auto head = all.first(rng_.below(2) * std::min(all.size(), longest_head / 2));
      const auto rest = all.subspan(head.size());
      left = p.machine->send_at_once(NodeId(step.peer), key_of(step.tag), head, rest,
                                     [&](std::span<const std::byte> header) {
                                       TxOp op;
                                       op.peer = NodeId(step.peer);
                                       op.segments = {header, rest};
                                       return rng_.below(8) > 0 && p.fabric->post({&op, 1}) == 1;
                                     });
    }
    a.operation = left ? *left : p.machine->send(NodeId(step.peer), key_of(step.tag), a.bytes);
  } else if (p.inlets.empty() || step.tag != listened_tag) {
    if (a.bytes.size() > p.machine->eager_limit()) a.region = *p.fabric->expose(a.bytes);
    a.operation = p.machine->receive(NodeId(step.peer), key_of(step.tag), a.bytes, a.region.remote);
  }
  p.active.push_back(std::move(a));
}

void Job::finish(Process& p) {
  for (std::size_t i = 0; i < p.active.size();) {
    Process::Active& a = p.active[i];
    OperationState state;
    if (a.operation == Operation{}) {
      const auto& came = p.inlets[a.step.peer]->came;
      if (a.serial < came.size()) {
        state.done = true;
        a.bytes = came[a.serial];
        state.size = a.bytes.size();
      }
    } else if (p.machine->is_done(a.operation)) {
      state = p.machine->take(a.operation);
    }
    if (!state.done) {
      ++i;
      continue;
    }
    if (state.failure != Failure::none) {
      failures_.push_back(state);
    } else if (!a.step.sends) {
      std::vector<std::byte> expected(a.step.size);
      fill(expected, a.step.peer, p.self, a.step.tag, a.serial);
      if ((expected != a.bytes || state.size != a.step.size) && trouble_.empty()) {
        trouble_ = fmt::format(
            "process {} received something else than message {} with tag {} "
            "from {}",
            p.self, a.serial, a.step.tag, a.step.peer);
      }
      p.hash += (a.serial + 1) * 0x9e3779b97f4a7c15ULL ^ a.step.tag ^ a.step.peer;
    }
    if (a.region.remote.length > 0) p.fabric->retract(a.region);
    p.active.erase(p.active.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace weft::message::testing
