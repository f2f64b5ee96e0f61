// SPDX-License-Identifier: Apache-2.0
#include "base/socket_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace weft {

bool remove_socket_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  return ::unlink(path.c_str()) == 0;
}

}  // namespace weft
