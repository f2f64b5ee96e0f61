// SPDX-License-Identifier: Apache-2.0
#include "weft/consumer.hpp"

#include <utility>

#include "base/check.hpp"
#include "stream/shm/consumer_state.hpp"

namespace weft {

SharedTimeslice::SharedTimeslice(std::shared_ptr<shm::ConsumerState> state, shm::Record* record)
    : state_(std::move(state)), record_(record) {}

SharedTimeslice::SharedTimeslice(SharedTimeslice&& other) noexcept
    : state_(std::move(other.state_)), record_(std::exchange(other.record_, nullptr)) {}

SharedTimeslice& SharedTimeslice::operator=(SharedTimeslice&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
    record_ = std::exchange(other.record_, nullptr);
  }
  return *this;
}

SharedTimeslice::~SharedTimeslice() {
  release();
}

const TimesliceView& SharedTimeslice::view() const {
  WEFT_CHECK(record_ != nullptr, "a timeslice is used after its release");
  return record_->view;
}

std::uint32_t SharedTimeslice::compute() const {
  WEFT_CHECK(record_ != nullptr, "a timeslice is used after its release");
  return record_->compute;
}

void SharedTimeslice::release() {
  if (record_ == nullptr) return;
  state_->release(*std::exchange(record_, nullptr));
  state_.reset();
}

Result<Consumer> Consumer::attach(std::string_view name, std::string_view group,
                                  const ConsumerOptions& options) {
  auto state = shm::ConsumerState::attach(name, group, options);
  if (!state) return std::move(state).error();
  return Consumer(std::move(*state));
}

Consumer::Consumer(std::shared_ptr<shm::ConsumerState> state) : state_(std::move(state)) {}
Consumer::Consumer(Consumer&&) noexcept = default;

Consumer& Consumer::operator=(Consumer&& other) noexcept {
  if (this != &other) {
    if (state_ != nullptr) state_->leave();
    state_ = std::move(other.state_);
  }
  return *this;
}

Consumer::~Consumer() {
  if (state_ != nullptr) state_->leave();
}

Result<std::optional<SharedTimeslice>> Consumer::next(Duration timeout) {
  return state_->next(timeout);
}

bool Consumer::ended() const {
  return state_->ended();
}
int Consumer::descriptor() const {
  return state_->descriptor();
}
ConsumerCounts Consumer::counts() const {
  return state_->counts();
}

}  // namespace weft
