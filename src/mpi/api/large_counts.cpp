// SPDX-License-Identifier: Apache-2.0
// Point-to-point communication with counts of 64 bits.
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

int send_large(Message message, bool synchronous) {
  if (const int error = message.check(true); error != MPI_SUCCESS) return error;
  Request request;
  message.start_send(synchronous, request);
  return wait_for(message.call, message.communicator, request, abi::status_ignore);
}

int start_large(Message message, bool sends, bool synchronous, MPI_Request* handle) {
  if (const int error = message.check(sends); error != MPI_SUCCESS) return error;
  const Requests::Made made = library().requests.make();
  if (sends) {
    message.start_send(synchronous, *made.request);
  } else {
    message.start_receive(*made.request);
  }
  *handle = handle_of(abi::made_request, made.number);
  return message.call.settle(message.communicator);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Send_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
               MPI_Comm comm) {
  return send_large({{"MPI_Send_c"}, buffer, count, type, to, tag, comm}, false);
}

int MPI_Ssend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm) {
  return send_large({{"MPI_Ssend_c"}, buffer, count, type, to, tag, comm}, true);
}

int MPI_Rsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm) {
  return send_large({{"MPI_Rsend_c"}, buffer, count, type, to, tag, comm}, false);
}

int MPI_Isend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm, MPI_Request* request) {
  return start_large({{"MPI_Isend_c"}, buffer, count, type, to, tag, comm}, true, false, request);
}

int MPI_Issend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return start_large({{"MPI_Issend_c"}, buffer, count, type, to, tag, comm}, true, true, request);
}

int MPI_Irsend_c(const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return start_large({{"MPI_Irsend_c"}, buffer, count, type, to, tag, comm}, true, false, request);
}

int MPI_Recv_c(void* buffer, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status* status) {
  Message message{{"MPI_Recv_c"}, buffer, count, type, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS) return error;
  Request request;
  message.start_receive(request);
  return wait_for(message.call, message.communicator, request, status);
}

int MPI_Irecv_c(void* buffer, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request* request) {
  return start_large({{"MPI_Irecv_c"}, buffer, count, type, from, tag, comm}, false, false,
                     request);
}

int MPI_Sendrecv_c(const void* send_buffer, MPI_Count send_count, MPI_Datatype send_type, int to,
                   int send_tag, void* receive_buffer, MPI_Count receive_count,
                   MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                   MPI_Status* status) {
  const Call call{"MPI_Sendrecv_c"};
  Message in{call, receive_buffer, receive_count, receive_type, from, receive_tag, comm};
  Message out{call, send_buffer, send_count, send_type, to, send_tag, comm};
  if (const int error = in.check(false); error != MPI_SUCCESS) return error;
  if (const int error = out.check(true); error != MPI_SUCCESS) return error;
  Request received, sent;
  in.start_receive(received);
  out.start_send(false, sent);
  library().transfer->until([&] { return sent.done; });
  return wait_for(call, in.communicator, received, status);
}

int MPI_Get_count_c(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Get_count_c"};
  const Datatype* const datatype = call.type(type, error);
  if (datatype == nullptr) return error;
  const std::uint64_t bytes = abi::bytes_in(*status);
  const std::uint64_t size = datatype->size();
  const bool is_whole = size == 0 ? bytes == 0 : bytes % size == 0;
  *count = !is_whole ? MPI_UNDEFINED : size == 0 ? 0 : static_cast<MPI_Count>(bytes / size);
  return MPI_SUCCESS;
}
