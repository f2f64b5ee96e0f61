// SPDX-License-Identifier: Apache-2.0
// A module for the tests of module loading.
#include <cstdint>

namespace {
struct Calls {
  std::uint32_t version;
  int (*answer)();
};
int answer() {
  return 42;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) const void* weft_test_module() {
  static constexpr Calls calls{7, answer};
  return &calls;
}
