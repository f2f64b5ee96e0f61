// SPDX-License-Identifier: Apache-2.0
#include "runtime/first_interrupt.hpp"

namespace weft {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

FirstInterrupt::FirstInterrupt() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &former_);
}

FirstInterrupt::~FirstInterrupt() {
  sigaction(SIGINT, &former_, nullptr);
}

bool FirstInterrupt::came() const {
  return interrupted != 0;
}

}  // namespace weft
