// SPDX-License-Identifier: Apache-2.0
// The output of a recorder while a program runs: one file per rank, records of one size, times of
// the rank's own clock. Made for speed and for surviving a killed program; OTF2 is made of it
// afterwards. Includes nothing of weft, so that modules within other programs can use it.
#pragma once

#include <cstdint>

namespace weft::trace {

struct Record {
  enum class Kind : std::uint8_t {
    enter = 1,        ///< a call: `operation` is its Call
    leave,            ///< it returns
    send,             ///< a whole send: `bytes` to `peer` with `tag`
    receive,          ///< a whole receive, of an arrived message
    send_started,     ///< `more` numbers the request from here on
    send_done,        ///< request `more`
    receive_started,  ///< request `more`
    receive_done,     ///< request `more`: `bytes` from `peer` with `tag`
    cancelled,        ///< request `more`
    collective,       ///< `operation` is its Collective, `tag` the root; of bytes below
    progress,         ///< an iteration is done
    communicator,     ///< `communicator` has `peer` members; `more` is the same at all of them and
                      ///< of no other communicator; followed by the members' ranks
    members,          ///< members_in_record ranks of those, over all bytes behind `kind`
    clock,            ///< rank 0's clock is ahead by `more` ns, signed, as measured at this time
    incomplete,       ///< a call that cannot be recorded: `operation` is an Incomplete
    end,              ///< the program has ended in order
  };
  std::uint64_t time_ns = 0;
  /// In a collective: the bytes that this rank sends, summed over all members, itself included, as
  /// OTF2 counts them.
  std::uint64_t bytes = 0;
  std::uint64_t more = 0;  ///< of a collective: received, counted alike
  std::uint32_t peer = 0;  ///< within the communicator
  std::int32_t tag = 0;
  std::uint32_t communicator = 0;  ///< the rank's own numbers: 0 is the world, 1 the rank alone
  std::uint16_t operation = 0;
  Kind kind = Kind::end;
  std::uint8_t reserved = 0;
};
static_assert(sizeof(Record) == 40);

/// Ranks in a record of kind `members`: in `time_ns`, `bytes` and `more`, two in each, the first in
/// the lower half.
inline constexpr std::uint32_t members_in_record = 6;

/// A file begins with it.
struct RecordingHead {
  std::uint64_t magic = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
};
inline constexpr std::uint64_t recording_magic = 0x31'63'65'72'74'66'65'77;  // "weftrec1"

/// As OTF2 numbers them.
enum class Collective : std::uint16_t {
  barrier = 0,
  broadcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  allreduce,
  reduce,
  reduce_scatter,
  scan,
  exclusive_scan,
  reduce_scatter_block,
};

enum class Incomplete : std::uint16_t {
  several_threads = 1,  ///< called MPI at a time, or another one than that which began
  between_groups,       ///< a communicator between two groups
  unknown_request,      ///< a request completed that no recorded call began
  one_sided,            ///< windows, whose transfers are not recorded
  restarted,            ///< the process was started anew, and its earlier events are missing
};

/// Calls, which are regions of a trace.
enum class Call : std::uint16_t {
  none,
  progress,
  MPI_Init,
  MPI_Init_thread,
  MPI_Finalize,
  MPI_Send,
  MPI_Bsend,
  MPI_Ssend,
  MPI_Rsend,
  MPI_Recv,
  MPI_Mrecv,
  MPI_Sendrecv,
  MPI_Sendrecv_replace,
  MPI_Isend,
  MPI_Ibsend,
  MPI_Issend,
  MPI_Irsend,
  MPI_Irecv,
  MPI_Imrecv,
  MPI_Start,
  MPI_Startall,
  MPI_Wait,
  MPI_Waitall,
  MPI_Waitany,
  MPI_Waitsome,
  MPI_Test,
  MPI_Testall,
  MPI_Testany,
  MPI_Testsome,
  MPI_Request_free,
  MPI_Cancel,
  MPI_Probe,
  MPI_Iprobe,
  MPI_Mprobe,
  MPI_Improbe,
  MPI_Barrier,
  MPI_Bcast,
  MPI_Gather,
  MPI_Gatherv,
  MPI_Scatter,
  MPI_Scatterv,
  MPI_Allgather,
  MPI_Allgatherv,
  MPI_Alltoall,
  MPI_Alltoallv,
  MPI_Alltoallw,
  MPI_Allreduce,
  MPI_Reduce,
  MPI_Reduce_scatter,
  MPI_Reduce_scatter_block,
  MPI_Scan,
  MPI_Exscan,
  MPI_Comm_dup,
  MPI_Comm_split,
  MPI_Comm_create,
  MPI_Comm_create_group,
  MPI_Comm_split_type,
  MPI_Comm_dup_with_info,
  MPI_Comm_free,
  MPI_Cart_create,
  MPI_Cart_sub,
  MPI_Graph_create,
  MPI_Dist_graph_create,
  MPI_Dist_graph_create_adjacent,
  weft_send,
  weft_receive,
  weft_wait,
  weft_test,
  weft_begin,
  weft_end,
};

/// Their names, in the same order.
inline constexpr const char* call_names[] = {"none",
                                             "progress",
                                             "MPI_Init",
                                             "MPI_Init_thread",
                                             "MPI_Finalize",
                                             "MPI_Send",
                                             "MPI_Bsend",
                                             "MPI_Ssend",
                                             "MPI_Rsend",
                                             "MPI_Recv",
                                             "MPI_Mrecv",
                                             "MPI_Sendrecv",
                                             "MPI_Sendrecv_replace",
                                             "MPI_Isend",
                                             "MPI_Ibsend",
                                             "MPI_Issend",
                                             "MPI_Irsend",
                                             "MPI_Irecv",
                                             "MPI_Imrecv",
                                             "MPI_Start",
                                             "MPI_Startall",
                                             "MPI_Wait",
                                             "MPI_Waitall",
                                             "MPI_Waitany",
                                             "MPI_Waitsome",
                                             "MPI_Test",
                                             "MPI_Testall",
                                             "MPI_Testany",
                                             "MPI_Testsome",
                                             "MPI_Request_free",
                                             "MPI_Cancel",
                                             "MPI_Probe",
                                             "MPI_Iprobe",
                                             "MPI_Mprobe",
                                             "MPI_Improbe",
                                             "MPI_Barrier",
                                             "MPI_Bcast",
                                             "MPI_Gather",
                                             "MPI_Gatherv",
                                             "MPI_Scatter",
                                             "MPI_Scatterv",
                                             "MPI_Allgather",
                                             "MPI_Allgatherv",
                                             "MPI_Alltoall",
                                             "MPI_Alltoallv",
                                             "MPI_Alltoallw",
                                             "MPI_Allreduce",
                                             "MPI_Reduce",
                                             "MPI_Reduce_scatter",
                                             "MPI_Reduce_scatter_block",
                                             "MPI_Scan",
                                             "MPI_Exscan",
                                             "MPI_Comm_dup",
                                             "MPI_Comm_split",
                                             "MPI_Comm_create",
                                             "MPI_Comm_create_group",
                                             "MPI_Comm_split_type",
                                             "MPI_Comm_dup_with_info",
                                             "MPI_Comm_free",
                                             "MPI_Cart_create",
                                             "MPI_Cart_sub",
                                             "MPI_Graph_create",
                                             "MPI_Dist_graph_create",
                                             "MPI_Dist_graph_create_adjacent",
                                             "weft_send",
                                             "weft_receive",
                                             "weft_wait",
                                             "weft_test",
                                             "weft_begin",
                                             "weft_end"};
inline constexpr std::uint16_t calls = sizeof(call_names) / sizeof(*call_names);
static_assert(calls == static_cast<std::uint16_t>(Call::weft_end) + 1);

/// The region of a mark in a trace.
inline constexpr const char* progress_region = "weft_mark_progress";

}  // namespace weft::trace
