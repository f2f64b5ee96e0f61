// SPDX-License-Identifier: Apache-2.0
// Representations: how elements lie in a file, where that is not as in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// The elements of one access. Valid as long as call and type.
struct FileElements {
  const Call& call;
  MPI_Datatype handle;
  const Datatype& type;
  std::uint64_t count = 0;
};

/// Functions that may fail return MPI's error code, which is not yet reported.
class Representation {
 public:
  virtual ~Representation() = default;
  /// Whether elements of the datatype have the same layout in a file as in memory.
  virtual bool keeps_layout(const Call& call, MPI_Datatype type) const = 0;
  /// Sets the bytes of a predefined datatype in a file.
  virtual int measure(const Call& call, MPI_Datatype type, MPI_Aint& bytes) const = 0;
  /// Converts all elements, at `memory`, to those in `file`, one behind the other.
  virtual int write(const FileElements& elements, void* memory,
                    std::span<std::byte> file) const = 0;
  /// Converts those elements back that are in `file`, which then ends behind the last of them, and
  /// sets how many bytes they have in memory.
  virtual int read(const FileElements& elements, std::span<std::byte>& file, void* memory,
                   std::uint64_t& bytes) const = 0;
};

/// Null, and false, if there is none of that name; null, and true, if elements lie as in memory.
bool find_representation(std::string_view name, const Representation*& found);
/// Makes the datatype as the files of that representation have it.
int make_file_type(const Call& call, const Representation& representation, MPI_Datatype type,
                   Datatype& made);

}  // namespace weft::mpi
