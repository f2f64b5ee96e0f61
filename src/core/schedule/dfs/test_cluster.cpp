// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/test_cluster.hpp"

#include <algorithm>
#include <utility>

#include "core/schedule/dfs/interval_grid.hpp"

namespace weft::schedule::dfs {

Instant TestClock::local(Instant true_time) const {
  return true_time + offset + Duration(true_time.ticks() * ppm / 1'000'000);
}

Instant TestClock::true_time(Instant local_time) const {
  Instant guess = local_time - offset;
  guess = guess - Duration(guess.ticks() * ppm / (1'000'000 + ppm)) - Duration(2);
  while (local(guess) < local_time) guess = guess + Duration(1);
  return guess;
}

struct TestCluster::Input final : SendState {
  TestCluster* cluster = nullptr;
  std::uint32_t number = 0;
  bool alive = true;
  TestClock clock;
  std::unique_ptr<InputSchedule> engine;
  std::vector<std::uint32_t> credits;  // per compute node
  std::set<TimesliceIndex> started;
  Instant paused_until{};
  Instant link_free{};
  Instant wake_at = Instant::never();
  std::vector<IntervalRecord> records;
  MessageBox box{1'024};
  FixedVec<IntervalRecord> taken{64};

  Readiness readiness(TimesliceIndex t) const override {
    if (t >= cluster->config_.end) return Readiness::after_end;
    if (started.contains(t)) return Readiness::started;
    if (cluster->now_ < paused_until) return Readiness::no_data;
    const std::uint32_t compute = cluster->members_[cluster->grid_.compute_of(t)];
    return credits[compute] > 0 ? Readiness::sendable : Readiness::no_credit;
  }
};

TestCluster::TestCluster(ClusterConfig config)
    : config_(std::move(config)), rng_(config_.seed), computes_(config_.computes) {
  config_.input_clocks.resize(config_.inputs);
  config_.compute_clocks.resize(config_.computes);
  last_arrival_.resize(std::size_t{config_.inputs + config_.computes} *
                       (config_.inputs + config_.computes));
  now_ = Instant(1'000'000);
  for (std::uint32_t i = 0; i < config_.inputs; ++i) {
    auto input = std::make_shared<Input>();
    input->cluster = this;
    input->number = i;
    input->clock = config_.input_clocks[i];
    input->engine = make_dfs_input(config_.options, i, config_.inputs, config_.computes);
    inputs_.push_back(std::move(input));
  }
  for (std::uint32_t c = 0; c < config_.computes; ++c) {
    computes_[c].clock = config_.compute_clocks[c];
    computes_[c].engine = make_dfs_compute(config_.options, c, config_.inputs, false);
  }
  take_grid();
}

void TestCluster::at(Instant when, std::function<void()> action) {
  events_.push({std::max(when, now_), order_++, std::move(action)});
}

Duration TestCluster::travel() {
  const auto jitter = static_cast<std::uint64_t>(config_.jitter.ticks());
  return config_.latency + Duration(static_cast<std::int64_t>(rng_.below(jitter + 1)));
}

Instant TestCluster::arrival(std::uint32_t from, std::uint32_t to) {
  Instant& last = last_arrival_[std::size_t{from} * (config_.inputs + config_.computes) + to];
  last = std::max(last, now_ + travel());
  return last;
}

std::uint32_t TestCluster::live_inputs() const {
  return static_cast<std::uint32_t>(
      std::count_if(inputs_.begin(), inputs_.end(), [](const auto& i) { return i->alive; }));
}

std::uint32_t TestCluster::member_index(std::uint32_t compute) const {
  const auto found = std::find(members_.begin(), members_.end(), compute);
  return static_cast<std::uint32_t>(found - members_.begin());
}

void TestCluster::take_grid() {
  members_.clear();
  for (std::uint32_t c = 0; c < config_.computes; ++c) {
    if (computes_[c].alive) members_.push_back(c);
  }
  TimesliceIndex first{};
  for (const auto& input : inputs_) {
    if (!input->started.empty()) first = std::max(first, input->started.rbegin()->plus(1));
  }
  grid_ = {.first = first, .computes = static_cast<std::uint32_t>(members_.size())};
  ++grid_number_;
  for (const auto& input : inputs_) {
    if (!input->alive) continue;
    input->credits.assign(config_.computes, config_.credits);
    input->engine->on_grid(input->clock.local(now_), grid_);
    at(now_, [this, i = input->number] { turn(i); });
  }
  for (const std::uint32_t c : members_) {
    computes_[c].arrivals.clear();
    if (!computes_[c].engine) continue;
    computes_[c].engine->on_grid(computes_[c].clock.local(now_), grid_, member_index(c));
  }
}

void TestCluster::run_until(Instant until) {
  while (!events_.empty() && events_.top().at <= until) {
    Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.at);
    event.action();
  }
  now_ = std::max(now_, until);
}

void TestCluster::run_past(IntervalId id) {
  const Instant limit = now_ + Duration::seconds(1'000);
  while (!events_.empty() && now_ < limit) {
    const auto later = starts_.upper_bound(id);
    if (later != starts_.end() && later->second.size() >= live_inputs()) return;
    run_until(events_.top().at);
  }
}

void TestCluster::turn(std::uint32_t i) {
  const auto input = inputs_[i];
  if (!input->alive) return;
  const Instant local = input->clock.local(now_);
  Choice choice = input->engine->choose(local, *input);
  while (choice.kind == Choice::Kind::send) {
    send(i, choice.timeslice);
    choice = input->engine->choose(local, *input);
  }
  input->wake_at = Instant::never();
  if (choice.ask_again != Instant::never()) {
    const Instant wake = input->clock.true_time(choice.ask_again);
    input->wake_at = std::max(wake, now_ + Duration(1));
    at(input->wake_at, [this, i, wake = input->wake_at] {
      if (inputs_[i]->wake_at == wake) turn(i);
    });
  }
  input->engine->write_messages(local, input->box);
  for (const Message& m : input->box.view()) {
    if (m.to >= members_.size()) continue;
    const std::uint32_t c = members_[m.to];
    at(arrival(i, config_.inputs + c), [this, i, c, m] {
      Compute& compute = computes_[c];
      if (!compute.alive || !compute.engine) return;
      compute.engine->on_message(compute.clock.local(now_), i, {m.bytes.data(), m.size});
      turn_compute(c);
    });
  }
  input->box.clear();
  input->engine->take_intervals(input->taken);
  for (const IntervalRecord& r : input->taken.view()) input->records.push_back(r);
  input->taken.clear();
}

void TestCluster::turn_compute(std::uint32_t c) {
  Compute& compute = computes_[c];
  MessageBox box(1'024);
  compute.engine->write_messages(compute.clock.local(now_), box);
  for (const Message& m : box.view()) {
    const AnyMessage decoded = decode({m.bytes.data(), m.size});
    proposals_.push_back({c, m.to, now_, std::get<Proposal>(decoded)});
    at(arrival(config_.inputs + c, m.to), [this, m] {
      const auto input = inputs_[m.to];
      if (!input->alive) return;
      input->engine->on_message(input->clock.local(now_), 0, {m.bytes.data(), m.size});
      turn(m.to);
    });
  }
}

void TestCluster::send(std::uint32_t i, TimesliceIndex t) {
  const auto input = inputs_[i];
  const std::uint32_t c = members_[grid_.compute_of(t)];
  const IntervalGrid intervals(grid_, config_.options.timeslices_per_interval);
  const IntervalId id = intervals.interval_of(t);
  starts_[id].emplace(i, now_);
  input->engine->on_started(input->clock.local(now_), t);
  input->started.insert(t);
  --input->credits[c];
  const std::int64_t percent = config_.slowness ? config_.slowness(i, id) : 100;
  const Duration time = config_.contribution * percent / 100;
  const Instant leaves = std::max(now_, input->link_free);
  input->link_free = leaves + time;
  at(leaves + travel(), [this, i, c, t, started = now_, time, number = grid_number_] {
    reach(i, c, t, started, time, number);
  });
}

// The first byte reaches the compute node's link, which other inputs' contributions may occupy.
void TestCluster::reach(std::uint32_t i, std::uint32_t c, TimesliceIndex t, Instant started,
                        Duration time, std::uint32_t grid_number) {
  Compute& compute = computes_[c];
  if (!compute.alive) return;
  compute.link_free = std::max(now_, compute.link_free) + time;
  at(compute.link_free,
     [this, i, c, t, started, grid_number] { deliver(i, c, t, started, grid_number); });
}

void TestCluster::deliver(std::uint32_t i, std::uint32_t c, TimesliceIndex t, Instant started,
                          std::uint32_t grid_number) {
  Compute& compute = computes_[c];
  if (!compute.alive || grid_number != grid_number_) return;
  ++delivered_;
  if (!inputs_[i]->alive) return;
  compute.arrivals[t].emplace(i, now_);
  if (compute.engine) {
    compute.engine->on_contribution(compute.clock.local(now_), i, t, ByteCount::kib(64));
  }
  at(arrival(config_.inputs + c, i), [this, i, t, started, grid_number] {
    const auto input = inputs_[i];
    if (!input->alive || grid_number != grid_number_) return;
    input->engine->on_acknowledged(input->clock.local(now_), t, now_ - started);
    turn(i);
  });
  complete_timeslices(c);
}

bool TestCluster::is_complete(const std::map<std::uint32_t, Instant>& arrivals) const {
  return std::all_of(inputs_.begin(), inputs_.end(), [&](const auto& input) {
    return !input->alive || arrivals.contains(input->number);
  });
}

void TestCluster::complete_timeslices(std::uint32_t c) {
  auto& arrivals = computes_[c].arrivals;
  while (!arrivals.empty() && is_complete(arrivals.begin()->second)) {
    Instant first = Instant::never();
    Instant last{};
    for (const auto& [input, time] : arrivals.begin()->second) {
      first = std::min(first, time);
      last = std::max(last, time);
    }
    spreads_[arrivals.begin()->first] = last - first;
    arrivals.erase(arrivals.begin());
    for (std::uint32_t i = 0; i < config_.inputs; ++i) {
      at(arrival(config_.inputs + c, i), [this, i, c, number = grid_number_] {
        if (!inputs_[i]->alive || number != grid_number_) return;
        ++inputs_[i]->credits[c];
        turn(i);
      });
    }
  }
}

void TestCluster::kill_engine(std::uint32_t engine) {
  computes_[engine].engine.reset();
}

void TestCluster::restart_engine(std::uint32_t c) {
  computes_[c].engine = make_dfs_compute(config_.options, c, config_.inputs, true);
  computes_[c].engine->on_grid(computes_[c].clock.local(now_), grid_, member_index(c));
}

void TestCluster::kill_input(std::uint32_t input) {
  inputs_[input]->alive = false;
  for (const std::uint32_t c : members_) {
    if (computes_[c].engine) {
      computes_[c].engine->on_input(computes_[c].clock.local(now_), input, false);
      turn_compute(c);
    }
    complete_timeslices(c);
  }
}

void TestCluster::kill_compute(std::uint32_t compute) {
  computes_[compute].alive = false;
  computes_[compute].engine.reset();
  take_grid();
}

void TestCluster::pause_input(std::uint32_t input, Instant until) {
  inputs_[input]->paused_until = until;
  at(until, [this, input] { turn(input); });
}

std::map<std::uint32_t, Instant> TestCluster::starts(IntervalId id) const {
  const auto found = starts_.find(id);
  return found == starts_.end() ? std::map<std::uint32_t, Instant>{} : found->second;
}

Duration TestCluster::start_spread(IntervalId id) const {
  Instant earliest = Instant::never();
  Instant latest{};
  for (const auto& [input, start] : starts(id)) {
    earliest = std::min(earliest, start);
    latest = std::max(latest, start);
  }
  return latest - earliest;
}

const std::vector<IntervalRecord>& TestCluster::records(std::uint32_t input) const {
  return inputs_[input]->records;
}

}  // namespace weft::schedule::dfs
