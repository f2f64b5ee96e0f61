// SPDX-License-Identifier: Apache-2.0
// Functions that came after MPI 4.0, which only the standard's ABI has: buffers of communicators
// and sessions, looks at several requests, datatypes of pairs.
//   buffers                                     all but the following
//   buffers threads                             what takes several threads
//   buffers before|after blocking|nonblocking   a flush before MPI_Init or after MPI_Finalize
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 20000, kRoom = kCount * 4 + MPI_BSEND_OVERHEAD };

static int rank, size, failures;

static void expect(int is, const char* what) {
  if (is) return;
  ++failures;
  fprintf(stderr, "%d: %s\n", rank, what);
}

static int to(void) {
  return (rank + 1) % size;
}
static int from(void) {
  return (rank + size - 1) % size;
}

static int send(MPI_Comm comm) {
  static int data[kCount];
  data[kCount - 1] = rank;
  return MPI_Bsend(data, kCount, MPI_INT, to(), 1, comm);
}

static void receive(MPI_Comm comm) {
  static int data[kCount];
  MPI_Recv(data, kCount, MPI_INT, from(), 1, comm, MPI_STATUS_IGNORE);
  expect(data[kCount - 1] == from(), "content");
}

static int class_of(int error) {
  int class = error;
  MPI_Error_class(error, &class);
  return class;
}

static void of_communicators(char* room) {
  MPI_Comm own, other;
  MPI_Count bytes;
  MPI_Request request;
  void* back;
  int n, flag;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  MPI_Comm_attach_buffer(own, room, kRoom);
  expect(class_of(MPI_Comm_attach_buffer(own, room, 1)) == MPI_ERR_BUFFER, "a second buffer");
  expect(class_of(send(other)) == MPI_ERR_BUFFER, "another communicator has none");
  expect(send(own) == MPI_SUCCESS, "room for one");
  expect(class_of(MPI_Bsend(room, kRoom, MPI_BYTE, to(), 2, own)) == MPI_ERR_BUFFER, "no more");
  MPI_Comm_iflush_buffer(own, &request);
  receive(own);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(send(own) == MPI_SUCCESS, "room again");
  receive(own);
  MPI_Comm_flush_buffer(own);
  MPI_Comm_iflush_buffer(own, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  expect(flag, "nothing is left to flush");
  MPI_Comm_detach_buffer(own, &back, &n);
  expect(back == room && n == kRoom, "detached");

  MPI_Comm_attach_buffer_c(own, MPI_BUFFER_AUTOMATIC, -1);  // which size is ignored
  for (int i = 0; i < 20; ++i) expect(send(own) == MPI_SUCCESS, "room for all");
  for (int i = 0; i < 20; ++i) receive(own);
  // Messages of a communicator that is freed go on.
  expect(send(own) == MPI_SUCCESS, "before it is freed");
  receive(own);
  MPI_Comm_detach_buffer_c(own, &back, &bytes);
  expect(back == MPI_BUFFER_AUTOMATIC && bytes == 0, "an automatic one has no size");
  MPI_Buffer_attach(room, kRoom);
  expect(send(other) == MPI_SUCCESS, "that of the process");
  MPI_Buffer_iflush(&request);
  receive(other);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Buffer_flush();
  MPI_Buffer_detach(&back, &n);
  MPI_Comm_free(&own);
  MPI_Comm_free(&other);
}

static void of_sessions(char* room) {
  MPI_Session session, none = MPI_SESSION_NULL;
  MPI_Group all;
  MPI_Comm comm;
  MPI_Request request;
  void* back;
  int n;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  expect(class_of(send(comm)) == MPI_ERR_BUFFER, "no buffer yet");
  MPI_Session_attach_buffer(session, room, kRoom);
  expect(class_of(MPI_Session_attach_buffer(session, room, 1)) == MPI_ERR_BUFFER, "a second one");
  expect(send(comm) == MPI_SUCCESS, "the session's");
  MPI_Session_iflush_buffer(session, &request);
  receive(comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Session_flush_buffer(session);
  MPI_Session_detach_buffer(session, &back, &n);
  expect(back == room && n == kRoom, "detached from the session");
  expect(class_of(send(comm)) == MPI_ERR_BUFFER, "no buffer any more");
  expect(class_of(MPI_Session_flush_buffer(none)) == MPI_ERR_SESSION, "no session");
  MPI_Group_free(&all);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

static MPI_Session session_with(char* room, MPI_Comm* comm) {
  MPI_Session session;
  MPI_Group all;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
  MPI_Session_attach_buffer(session, room, kRoom);
  MPI_Group_free(&all);
  return session;
}

/* A session's buffer serves what comes from the session, and nothing else. */
static void of_two_sessions(char* room) {
  enum { kDerived = 4 };
  char* other_room = malloc(kRoom);
  MPI_Comm a, b, derived[kDerived];
  MPI_Session first = session_with(room, &a), second = session_with(other_room, &b);
  MPI_Group of_b, some;
  MPI_Comm_dup(b, &derived[0]);
  MPI_Comm_split(b, 0, rank, &derived[1]);
  MPI_Comm_group(b, &of_b);
  MPI_Group_union(MPI_GROUP_EMPTY, of_b, &some);
  MPI_Comm_create_from_group(some, "derived", MPI_INFO_NULL, MPI_ERRORS_RETURN, &derived[2]);
  MPI_Group_free(&some);
  MPI_Group_excl(of_b, 0, NULL, &some);
  MPI_Comm_create_from_group(some, "other", MPI_INFO_NULL, MPI_ERRORS_RETURN, &derived[3]);
  MPI_Group_free(&some);
  MPI_Group_free(&of_b);
  expect(class_of(send(MPI_COMM_WORLD)) == MPI_ERR_BUFFER, "the world is of no session");
  expect(send(b) == MPI_SUCCESS, "room in the second session");
  MPI_Session_flush_buffer(first);
  for (int i = 0; i < kDerived; ++i) {
    expect(class_of(send(derived[i])) == MPI_ERR_BUFFER, "one buffer for all of a session");
  }
  expect(send(a) == MPI_SUCCESS, "room in the first session");
  MPI_Barrier(MPI_COMM_WORLD);
  receive(b);
  MPI_Session_flush_buffer(second);
  for (int i = 0; i < kDerived; ++i) {
    expect(send(derived[i]) == MPI_SUCCESS, "room for what comes from the session");
    receive(derived[i]);
    MPI_Session_flush_buffer(second);
    MPI_Comm_free(&derived[i]);
  }
  receive(a);
  MPI_Comm_free(&a);
  MPI_Comm_free(&b);
  MPI_Session_finalize(&first);
  MPI_Session_finalize(&second);
  free(other_room);
}

/* What is attached to a session is detached with its end, when its messages are sent. */
static void of_an_ended_session(char* room) {
  MPI_Comm comm;
  MPI_Session session = session_with(room, &comm);
  expect(send(comm) == MPI_SUCCESS, "before the session ends");
  receive(comm);
  MPI_Session_finalize(&session);
  expect(class_of(send(comm)) == MPI_ERR_BUFFER, "the session has ended");
  MPI_Comm_free(&comm);
}

#define REFUSES_NULL(call) expect(class_of(call) == MPI_ERR_ARG, #call)

static void nulls(void) {
  MPI_Session session;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int n;
  void* at;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  REFUSES_NULL(MPI_Abi_get_version(NULL, &n));
  REFUSES_NULL(MPI_Abi_get_info(NULL));
  REFUSES_NULL(MPI_Abi_get_fortran_info(NULL));
  REFUSES_NULL(MPI_Abi_get_fortran_booleans(4, &n, &n, NULL));
  REFUSES_NULL(MPI_Get_hw_resource_info(NULL));
  REFUSES_NULL(MPI_Type_get_value_index(MPI_INT, MPI_INT, NULL));
  REFUSES_NULL(MPI_Request_get_status_all(1, &request, NULL, &status));
  REFUSES_NULL(MPI_Request_get_status_all(1, NULL, &n, &status));
  REFUSES_NULL(MPI_File_delete(NULL, MPI_INFO_NULL));
  REFUSES_NULL(MPI_Request_get_status_some(1, &request, &n, NULL, &status));
  REFUSES_NULL(MPI_Request_get_status_any(1, &request, NULL, &n, &status));
  REFUSES_NULL(MPI_Status_get_tag(&status, NULL));
  REFUSES_NULL(MPI_Status_set_tag(NULL, 1));
  REFUSES_NULL(MPI_Buffer_iflush(NULL));
  REFUSES_NULL(MPI_Comm_iflush_buffer(MPI_COMM_SELF, NULL));
  REFUSES_NULL(MPI_Session_iflush_buffer(session, NULL));
  REFUSES_NULL(MPI_Comm_detach_buffer(MPI_COMM_SELF, &at, NULL));
  REFUSES_NULL(MPI_Session_detach_buffer_c(session, NULL, NULL));
  MPI_Session_finalize(&session);
}

static void* flush(void* comm) {
  MPI_Comm_flush_buffer(*(MPI_Comm*)comm);
  return NULL;
}

enum { kGo = 20, kFirst, kSecond };

/* Answers, and receives a message of the communicator when it is told to. */
static void serve(MPI_Comm comm, int from) {
  static int data[kCount];
  int go = 1;
  MPI_Status status;
  do {
    MPI_Recv(NULL, 0, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == kGo) {
      MPI_Send(&go, 1, MPI_INT, from, kGo, MPI_COMM_WORLD);
    } else {
      MPI_Recv(data, kCount, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
    }
  } while (status.MPI_TAG != kSecond);
}

/* A blocking flush does not wait for a message that another thread sends after it has begun. */
static void of_threads(void) {
  MPI_Comm comm;
  MPI_Request request;
  volatile int go;
  pthread_t flusher;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 1) serve(comm, 0);
  if (rank == 0) {
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    send(comm);
    // The answer shall come when only the flush is there to take it.
    for (;;) {
      go = 0;
      MPI_Irecv((int*)&go, 1, MPI_INT, 1, kGo, MPI_COMM_WORLD, &request);
      MPI_Send(NULL, 0, MPI_INT, 1, kGo, MPI_COMM_WORLD);
      if (!go) break;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    pthread_create(&flusher, NULL, flush, &comm);
    while (!go) sched_yield();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    send(comm);
    MPI_Send(NULL, 0, MPI_INT, 1, kFirst, MPI_COMM_WORLD);
    pthread_join(flusher, NULL);
    MPI_Send(NULL, 0, MPI_INT, 1, kSecond, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&comm);
}

static void of_requests(void) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int data[3], flag, index, done, indices[3], n;
  for (int i = 0; i < 2; ++i) {
    MPI_Irecv(&data[i], 1, MPI_INT, from(), 10 + i, MPI_COMM_WORLD, &requests[i]);
  }
  requests[2] = MPI_REQUEST_NULL;
  MPI_Request_get_status_all(3, requests, &flag, statuses);
  expect(!flag, "none has come");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, to(), 11, MPI_COMM_WORLD);
  do MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  while (!flag);
  expect(index == 1 && statuses[0].MPI_TAG == 11, "the second");
  MPI_Request_get_status_some(3, requests, &done, indices, statuses);
  expect(done == 1 && indices[0] == 1 && statuses[0].MPI_SOURCE == from(), "some");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, to(), 10, MPI_COMM_WORLD);
  do MPI_Request_get_status_all(3, requests, &flag, statuses);
  while (!flag);
  MPI_Get_count(&statuses[2], MPI_INT, &n);
  expect(statuses[0].MPI_TAG == 10 && statuses[1].MPI_TAG == 11 && n == 0, "all");
  MPI_Request_get_status_all(3, requests, &flag, MPI_STATUSES_IGNORE);
  expect(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "they stay");
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  expect(data[0] == from() && data[1] == from(), "received");
  MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
  MPI_Get_count(statuses, MPI_INT, &n);
  expect(flag && index == MPI_UNDEFINED && n == 0, "none is left");
  MPI_Request_get_status_some(3, requests, &done, indices, statuses);
  expect(done == MPI_UNDEFINED, "none of none");
}

static void others(void) {
  MPI_Datatype pair;
  MPI_Info info;
  int keys;
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  expect(pair == MPI_DOUBLE_INT, "a pair");
  MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &pair);
  expect(pair == MPI_DATATYPE_NULL, "no such pair");
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get_nkeys(info, &keys);
  expect(keys == 0, "no hardware");
  MPI_Info_free(&info);
}

static void flush_when_closed(const char* how) {
  MPI_Request request;
  if (strcmp(how, "blocking") == 0) MPI_Buffer_flush();
  if (strcmp(how, "nonblocking") == 0) MPI_Buffer_iflush(&request);
}

int main(int argc, char** argv) {
  int all = 0, level;
  if (argc > 2 && strcmp(argv[1], "before") == 0) flush_when_closed(argv[2]);
  MPI_Init_thread(NULL, NULL, argc == 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // of no session
  char* room = malloc(kRoom);
  if (argc == 2) {
    of_threads();
  } else if (argc == 1) {
    of_communicators(room);
    of_sessions(room);
    of_two_sessions(room);
    of_an_ended_session(room);
    nulls();
    of_requests();
    others();
  }
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  free(room);
  MPI_Finalize();
  if (argc > 2) flush_when_closed(argv[2]);
  return 0;
}
