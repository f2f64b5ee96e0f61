// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/fiber.hpp"

#include <cxxabi.h>

#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/sanitizer.hpp"

#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft {
namespace {

namespace context = boost::context;

// What the address sanitizer knows of memory outlives a mapping: a stack may lie where another one
// ended whose last functions never returned.
void forget_earlier_stacks([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(bottom, size);
#endif
}

// The address sanitizer keeps a picture of the stack that is in use.
void begin_switch([[maybe_unused]] void** kept, [[maybe_unused]] const void* bottom,
                  [[maybe_unused]] std::size_t size) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(kept, bottom, size);
#endif
}

void end_switch([[maybe_unused]] void* kept, [[maybe_unused]] const void** bottom,
                [[maybe_unused]] std::size_t* size) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(kept, bottom, size);
#endif
}

}  // namespace

Fiber::Fiber(ByteCount stack, std::function<void()> body) : body_(std::move(body)) {
  context::protected_fixedsize_stack memory(stack.value());
  const context::stack_context place = memory.allocate();
  inside_stack_ = {static_cast<const std::byte*>(place.sp) - place.size, place.size};
  forget_earlier_stacks(inside_stack_.bottom, inside_stack_.size);
  inside_ =
      context::fiber(std::allocator_arg, context::preallocated(place.sp, place.size, place), memory,
                     [this](context::fiber&& outside) { return run(std::move(outside)); });
}

Fiber::~Fiber() {
  unwind();
}

context::fiber Fiber::run(context::fiber&& outside) {
  end_switch(nullptr, &outside_stack_.bottom, &outside_stack_.size);
  outside_ = std::move(outside);
  try {
    if (!unwinding_) body_();
  } catch (const Unwinding&) {
    // That was its end.
  }
  ended_ = true;
  // For good: its picture is not kept.
  begin_switch(nullptr, outside_stack_.bottom, outside_stack_.size);
  return std::move(outside_);
}

void Fiber::swap_exceptions() {
  auto* current = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  std::swap(*current, exceptions_);
}

void Fiber::resume() {
  WEFT_CHECK(!ended_);
  begun_ = true;
  swap_exceptions();
  void* kept = nullptr;
  begin_switch(&kept, inside_stack_.bottom, inside_stack_.size);
  inside_ = std::move(inside_).resume();
  end_switch(kept, nullptr, nullptr);
  swap_exceptions();
}

void Fiber::suspend() {
  if (unwinding_) {
    if (std::uncaught_exceptions() == 0) throw Unwinding{};
    return;
  }
  void* kept = nullptr;
  begin_switch(&kept, outside_stack_.bottom, outside_stack_.size);
  outside_ = std::move(outside_).resume();
  end_switch(kept, &outside_stack_.bottom, &outside_stack_.size);
  if (unwinding_ && std::uncaught_exceptions() == 0) throw Unwinding{};
}

void Fiber::unwind() {
  if (ended_) return;
  unwinding_ = true;
  resume();
  WEFT_CHECK(ended_);
}

}  // namespace weft
