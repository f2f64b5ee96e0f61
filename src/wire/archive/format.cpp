// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/format.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace weft::wire {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string user_name() {
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, memory.data(), memory.size(), &found) != 0 || !found) {
    return std::to_string(geteuid());
  }
  return found->pw_name;
}

}  // namespace

std::string_view to_text(ArchiveType type) {
  return type == ArchiveType::timeslices ? "timeslices" : "microslices";
}

std::string_view to_text(ArchiveCompression compression) {
  return compression == ArchiveCompression::none ? "none" : "zstd";
}

ArchiveFormat new_archive_format(ArchiveType type, ArchiveCompression compression) {
  ArchiveFormat format;
  format.type = type;
  format.compression = compression;
  format.time_created = std::time(nullptr);
  format.host = host_name();
  format.user = user_name();
  return format;
}

}  // namespace weft::wire
