// SPDX-License-Identifier: Apache-2.0
#include "stream/node/limit_node.hpp"

#include <fmt/format.h>

#include "base/fixed_vec.hpp"

namespace weft::stream {
namespace {

/// The base of both kinds: there is no source, no sink, and nothing can fail.
class LimitNode : public StreamNode {
 public:
  std::vector<int> descriptors() const override { return {}; }
  void stop() override {}
  void cut_off() override { is_cut_off_ = true; }
  const std::optional<Error>& failure() const override { return failure_; }
  void sample(Instant) override {}
  StreamProgress progress() override { return {}; }

 protected:
  bool is_cut_off() const { return is_cut_off_; }

 private:
  bool is_cut_off_ = false;
  std::optional<Error> failure_;
};

class SenderNode final : public LimitNode {
 public:
  explicit SenderNode(const LimitConfig& config)
      : message_(config.message_bytes), machine_(config, message_), node_(config.self) {}

  void on_completion(Instant now, const Completion& c) override { machine_.on_completion(now, c); }
  bool work(Instant now, Outbox& out) override {
    const std::size_t before = out.tx.size();
    machine_.turn(now, out);
    return out.tx.size() > before;
  }
  Instant next_deadline() const override { return machine_.next_deadline(); }
  bool started() const override { return machine_.started() != Instant::never(); }
  bool finished() const override { return is_cut_off() || machine_.finished(); }
  NodeReport report() override {
    NodeReport r;
    r.node = NodeId(node_);
    r.started = machine_.started();
    r.ended = machine_.ended();
    r.sent_bytes = machine_.bytes();
    return r;
  }
  std::string describe() const override {
    return fmt::format("sender {}: {} messages", node_, machine_.messages());
  }

 private:
  std::vector<std::byte> message_;
  LimitSender machine_;
  std::uint32_t node_;
};

class ReceiverNode final : public LimitNode {
 public:
  ReceiverNode(const LimitConfig& config, FixedVec<std::byte> memory, const Region& region)
      : memory_(std::move(memory)), machine_(config, region.remote), config_(config) {}

  void on_completion(Instant, const Completion& c) override { machine_.on_completion(c); }
  bool work(Instant, Outbox& out) override {
    const std::size_t before = out.tx.size();
    machine_.turn(out);
    return out.tx.size() > before;
  }
  Instant next_deadline() const override { return Instant::never(); }
  bool started() const override { return false; }
  bool finished() const override { return is_cut_off() || machine_.finished(); }
  NodeReport report() override {
    NodeReport r;
    r.node = config_.roster.compute_node(config_.self);
    return r;
  }
  std::string describe() const override { return fmt::format("receiver {}", config_.self); }

 private:
  FixedVec<std::byte> memory_;  // costs only the written pages
  LimitReceiver machine_;
  LimitConfig config_;
};

}  // namespace

std::unique_ptr<StreamNode> make_limit_sender(const LimitConfig& config) {
  return std::make_unique<SenderNode>(config);
}

Result<std::unique_ptr<StreamNode>> make_limit_receiver(const LimitConfig& config, Fabric& fabric) {
  FixedVec<std::byte> memory(LimitReceiver::memory_bytes(config));
  memory.extend(memory.capacity());
  auto region = fabric.expose(memory.view());
  if (!region) return std::move(region).error();
  return std::unique_ptr<StreamNode>(
      std::make_unique<ReceiverNode>(config, std::move(memory), *region));
}

NodeFactory limit_node_factory(const LimitConfig& config) {
  return [config](NodeId self, bool, Fabric& fabric, Instant) {
    LimitConfig own = config;
    if (config.roster.is_input(self)) {
      own.self = self.value();
      return Result<std::unique_ptr<StreamNode>>(make_limit_sender(own));
    }
    own.self = config.roster.compute_index(self);
    return make_limit_receiver(own, fabric);
  };
}

report::LimitRow limit_row(const LimitConfig& config, const std::vector<NodeReport>& reports) {
  report::LimitRow row{.message_bytes = config.message_bytes, .mix = config.mix};
  double rounds_us = 0, rates = 0;
  for (const NodeReport& r : reports) {
    const double seconds = (r.ended - r.started).to_seconds();
    if (!config.roster.is_input(r.node) || seconds <= 0 || r.sent_bytes == 0) continue;
    const double rounds = static_cast<double>(r.sent_bytes) /
                          static_cast<double>(config.message_bytes * config.roster.computes);
    rates += static_cast<double>(r.sent_bytes) / seconds;
    rounds_us += seconds * 1e6 / rounds;
  }
  row.aggregate_bytes_per_s = rates;
  row.bandwidth_per_sender_bytes_per_s = rates / config.roster.inputs;
  row.round_us = rounds_us / config.roster.inputs;
  return row;
}

}  // namespace weft::stream
