// SPDX-License-Identifier: Apache-2.0
/* What a program frees or ends while something still uses it, and what few programs look at. Each
   result is known beforehand. The argument is the name of a file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

static void check(int good, const char* what) {
  if (good) return;
  ++failures;
  fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
}

/* A persistent request outlives the handles that it was made with. Their numbers are used again. */
static void freed_handles(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int out[16], in[16];
  MPI_Request requests[2];
  MPI_Datatype gaps, others[100];
  MPI_Comm copy, reversed;
  for (int i = 0; i < 16; ++i) out[i] = rank * 100 + i, in[i] = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Send_init(out, 1, gaps, to, 3, copy, &requests[0]);
  MPI_Recv_init(in, 1, gaps, from, 3, copy, &requests[1]);
  MPI_Type_free(&gaps);
  MPI_Comm_free(&copy);
  for (int i = 0; i < 100; ++i) MPI_Type_contiguous(3, MPI_CHAR, &others[i]);
  for (int i = 0; i < 100; ++i) MPI_Type_free(&others[i]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(in[0] == from * 100 && in[6] == from * 100 + 6 && in[1] == -1, "a persistent message");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Comm_free(&reversed);
}

static void add_and_one(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i] + 1;
}
static void nothing(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void freed_operations(void) {
  int value = rank, sum = -1;
  MPI_Op op, other;
  MPI_Request request;
  MPI_Op_create(add_and_one, 1, &op);
  MPI_Allreduce_init(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Op_free(&op);
  MPI_Op_create(nothing, 1, &other);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(sum == size * (size - 1) / 2 + size - 1, "a persistent sum");
  MPI_Request_free(&request);
  MPI_Op_free(&other);
}

/* The buffer has room again once the other process has the message. */
static void buffered_sends(void) {
  enum { length = 1 << 20 };
  const int bytes = length + MPI_BSEND_OVERHEAD;
  char *data = calloc(length, 1), *room = malloc(bytes), answer = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Buffer_attach(room, bytes);
  for (int i = 0; i < 20 && size > 1; ++i) {
    if (rank == 0) {
      check(MPI_Bsend(data, length, MPI_BYTE, 1, 3, comm) == MPI_SUCCESS, "a buffered send");
      MPI_Recv(&answer, 1, MPI_BYTE, 1, 4, comm, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(data, length, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE);
      MPI_Send(&answer, 1, MPI_BYTE, 0, 4, comm);
    }
  }
  int size_then = 0;
  void* room_then = NULL;
  if (rank == 0) MPI_Buffer_detach(&room_then, &size_then);
  check(rank != 0 || (room_then == room && size_then == bytes), "the buffer");
  MPI_Comm_free(&comm);
  free(data);
  free(room);
}

static MPI_Comm told;
static void tell(MPI_Comm* comm, int* code, ...) {
  (void)code;
  told = *comm;
}

/* An error of a request is one of its communicator. */
static void errors_of_requests(void) {
  int out[8] = {0}, in[2], error_class = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Request send, receive;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(tell, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Isend(out, 8, MPI_INT, 0, 1, comm, &send);
  MPI_Irecv(in, 2, MPI_INT, 0, 1, comm, &receive);
  MPI_Error_class(MPI_Wait(&receive, MPI_STATUS_IGNORE), &error_class);
  check(told == comm && error_class == MPI_ERR_TRUNCATE, "the error of a request");
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Error_string(MPI_ERR_NO_SUCH_FILE, text, &length);
  check(strcmp(text, "there is no such file") == 0, "the text of an error");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

static void counts_and_bounds(void) {
  const int lengths[2] = {0, 1};
  const MPI_Aint places[2] = {100, 0};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype type;
  MPI_Aint lower = -1, extent = -1;
  MPI_Status status;
  int count = 0;
  MPI_Status_set_elements_x(&status, MPI_BYTE, 3000000000);
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == MPI_UNDEFINED, "a count that is too large for an int");
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_get_extent(type, &lower, &extent);
  check(lower == 0 && extent == 1, "the extent of a struct with an empty block");
  MPI_Type_free(&type);
}

/* A block distribution of fewer elements than processes: the last process has none. */
static void views_of_nothing(const char* name) {
  const int elements = size > 1 ? size - 1 : 1, distribution = MPI_DISTRIBUTE_BLOCK;
  const int argument = MPI_DISTRIBUTE_DFLT_DARG, all = size;
  MPI_Datatype part;
  MPI_File file;
  MPI_Offset bytes = -1;
  int own = 0, value = rank + 10, got = -1;
  MPI_Type_create_darray(size, rank, 1, &elements, &distribution, &argument, &all, MPI_ORDER_C,
                         MPI_INT, &part);
  MPI_Type_commit(&part);
  MPI_Type_size(part, &own);
  own /= sizeof value;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  check(MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL) == MPI_SUCCESS,
        "a view");
  MPI_File_write_all(file, &value, own, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at_all(file, 0, &got, own, MPI_INT, MPI_STATUS_IGNORE);
  check(got == (own > 0 ? value : -1), "what the file has");
  MPI_File_get_size(file, &bytes);
  check(bytes == (MPI_Offset)(elements * sizeof value), "the size of the file");
  MPI_File_close(&file);
  MPI_Type_free(&part);
}

/* As in ROMIO, the end of a file is behind an element that the file has in part. */
static void ends_within_elements(const char* name) {
  MPI_File file;
  MPI_Offset end = -1;
  if (rank != 0) return;
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write(file, "abcdef", 6, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &end);
  check(end == 2, "the end of the file");
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  freed_handles();
  freed_operations();
  buffered_sends();
  errors_of_requests();
  counts_and_bounds();
  views_of_nothing(argv[1]);
  ends_within_elements(argv[1]);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return 0;
}
