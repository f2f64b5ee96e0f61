// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace weft::mpi {

SharedFile SharedFile::of(const Descriptor& file, std::uint64_t bytes) {
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0) return {};
  return {bytes, ::getpid(), file.get(), about.st_dev, about.st_ino};
}

Descriptor SharedFile::open() const {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const SharedFile found = of(file, bytes);
  return found.device == device && found.inode == inode ? std::move(file) : Descriptor();
}

}  // namespace weft::mpi
