// SPDX-License-Identifier: Apache-2.0
// MPI's collective calls and those that make communicators, recorded.
#include "trace/record/mpi_session.hpp"

using weft::trace::Call;
using weft::trace::CallScope;
using weft::trace::Collective;
using weft::trace::Incomplete;
using weft::trace::MpiSession;
using weft::trace::Record;

namespace {

std::uint64_t size_of(MPI_Comm c) {
  int members = 0;
  MPI_Comm_size(c, &members);
  return static_cast<std::uint64_t>(members);
}

/// The datatype of a member's block: the same for all, or one for each.
MPI_Datatype type_of(MPI_Datatype type, std::uint64_t) {
  return type;
}
MPI_Datatype type_of(const MPI_Datatype* types, std::uint64_t member) {
  return types[member];
}

/// Bytes of all members' blocks.
template <class Types>
std::uint64_t sum(const int* counts, Types types, MPI_Comm c) {
  const std::uint64_t members = size_of(c);
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < members; ++i) {
    all += MpiSession::bytes_of(counts[i], type_of(types, i));
  }
  return all;
}

int own_rank(MPI_Comm c) {
  int rank = 0;
  MPI_Comm_rank(c, &rank);
  return rank;
}

/// Writes an operation whose size is its totals.
void add_totals(CallScope& scope, Collective operation, MPI_Comm c, int root, std::uint64_t sent,
                std::uint64_t received) {
  Record record = scope->collective(scope.returned_ns(), operation, c, root, 0);
  record.bytes = sent;
  record.more = received;
  scope->recorder().add(record);
}

}  // namespace

/// A call and the same without waiting. `size` is the argument for `collective`, from the
/// parameters.
#define WEFT_COLLECTIVE(name, iname, operation, root, size, parameters, arguments)                \
  WEFT_CALL(name, (WEFT_LIST parameters)) {                                                       \
    WEFT_REAL(name);                                                                              \
    CallScope scope(Call::name);                                                                  \
    const int code = real(WEFT_LIST arguments);                                                   \
    if (scope) {                                                                                  \
      scope->recorder().add(                                                                      \
          scope->collective(scope.returned_ns(), Collective::operation, c, root, size));          \
    }                                                                                             \
    return code;                                                                                  \
  }                                                                                               \
  WEFT_CALL(iname, (WEFT_LIST parameters, MPI_Request * request)) {                               \
    WEFT_REAL(iname);                                                                             \
    CallScope scope(Call::name);                                                                  \
    const int code = real(WEFT_LIST arguments, request);                                          \
    if (scope) {                                                                                  \
      scope->begin_collective(                                                                    \
          scope->collective(scope.entered_ns(), Collective::operation, c, root, size), *request); \
    }                                                                                             \
    return code;                                                                                  \
  }
#define WEFT_LIST(...) __VA_ARGS__

WEFT_COLLECTIVE(MPI_Barrier, MPI_Ibarrier, barrier, -1, 0, (MPI_Comm c), (c))
WEFT_COLLECTIVE(MPI_Bcast, MPI_Ibcast, broadcast, root, MpiSession::bytes_of(count, type),
                (void* data, int count, MPI_Datatype type, int root, MPI_Comm c),
                (data, count, type, root, c))
WEFT_COLLECTIVE(MPI_Reduce, MPI_Ireduce, reduce, root, MpiSession::bytes_of(count, type),
                (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm c),
                (from, to, count, type, op, root, c))
WEFT_COLLECTIVE(MPI_Allreduce, MPI_Iallreduce, allreduce, -1, MpiSession::bytes_of(count, type),
                (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm c),
                (from, to, count, type, op, c))
WEFT_COLLECTIVE(MPI_Scan, MPI_Iscan, scan, -1, MpiSession::bytes_of(count, type),
                (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm c),
                (from, to, count, type, op, c))
WEFT_COLLECTIVE(MPI_Exscan, MPI_Iexscan, exclusive_scan, -1, MpiSession::bytes_of(count, type),
                (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm c),
                (from, to, count, type, op, c))
WEFT_COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, reduce_scatter_block, -1,
                MpiSession::bytes_of(count, type),
                (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm c),
                (from, to, count, type, op, c))
// Only the root knows its own counts when the others' parameters mean nothing, and the other way
// round; in place, a rank's block is as large as that of the others.
WEFT_COLLECTIVE(MPI_Gather, MPI_Igather, gather, root,
                from == MPI_IN_PLACE ? MpiSession::bytes_of(room, their_type)
                                     : MpiSession::bytes_of(count, type),
                (const void* from, int count, MPI_Datatype type, void* to, int room,
                 MPI_Datatype their_type, int root, MPI_Comm c),
                (from, count, type, to, room, their_type, root, c))
WEFT_COLLECTIVE(MPI_Scatter, MPI_Iscatter, scatter, root,
                to == MPI_IN_PLACE ? MpiSession::bytes_of(count, type)
                                   : MpiSession::bytes_of(room, their_type),
                (const void* from, int count, MPI_Datatype type, void* to, int room,
                 MPI_Datatype their_type, int root, MPI_Comm c),
                (from, count, type, to, room, their_type, root, c))
WEFT_COLLECTIVE(MPI_Allgather, MPI_Iallgather, allgather, -1,
                MpiSession::bytes_of(room, their_type),
                (const void* from, int count, MPI_Datatype type, void* to, int room,
                 MPI_Datatype their_type, MPI_Comm c),
                (from, count, type, to, room, their_type, c))
WEFT_COLLECTIVE(MPI_Alltoall, MPI_Ialltoall, alltoall, -1, MpiSession::bytes_of(room, their_type),
                (const void* from, int count, MPI_Datatype type, void* to, int room,
                 MPI_Datatype their_type, MPI_Comm c),
                (from, count, type, to, room, their_type, c))

/// A call whose members send and receive different amounts: `sent` and `received` are bytes in all.
#define WEFT_TOTALS(name, operation, root, sent, received, parameters, arguments) \
  WEFT_CALL(name, (WEFT_LIST parameters)) {                                       \
    WEFT_REAL(name);                                                              \
    CallScope scope(Call::name);                                                  \
    const int code = real(WEFT_LIST arguments);                                   \
    if (scope) add_totals(scope, Collective::operation, c, root, sent, received); \
    return code;                                                                  \
  }
WEFT_TOTALS(MPI_Gatherv, gatherv, root,
            from == MPI_IN_PLACE ? MpiSession::bytes_of(counts[root], their_type)
                                 : MpiSession::bytes_of(count, type),
            own_rank(c) == root ? sum(counts, their_type, c) : 0,
            (const void* from, int count, MPI_Datatype type, void* to, const int* counts,
             const int* offsets, MPI_Datatype their_type, int root, MPI_Comm c),
            (from, count, type, to, counts, offsets, their_type, root, c))
WEFT_TOTALS(MPI_Scatterv, scatterv, root, own_rank(c) == root ? sum(counts, type, c) : 0,
            to == MPI_IN_PLACE ? MpiSession::bytes_of(counts[root], type)
                               : MpiSession::bytes_of(room, their_type),
            (const void* from, const int* counts, const int* offsets, MPI_Datatype type, void* to,
             int room, MPI_Datatype their_type, int root, MPI_Comm c),
            (from, counts, offsets, type, to, room, their_type, root, c))
WEFT_TOTALS(MPI_Allgatherv, allgatherv, -1,
            MpiSession::bytes_of(counts[own_rank(c)], their_type) * size_of(c),
            sum(counts, their_type, c),
            (const void* from, int count, MPI_Datatype type, void* to, const int* counts,
             const int* offsets, MPI_Datatype their_type, MPI_Comm c),
            (from, count, type, to, counts, offsets, their_type, c))
WEFT_TOTALS(MPI_Alltoallv, alltoallv, -1,
            from == MPI_IN_PLACE ? sum(rooms, their_type, c) : sum(counts, type, c),
            sum(rooms, their_type, c),
            (const void* from, const int* counts, const int* offsets, MPI_Datatype type, void* to,
             const int* rooms, const int* places, MPI_Datatype their_type, MPI_Comm c),
            (from, counts, offsets, type, to, rooms, places, their_type, c))
WEFT_TOTALS(MPI_Alltoallw, alltoallw, -1,
            from == MPI_IN_PLACE ? sum(rooms, their_types, c) : sum(counts, types, c),
            sum(rooms, their_types, c),
            (const void* from, const int* counts, const int* offsets, const MPI_Datatype* types,
             void* to, const int* rooms, const int* places, const MPI_Datatype* their_types,
             MPI_Comm c),
            (from, counts, offsets, types, to, rooms, places, their_types, c))
WEFT_TOTALS(MPI_Reduce_scatter, reduce_scatter, -1, sum(counts, type, c),
            MpiSession::bytes_of(counts[own_rank(c)], type) * size_of(c),
            (const void* from, void* to, const int* counts, MPI_Datatype type, MPI_Op op,
             MPI_Comm c),
            (from, to, counts, type, op, c))

/// A call that makes a communicator, which is `*made`.
#define WEFT_COMMUNICATOR(name, parameters, arguments)      \
  WEFT_CALL(name, (WEFT_LIST parameters)) {                 \
    WEFT_REAL(name);                                        \
    CallScope scope(Call::name);                            \
    const int code = real(WEFT_LIST arguments);             \
    if (scope && code == MPI_SUCCESS) scope->define(*made); \
    return code;                                            \
  }
WEFT_COMMUNICATOR(MPI_Comm_dup, (MPI_Comm c, MPI_Comm* made), (c, made))
WEFT_COMMUNICATOR(MPI_Comm_dup_with_info, (MPI_Comm c, MPI_Info info, MPI_Comm* made),
                  (c, info, made))
WEFT_COMMUNICATOR(MPI_Comm_split, (MPI_Comm c, int colour, int rank, MPI_Comm* made),
                  (c, colour, rank, made))
WEFT_COMMUNICATOR(MPI_Comm_split_type,
                  (MPI_Comm c, int type, int rank, MPI_Info info, MPI_Comm* made),
                  (c, type, rank, info, made))
WEFT_COMMUNICATOR(MPI_Comm_create, (MPI_Comm c, MPI_Group group, MPI_Comm* made), (c, group, made))
WEFT_COMMUNICATOR(MPI_Comm_create_group, (MPI_Comm c, MPI_Group group, int tag, MPI_Comm* made),
                  (c, group, tag, made))
WEFT_COMMUNICATOR(MPI_Cart_create,
                  (MPI_Comm c, int dimensions, const int* sizes, const int* wraps, int reorders,
                   MPI_Comm* made),
                  (c, dimensions, sizes, wraps, reorders, made))
WEFT_COMMUNICATOR(MPI_Cart_sub, (MPI_Comm c, const int* remains, MPI_Comm* made),
                  (c, remains, made))
WEFT_COMMUNICATOR(MPI_Graph_create,
                  (MPI_Comm c, int nodes, const int* index, const int* edges, int reorders,
                   MPI_Comm* made),
                  (c, nodes, index, edges, reorders, made))

/// A call whose messages are not recorded: the recording says why it is incomplete.
#define WEFT_UNRECORDED(name, why, parameters, arguments)                            \
  WEFT_CALL(name, (WEFT_LIST parameters)) {                                          \
    WEFT_REAL(name);                                                                 \
    if (MpiSession::get().is_recording()) MpiSession::get().report(Incomplete::why); \
    return real(WEFT_LIST arguments);                                                \
  }
WEFT_UNRECORDED(MPI_Comm_spawn, between_groups,
                (const char* command, char** words, int processes, MPI_Info info, int root,
                 MPI_Comm c, MPI_Comm* made, int* codes),
                (command, words, processes, info, root, c, made, codes))
WEFT_UNRECORDED(MPI_Comm_accept, between_groups,
                (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* made),
                (port, info, root, c, made))
WEFT_UNRECORDED(MPI_Comm_connect, between_groups,
                (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* made),
                (port, info, root, c, made))

WEFT_CALL(MPI_Comm_free, (MPI_Comm * c)) {
  WEFT_REAL(MPI_Comm_free);
  CallScope scope(Call::MPI_Comm_free);
  if (scope) scope->forget(*c);
  return real(c);
}

WEFT_UNRECORDED(MPI_Win_create, one_sided,
                (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, MPI_Win* window),
                (base, size, unit, info, c, window))
WEFT_UNRECORDED(MPI_Win_allocate, one_sided,
                (MPI_Aint size, int unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* window),
                (size, unit, info, c, base, window))
