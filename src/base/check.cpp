// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%.*s\n", file, line, condition,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace weft
