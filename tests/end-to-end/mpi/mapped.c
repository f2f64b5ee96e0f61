// SPDX-License-Identifier: Apache-2.0
// Windows in memory that two processes share: an access takes place at once, and whoever polls or
// waits there goes on serving others.
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, failures;
static MPI_Win win;
static long* part;

static void expect(int good, const char* what) {
  if (good) return;
  printf("%d: not so: %s\n", rank, what);
  ++failures;
}

static int class_of(int error) {
  int found;
  MPI_Error_class(error, &found);
  return found;
}

static void make_window(MPI_Aint longs) {
  MPI_Win_allocate(longs * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &part, &win);
  for (MPI_Aint i = 0; i < longs; ++i) part[i] = 0;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 polls rank 1's part until it changes; rank 1 first needs rank 0 to receive.
static void poll_while_another_sends(void) {
  long seen = 0, one = 1, came = 0;
  MPI_Request receive, request;
  make_window(4);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Irecv(&came, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, &receive);
    while (seen == 0) {
      MPI_Rget(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  } else {
    MPI_Ssend(&one, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_REPLACE, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void refuse_bytes_before_a_part(void) {
  long values[4] = {1, 2, 3, 4};
  MPI_Datatype backwards;
  MPI_Type_create_resized(MPI_LONG, 0, -(MPI_Aint)sizeof(long), &backwards);
  MPI_Type_commit(&backwards);
  make_window(8);
  MPI_Win_lock_all(0, win);
  expect(
      class_of(MPI_Put(values, 4, MPI_LONG, 1 - rank, 0, 4, backwards, win)) == MPI_ERR_RMA_RANGE,
      "elements before a part are refused");
  expect(MPI_Put(values, 4, MPI_LONG, 1 - rank, 3, 4, backwards, win) == MPI_SUCCESS,
         "elements may go backwards");
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(part[0] == 4 && part[3] == 1 && part[4] == 0, "they have");
  MPI_Win_free(&win);
  MPI_Type_free(&backwards);
}

// In place of a window that nobody could use, everywhere.
static void refuse_more_than_there_is(void) {
  const MPI_Aint much = (MPI_Aint)1 << 44;
  long* base;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error = MPI_Win_allocate(much, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  expect(class_of(error) == MPI_ERR_NO_MEM, "more than there is is refused");
  error = MPI_Win_allocate(rank == 1 ? much : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  expect(class_of(error) == MPI_ERR_NO_MEM, "what one process cannot have is refused to all");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void swap_into_what_was_expected(void) {
  long wanted = 99, value = 7, mine = 41;
  make_window(1);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Put(&mine, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
  MPI_Win_flush(rank, win);
  MPI_Compare_and_swap(&wanted, &value, &value, MPI_LONG, rank, 0, win);
  MPI_Win_unlock(rank, win);
  expect(value == 41 && part[0] == 41, "nothing is swapped for what was not expected");
  MPI_Win_free(&win);
}

static void* send_one(void* unused) {
  long one = 1;
  MPI_Send(&one, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD);
  return unused;
}

// Threads are allowed after the window was made: one waits there while the other sends.
static void let_threads_in_later(void) {
  MPI_Session session;
  MPI_Info info;
  pthread_t sender;
  long came;
  make_window(1);
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  if (rank == 0) {
    pthread_create(&sender, NULL, send_one, NULL);
  } else {
    MPI_Recv(&came, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Win_fence(0, win);
  if (rank == 0) pthread_join(sender, NULL);
  MPI_Win_free(&win);
  MPI_Session_finalize(&session);
}

// A receive of what is there does not wait for a peer to which much was sent.
static void receive_beside_a_crowd(void) {
  enum { many = 20000 };
  static MPI_Request requests[many];
  static long values[many];
  long came = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < many; ++i) {
      values[i] = i;
      MPI_Isend(&values[i], 1, MPI_LONG, 1, 3, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(&came, 1, MPI_LONG, 0, 4, MPI_COMM_SELF);
    MPI_Recv(&came, 1, MPI_LONG, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    FILE* gate = fopen(getenv("GATE"), "w");
    fclose(gate);
    MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
  } else {
    FILE* gate;
    while ((gate = fopen(getenv("GATE"), "r")) == NULL) sched_yield();
    fclose(gate);
    for (int i = 0; i < many; ++i) {
      MPI_Recv(&came, 1, MPI_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      failures += came != i;
    }
  }
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  receive_beside_a_crowd();
  poll_while_another_sends();
  refuse_bytes_before_a_part();
  refuse_more_than_there_is();
  swap_into_what_was_expected();
  let_threads_in_later();
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  return 0;
}
