// SPDX-License-Identifier: Apache-2.0
// Fiber: a function with a stack of its own, which runs when it is resumed and until it suspends
// itself.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

#include "weft/ids.hpp"

namespace weft {

/// Everything on one thread. The stack is mapped, so only touched pages take memory; the page
/// beyond its end is no one's, so that an overflow ends the process and harms nothing else.
class Fiber {
 public:
  /// Flies out of `suspend` when the fiber is to end: no std::exception, so that programs do not
  /// take it for an error of theirs.
  struct Unwinding {};

  /// Nothing runs yet. `body` lets no exceptions out. Throws std::bad_alloc when there is no memory
  /// for the stack.
  Fiber(ByteCount stack, std::function<void()> body);
  /// Unwinds it.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From outside: runs it until it suspends itself or ends.
  void resume();
  /// From inside: returns when it is resumed. While it unwinds it returns at once.
  void suspend();
  /// From outside: destroys all objects on its stack, and ends it. Nothing happens if it has ended
  /// or never begun.
  void unwind();

  bool ended() const { return ended_; }
  bool unwinding() const { return unwinding_; }

 private:
  /// The C++ runtime's record of exceptions under way in a thread, one per fiber: a fiber may
  /// suspend itself in a handler.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  /// A stack, described for the address sanitizer.
  struct StackView {
    const void* bottom = nullptr;
    std::size_t size = 0;
  };

  void swap_exceptions();
  boost::context::fiber run(boost::context::fiber&& outside);

  std::function<void()> body_;
  boost::context::fiber inside_, outside_;
  StackView inside_stack_, outside_stack_;
  Exceptions exceptions_;
  bool begun_ = false;
  bool ended_ = false;
  bool unwinding_ = false;
};

}  // namespace weft
