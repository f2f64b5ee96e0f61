// SPDX-License-Identifier: Apache-2.0
// Datatypes of parts of arrays: subarrays, and the parts of distributed arrays.
#include <algorithm>

#include "mpi/api/counted.hpp"
#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

std::size_t place(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A part of an array: in each dimension the indices that belong to it, the fastest dimension
/// first.
struct ArrayPart {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> indices;
};

Datatype layout_of(const ArrayPart& part, const Datatype& element) {
  Datatype inner = element;
  std::int64_t stride = element.extent();
  for (std::size_t d = 0; d < part.sizes.size(); ++d) {
    std::vector<Block> blocks;
    for (const std::int64_t index : part.indices[d]) blocks.push_back({1, index * stride, &inner});
    inner = Datatype(blocks);
    stride *= part.sizes[d];
  }
  return inner.resized(0, stride);
}

/// The place of dimension d of the caller's among those of ArrayPart.
std::int64_t dimension(std::int64_t d, std::int64_t dimensions, int order) {
  return order == MPI_ORDER_FORTRAN ? d : dimensions - 1 - d;
}

bool check_order(TypeMaker& maker, int order) {
  if (!maker.ok() || order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return maker.ok();
  maker.error = maker.call.fail(&library().world, MPI_ERR_ARG, "{} is no order of an array", order);
  return false;
}

int subarray(const char* function, int dimensions, Integers sizes, Integers parts, Integers starts,
             int order, MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, MPI_COMBINER_SUBARRAY);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !check_order(maker, order)) return maker.error;
  if (!maker.check_count(dimensions, sizes, parts, starts)) return maker.error;
  maker.note_integer(dimensions);
  for (const Integers& values : {sizes, parts, starts}) maker.note(values, dimensions);
  maker.note_integer(order);
  ArrayPart part;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const std::size_t d = place(dimension(i, dimensions, order));
    if (parts[d] < 1 || starts[d] < 0 || starts[d] + parts[d] > sizes[d]) {
      return maker.call.fail(&library().world, MPI_ERR_ARG,
                             "{} elements from {} are no part of dimension {} of size {}", parts[d],
                             starts[d], d, sizes[d]);
    }
    part.sizes.push_back(sizes[d]);
    part.indices.emplace_back();
    for (std::int64_t k = 0; k < parts[d]; ++k) part.indices.back().push_back(starts[d] + k);
  }
  return maker.make(layout_of(part, *old), made);
}

/// One dimension of a distributed array.
struct Distribution {
  std::int64_t size = 0;
  int kind = MPI_DISTRIBUTE_NONE;
  std::int64_t argument = 0;
  std::int64_t processes = 1;
  std::int64_t process = 0;

  /// Elements dealt out at a time; below 1: the arguments are wrong.
  std::int64_t block() const {
    const bool has_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == MPI_DISTRIBUTE_NONE) return processes == 1 ? std::max<std::int64_t>(size, 1) : 0;
    if (kind == MPI_DISTRIBUTE_CYCLIC) return has_default ? 1 : argument;
    const std::int64_t fair = std::max<std::int64_t>((size + processes - 1) / processes, 1);
    return has_default ? fair : argument * processes >= size ? argument : 0;
  }
  std::vector<std::int64_t> indices() const {
    std::vector<std::int64_t> own;
    const std::int64_t length = block();
    for (std::int64_t begin = process * length; begin < size; begin += processes * length) {
      for (std::int64_t i = begin; i < std::min(begin + length, size); ++i) own.push_back(i);
    }
    return own;
  }
};

int distributed(const char* function, int size, int rank, int dimensions, Integers sizes,
                const int* kinds, const int* arguments, const int* processes, int order,
                MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, MPI_COMBINER_DARRAY);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !check_order(maker, order)) return maker.error;
  if (!maker.check_count(dimensions, sizes, kinds, arguments, processes)) return maker.error;
  for (const int value : {size, rank, dimensions}) maker.note_integer(value);
  maker.note(sizes, dimensions);
  for (const int* values : {kinds, arguments, processes}) {
    for (int d = 0; d < dimensions; ++d) maker.note_integer(values[d]);
  }
  maker.note_integer(order);
  // Processes are in a grid, the last dimension the fastest, whatever the array's order.
  std::vector<std::int64_t> coordinates(place(dimensions));
  std::int64_t rest = rank;
  for (int d = dimensions - 1; d >= 0; --d) {
    coordinates[place(d)] = rest % std::max(processes[d], 1);
    rest /= std::max(processes[d], 1);
  }
  ArrayPart part;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const std::size_t d = place(dimension(i, dimensions, order));
    const Distribution one{sizes[d], kinds[d], arguments[d], processes[d], coordinates[d]};
    if (one.processes < 1 || one.block() < 1) {
      return maker.call.fail(&library().world, MPI_ERR_ARG,
                             "dimension {} of size {} cannot be dealt out so to {} processes", d,
                             one.size, one.processes);
    }
    part.sizes.push_back(one.size);
    part.indices.push_back(one.indices());
  }
  return maker.make(layout_of(part, *old), made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_BOTH(MPI_Type_create_subarray, subarray)
WEFT_MPI_BOTH(MPI_Type_create_darray, distributed)
