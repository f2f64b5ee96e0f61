// SPDX-License-Identifier: Apache-2.0
// Operations: waits for every operation under way, even after failures, since their buffers must
// stay valid until then; keeps the first error.
#pragma once

#include <optional>
#include <vector>

#include "weft/message.hpp"

namespace weft::spmd {

/// One thread. Its communicator outlives it.
class Operations {
 public:
  explicit Operations(Communicator& communicator) : communicator_(&communicator) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;
  ~Operations() { (void)finish(); }

  void send(Rank to, Tag tag, std::span<const std::byte> bytes) {
    pending_.push_back({communicator_->start_send(to, tag, bytes), bytes.size()});
  }
  void receive(Rank from, Tag tag, std::span<std::byte> into) {
    pending_.push_back({communicator_->start_receive(from, tag, into), into.size()});
  }
  /// Waits for the oldest pending operation.
  void wait_for_next() {
    const Pending next = pending_[waited_++];
    const auto done = communicator_->wait(next.operation);
    if (!done.ok()) {
      fail(done.error());
    } else if (*done != next.bytes) {
      fail({ErrorCode::corrupt,
            "a message of another length than the partitionings make it: all "
            "ranks must switch the same containers in the same order"});
    }
  }
  bool ok() const { return !error_.has_value(); }
  std::size_t pending() const { return pending_.size() - waited_; }
  /// Waits for all. It is empty then, but keeps the error.
  Result<void> finish() {
    while (waited_ < pending_.size()) wait_for_next();
    pending_.clear();
    waited_ = 0;
    if (error_) return Error(*error_);
    return {};
  }

 private:
  struct Pending {
    Operation operation;
    std::size_t bytes = 0;
  };
  void fail(const Error& error) {
    if (!error_) error_ = error;
  }

  Communicator* communicator_;
  std::vector<Pending> pending_;
  std::size_t waited_ = 0;
  std::optional<Error> error_;
};

}  // namespace weft::spmd
