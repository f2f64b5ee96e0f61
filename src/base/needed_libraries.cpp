// SPDX-License-Identifier: Apache-2.0
#include "base/needed_libraries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

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
  std::string text_at(std::uint64_t offset) const { return std::string(view_at(offset)); }
  std::string_view view_at(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    return {begin, ::strnlen(begin, bytes_.size() - offset)};
  }
  bool is_64_bit() const { return is_elf(ELFCLASS64); }
  bool is_32_bit() const { return is_elf(ELFCLASS32); }
  /// The name of MPI's first function is somewhere: in a table of symbols, or in a message.
  bool names_mpi() const { return has("MPI_Init"); }
  /// That of MPI_Init in MPICH's module of Fortran 2008 is.
  bool names_module_of_mpich() const { return has("mpi_init_f08_") || has("mpi_init_thread_f08_"); }

 private:
  bool has(std::string_view name) const {
    return !bytes_.empty() &&
           ::memmem(bytes_.data(), bytes_.size(), name.data(), name.size()) != nullptr;
  }
  bool is_elf(unsigned char size) const {
    const auto ident = at<std::array<unsigned char, EI_NIDENT>>(0);
    return ident && std::memcmp(ident->data(), ELFMAG, SELFMAG) == 0 && (*ident)[EI_CLASS] == size;
  }

  std::span<const std::byte> bytes_;
};

std::vector<Elf64_Phdr> segments_of(const Image& image) {
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || !image.is_64_bit() || header->e_phentsize != sizeof(Elf64_Phdr)) {
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

bool has_segment(const std::vector<Elf64_Phdr>& segments, std::uint32_t type) {
  return std::any_of(segments.begin(), segments.end(),
                     [&](const Elf64_Phdr& s) { return s.p_type == type; });
}

/// A library of an MPI, and either the ABI that weft takes its place with, or why weft does not.
struct MpiLibrary {
  std::string_view name;  // its beginning
  std::string_view abi;
  std::string_view why_not;
  std::string_view own = {};  // weft's library for it; empty: of the same name
};
constexpr std::string_view no_version =
    "of a version whose ABI weft does not have; compile it for MPICH 3.1 or newer "
    "(libmpich.so.12), "
    "for Open MPI 3 or newer (libmpi.so.40), or for the standard's ABI 1 (libmpi_abi.so.1)";
constexpr const char* linked_in =
    "an MPI is linked into it; link it with MPI's shared library, without -static or -static-mpi";
constexpr std::string_view no_binding =
    "whose language weft has no library for yet; docs/mpi.md lists what it has";
/// The first that matches counts.
constexpr std::array mpi_libraries{
    MpiLibrary{"libmpich.so.12", "mpich", {}},
    MpiLibrary{"libmpi.so.12", "mpich", {}},
    MpiLibrary{"libmpichfort.so.12", "mpich", {}},
    MpiLibrary{"libmpi.so.40", "openmpi", {}},
    MpiLibrary{"libmpi_abi.so.1", "standard", {}},
    MpiLibrary{"libmpi_abi.so.0", "standard", {}},
    MpiLibrary{"libweft_mpifort.so.1", "standard", {}},
    MpiLibrary{"libmpi_mpifh.so.40", "openmpi", {}},
    MpiLibrary{"libmpifort.so.", {}, no_binding},
    MpiLibrary{"libmpichcxx.so.", {}, no_binding},
    MpiLibrary{"libmpicxx.so.", {}, no_binding},
    // This library is Open MPI's own, and calls functions of libmpi_mpifh.so.40.
    MpiLibrary{"libmpi_usempif08.so.40", "openmpi", {}, "libmpi_mpifh.so.40"},
    MpiLibrary{"libmpi_usempif08.so.", {}, no_binding},
    // This one, too, and calls functions of libmpi.so.40. It is needed by most programs of C++,
    // and by libraries such as PETSc's.
    MpiLibrary{"libmpi_cxx.so.40", "openmpi", {}, "libmpi.so.40"},
    MpiLibrary{"libmpi_cxx.so.", {}, no_binding},
    MpiLibrary{"libmpi_java.so.", {}, no_binding},
    MpiLibrary{"libmpi_abi.so.", {}, no_version},
    MpiLibrary{"libmpich.so.", {}, no_version},
    MpiLibrary{"libmpichfort.so.", {}, no_version},
    MpiLibrary{"libmpi.so.", {}, no_version},
    MpiLibrary{"libmpi_mpifh.so.", {}, no_version},
};

const MpiLibrary* find_mpi_library(std::string_view name) {
  const auto found =
      std::find_if(mpi_libraries.begin(), mpi_libraries.end(), [&](const MpiLibrary& library) {
        // Names with a version are whole: libmpi.so.4 is not libmpi.so.40.
        return library.abi.empty() ? name.starts_with(library.name) : name == library.name;
      });
  return found != mpi_libraries.end() ? &*found : nullptr;
}

/// Returns where in the file an address of the loaded program lies.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments,
                                       std::uint64_t address) {
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) {
      return address - s.p_vaddr + s.p_offset;
    }
  }
  return std::nullopt;
}

/// Entries of the section that the dynamic linker reads.
struct DynamicSection {
  std::vector<std::string> needed;
  bool has_rpath = false;
  bool has_runpath = false;
};

DynamicSection dynamic_section_of(const Image& image) {
  const auto segments = segments_of(image);
  std::optional<std::uint64_t> names;
  std::vector<std::uint64_t> needed;
  DynamicSection section;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = image.at<Elf64_Dyn>(s.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_STRTAB) names = offset_of(segments, entry->d_un.d_ptr);
      if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
      section.has_rpath |= entry->d_tag == DT_RPATH;
      section.has_runpath |= entry->d_tag == DT_RUNPATH;
    }
  }
  if (!names) return section;
  for (const std::uint64_t name : needed) section.needed.push_back(image.text_at(*names + name));
  return section;
}

/// Returns whether an MPI is linked into a program that needs no library of one: the program
/// defines MPI's first function. A tool that is linked in defines it as well, but calls another
/// one's PMPI functions. A stripped program has no table that would tell.
bool has_own_mpi(const Image& image) {
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || !image.is_64_bit() || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  const auto section_at = [&](std::uint64_t i) {
    return image.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  bool defines_it = false;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section_at(i);
    if (!table || (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM)) continue;
    const auto names = section_at(table->sh_link);
    if (!names) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = image.at<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) break;
      const std::string_view name = image.view_at(names->sh_offset + symbol->st_name);
      if (symbol->st_shndx == SHN_UNDEF) {
        if (name.starts_with("PMPI_")) return false;
      } else {
        defines_it |= name == "MPI_Init" || name == "PMPI_Init";
      }
    }
  }
  return defines_it;
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

}  // namespace

std::vector<std::string> needed_libraries(std::span<const std::byte> bytes) {
  return dynamic_section_of(Image(bytes)).needed;
}

MpiChoice choose_mpi(std::span<const std::byte> bytes) {
  const Image image(bytes);
  if (image.names_mpi()) {
    if (image.is_32_bit()) {
      return {.wrong = "it is a 32-bit program of MPI; compile it for 64 bits"};
    }
    if (image.is_64_bit() && !has_segment(segments_of(image), PT_INTERP) &&
        !has_segment(segments_of(image), PT_DYNAMIC)) {
      return {.wrong = linked_in};
    }
  }
  MpiChoice choice;
  const DynamicSection section = dynamic_section_of(image);
  for (const std::string& library : section.needed) {
    const MpiLibrary* const known = find_mpi_library(library);
    if (known == nullptr) continue;
    if (!known->why_not.empty()) {
      return {.wrong = fmt::format("it needs {}, {}", library, known->why_not)};
    }
    if (!choice.abi.empty() && choice.abi != known->abi) {
      return {.wrong =
                  fmt::format("it needs {} of one MPI and {} of another; link it with one of them",
                              choice.library, library)};
    }
    if (!choice.abi.empty()) continue;
    const std::string abi(known->abi);
    choice.abi = choice.folder = abi;
    choice.library = known->own.empty() ? library : std::string(known->own);
  }
  if (choice.abi.empty() && image.names_mpi() && has_own_mpi(image)) return {.wrong = linked_in};
  choice.has_first_rpath = section.has_rpath && !section.has_runpath;
  // MPICH's own library of Fortran has that module, and calls weft's of C.
  if (choice.abi == "mpich" && image.names_module_of_mpich()) {
    choice.folder = "mpich-own-fortran";
    choice.library = "libmpich.so.12";
  }
  return choice;
}

MpiChoice choose_mpi_of(const std::string& path) {
  return choose_mpi(MappedFile(path).bytes());
}

std::vector<std::string> own_libraries_of(std::string_view abi) {
  std::vector<std::string> names;
  for (const MpiLibrary& library : mpi_libraries) {
    if (library.abi == abi && library.own.empty()) names.emplace_back(library.name);
  }
  return names;
}

}  // namespace weft
