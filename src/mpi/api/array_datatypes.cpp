// SPDX-License-Identifier: Apache-2.0
// Datatypes of parts of arrays: subarrays, and the parts of distributed arrays.
#include <algorithm>
#include <utility>

#include "mpi/api/counted.hpp"
#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

std::size_t place(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// The part of one dimension: ranges of `length` indices from `first` on, whose beginnings are
/// `step` apart. They end before `end`, within the last range if need be.
struct Ranges {
  std::int64_t first;
  std::int64_t length;  ///< at least 1
  std::int64_t step;    ///< at least `length`
  std::int64_t end;

  std::int64_t count() const { return first < end ? (end - first - 1) / step + 1 : 0; }
  std::int64_t indices() const {
    if (first >= end) return 0;
    const std::int64_t last = first + (count() - 1) * step;
    return (count() - 1) * length + std::min(length, end - last);
  }
  /// The same indices in as few ranges as possible.
  Ranges joined() const {
    return length == step && first < end ? Ranges{first, end - first, end - first, end} : *this;
  }
};

/// A part of an array: in each dimension the indices that belong to it, the fastest dimension
/// first.
struct ArrayPart {
  std::vector<std::int64_t> sizes;
  std::vector<Ranges> ranges;
};

/// Makes the datatype of the part. It takes memory for each range, not for each index: an element
/// without gaps in the array is one piece with its neighbours.
int make_part(TypeMaker& maker, const ArrayPart& part, const Datatype& element,
              MPI_Datatype* made) {
  std::int64_t stride = element.extent();
  Datatype inner = element.resized(0, stride);
  for (std::size_t d = 0; d < part.sizes.size(); ++d) {
    const Ranges ranges = part.ranges[d].joined();
    const auto pieces = static_cast<std::uint64_t>(ranges.count());
    const auto indices = static_cast<std::uint64_t>(ranges.indices());
    const bool has_room = inner.is_contiguous() ? maker.check_room(pieces, 1, inner)
                                                : maker.check_room(1, indices, inner);
    if (!has_room) return maker.error;
    std::vector<Block> blocks;
    blocks.reserve(pieces);
    for (std::int64_t begin = ranges.first; begin < ranges.end; begin += ranges.step) {
      const std::int64_t length = std::min(ranges.length, ranges.end - begin);
      blocks.push_back({static_cast<std::uint64_t>(length), begin * stride, &inner});
    }
    // A step in the next dimension leads over all of this one.
    stride *= part.sizes[d];
    inner = Datatype(blocks).resized(0, stride);
  }
  return maker.make(std::move(inner), made);
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
    if (parts[d] < (abi::has_empty_parts ? 0 : 1) || starts[d] < 0 ||
        starts[d] + parts[d] > sizes[d]) {
      return maker.call.fail(&library().world, MPI_ERR_ARG,
                             "{} elements from {} are no part of dimension {} of size {}", parts[d],
                             starts[d], d, sizes[d]);
    }
    part.sizes.push_back(sizes[d]);
    part.ranges.push_back({starts[d], parts[d], parts[d], starts[d] + parts[d]});
  }
  return make_part(maker, part, *old, made);
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
  Ranges ranges() const {
    const std::int64_t length = block();
    return {process * length, length, processes * length, size};
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
    part.ranges.push_back(one.ranges());
  }
  return make_part(maker, part, *old, made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_BOTH(MPI_Type_create_subarray, subarray)
WEFT_MPI_BOTH(MPI_Type_create_darray, distributed)
