// SPDX-License-Identifier: Apache-2.0
#include "emulate/listable_path.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/system_error.hpp"

namespace weft::emulate {

Result<ListablePath> ListablePath::of(const std::string& path) {
  constexpr const char* kSeparators = " \t\n:;$";
  if (path.find_first_of(kSeparators) == std::string::npos) return ListablePath(path, Descriptor());
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("open", path, errno);
  std::string text = fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  return ListablePath(std::move(text), std::move(file));
}

}  // namespace weft::emulate
