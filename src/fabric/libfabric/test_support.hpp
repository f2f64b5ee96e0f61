// SPDX-License-Identifier: Apache-2.0
// Endpoints of provider tcp in one process, driven together.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/libfabric/fabric.hpp"

namespace weft {

inline LibfabricOptions options_for(std::uint32_t node) {
  LibfabricOptions options;
  options.bind_address = "127.0.0.1";
  options.self = NodeId(node);
  options.incarnation = Incarnation(1);
  options.job_secret = "a secret";
  options.heartbeat_interval = Duration::milliseconds(100);
  return options;
}

inline Instant now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

// Endpoints that are driven together; every completion is kept.
class Group {
 public:
  Fabric& open(const LibfabricOptions& options, const ofi::Restrictions& restrictions = {}) {
    auto fabric = ofi::LibfabricFabric::open(options, restrictions);
    EXPECT_TRUE(fabric.ok()) << (fabric.ok() ? "" : fabric.error().message);
    fabrics_.push_back(std::move(*fabric));
    seen.emplace_back();
    return *fabrics_.back();
  }
  void introduce(std::size_t a, std::size_t b) {
    const auto id = [](std::size_t i) { return NodeId(static_cast<std::uint32_t>(i)); };
    ASSERT_TRUE(fabrics_[a]->add_peer(id(b), Incarnation(1), fabrics_[b]->address()).ok());
    ASSERT_TRUE(fabrics_[b]->add_peer(id(a), Incarnation(1), fabrics_[a]->address()).ok());
  }
  bool drive(const std::function<bool()>& done, Duration limit = Duration::seconds(30)) {
    const Instant give_up = now() + limit;
    while (!done()) {
      if (now() > give_up) return false;
      for (std::size_t i = 0; i < fabrics_.size(); ++i) {
        if (fabrics_[i] == nullptr) continue;
        std::array<Completion, 16> completions;
        const std::size_t n = fabrics_[i]->poll(now(), completions);
        for (std::size_t j = 0; j < n; ++j) seen[i].push_back(completions[j]);
      }
    }
    return true;
  }
  std::size_t count(std::size_t node, CompletionKind kind) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(seen[node], [&](const Completion& c) { return c.kind == kind; }));
  }
  Fabric& fabric(std::size_t i) { return *fabrics_[i]; }
  void close(std::size_t i) { fabrics_[i].reset(); }

  std::vector<std::vector<Completion>> seen;

 private:
  std::vector<std::unique_ptr<Fabric>> fabrics_;
};

}  // namespace weft
