// SPDX-License-Identifier: Apache-2.0
#include "launch/needed_libraries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/module_loader.hpp"

namespace weft {
namespace {

/// Bounds are checked at each look: files are as they are.
class Image {
 public:
  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text_at(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    return {begin, ::strnlen(begin, bytes_.size() - offset)};
  }

 private:
  std::span<const std::byte> bytes_;
};

std::vector<Elf64_Phdr> segments_of(const Image& image) {
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = image.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    segments.push_back(*segment);
  }
  return segments;
}

/// Where in the file an address of the loaded program lies.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments,
                                       std::uint64_t address) {
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) {
      return address - s.p_vaddr + s.p_offset;
    }
  }
  return std::nullopt;
}

/// A file's bytes, as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat about {};
    if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      memory_ = mapped != MAP_FAILED ? mapped : nullptr;
    }
    ::close(file);
  }
  ~MappedFile() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(memory_), memory_ != nullptr ? size_ : 0};
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  for (;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = fmt::format("{}/{}", end == 0 ? "." : rest.substr(0, end), program);
    if (::access(place.c_str(), X_OK) == 0) return place;
    if (end == rest.size()) return program;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<std::string> needed_libraries(std::span<const std::byte> bytes) {
  const Image image(bytes);
  const auto segments = segments_of(image);
  std::optional<std::uint64_t> names;
  std::vector<std::uint64_t> needed;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = image.at<Elf64_Dyn>(s.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_STRTAB) names = offset_of(segments, entry->d_un.d_ptr);
      if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
    }
  }
  std::vector<std::string> libraries;
  if (!names) return libraries;
  for (const std::uint64_t name : needed) libraries.push_back(image.text_at(*names + name));
  return libraries;
}

std::string prefer_own_mpi(const std::string& program) {
  const MappedFile file(find_program(program));
  const auto needed = needed_libraries(file.bytes());
  const bool is_mpich = std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
    return name == "libmpich.so.12" || name == "libmpi.so.12";
  });
  if (!is_mpich) return {};
  const auto own = find_module("weft-mpi/mpich/libmpich.so.12");
  if (!own) {
    return fmt::format(
        "cannot start '{}': it was compiled for MPICH, and weft's library in MPICH's place, "
        "weft-mpi/mpich/libmpich.so.12, is not beside this program; build or install it",
        program);
  }
  std::string path = own->substr(0, own->rfind('/'));
  if (const char* others = std::getenv("LD_LIBRARY_PATH"); others != nullptr && *others != '\0') {
    path += fmt::format(":{}", others);
  }
  ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  return {};
}

}  // namespace weft
