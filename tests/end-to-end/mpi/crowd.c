// SPDX-License-Identifier: Apache-2.0
/* Threads that use all of MPI at the same time, with their own communicators, and one window and
   one communicator of all of them. What each receives is known beforehand. The argument is the
   number of rounds. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { threads = 4, several = 6, long_message = 30000, shared_tag = 900 };

static int rank, size, rounds = 6;
static atomic_int failures;
static MPI_Comm own_comms[threads], common;
static MPI_Win window;
static long* part; /* a slot of each thread of each process, and a counter behind them */
static atomic_long taken, given;

static void check(int good, const char* what) {
  if (good) return;
  if (atomic_fetch_add(&failures, 1) < 10) fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
}

static int value_of(int from, int thread, int round, int i) {
  return from * 1000003 + thread * 10007 + round * 101 + i;
}

/* Requests that are found done one by one, by several, or all together. */
static void any_and_some(int thread, int round, int to, int from) {
  MPI_Request in[several], out[several];
  int got[several], sent[several], left = several, places[several], count;
  for (int i = 0; i < several; ++i) {
    got[i] = -1;
    MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, thread * 10 + i, common, &in[i]);
  }
  for (int i = several - 1; i >= 0; --i) {
    sent[i] = value_of(rank, thread, round, i);
    MPI_Isend(&sent[i], 1, MPI_INT, to, thread * 10 + i, common, &out[i]);
  }
  while (left > 0) {
    count = 1;
    if (round % 3 == 0) MPI_Waitany(several, in, places, MPI_STATUS_IGNORE);
    if (round % 3 == 1) MPI_Waitsome(several, in, &count, places, MPI_STATUSES_IGNORE);
    if (round % 3 == 2) MPI_Testsome(several, in, &count, places, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i) {
      const int place = places[i];
      check(place >= 0 && place < several && got[place] == value_of(from, thread, round, place),
            "a request that was found done");
    }
    left -= count;
  }
  MPI_Waitall(several, out, MPI_STATUSES_IGNORE);
}

/* Any thread takes the messages of any other. */
static void matched_probes(int round, int to) {
  for (int i = 0; i < several; ++i) {
    const int length = i == 0 ? long_message : i;
    int* out = malloc(long_message * sizeof *out);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int flag = 0, count = 0;
    for (int k = 0; k < length; ++k) out[k] = length + round;
    MPI_Isend(out, length, MPI_INT, to, shared_tag, common, &request);
    while (!flag) {
      if (i % 2 == 0) {
        MPI_Mprobe(MPI_ANY_SOURCE, shared_tag, common, &message, &status);
        flag = 1;
      } else {
        MPI_Improbe(MPI_ANY_SOURCE, shared_tag, common, &flag, &message, &status);
      }
    }
    MPI_Get_count(&status, MPI_INT, &count);
    int* in = malloc(long_message * sizeof *in);
    MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    check(in[0] >= count && in[0] == in[count - 1], "a matched message");
    atomic_fetch_add(&taken, count);
    atomic_fetch_add(&given, length);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(in);
    free(out);
  }
}

static void long_messages(int thread, int round, int to, int from) {
  int *out = malloc(long_message * sizeof *out), *in = malloc(long_message * sizeof *in);
  MPI_Datatype gaps;
  MPI_Request requests[2];
  MPI_Type_vector(long_message / 2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < long_message; ++i) out[i] = value_of(rank, thread, round, i), in[i] = -1;
  MPI_Recv_init(in, 1, gaps, from, 100 + thread, common, &requests[0]);
  MPI_Ssend_init(out, 1, gaps, to, 100 + thread, common, &requests[1]);
  MPI_Type_free(&gaps);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(in[0] == value_of(from, thread, round, 0) && in[1] == -1 &&
            in[long_message - 2] == value_of(from, thread, round, long_message - 2),
        "a long message");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(in);
  free(out);
}

static void collectives(int thread, int round) {
  MPI_Comm comm = own_comms[thread], copy, half;
  MPI_Request request;
  int value = rank + round, sum = 0, later = 0, half_sum = 0, half_size = 0;
  int* all = malloc(long_message * sizeof *all);
  for (int i = 0; i < long_message; ++i) all[i] = rank == round % size ? i + thread : -1;
  MPI_Iallreduce(&value, &later, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Bcast(all, long_message, MPI_INT, round % size, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(sum == size * (size - 1) / 2 + size * round && later == sum, "a sum");
  check(all[long_message - 1] == long_message - 1 + thread, "a broadcast");
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_split(copy, rank % 2, -rank, &half);
  MPI_Comm_size(half, &half_size);
  value = 1;
  MPI_Allreduce(&value, &half_sum, 1, MPI_INT, MPI_SUM, half);
  check(half_sum == half_size, "a sum of a part");
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Barrier(comm);
  free(all);
}

/* All threads of all processes access all parts of one window in one epoch. */
static void one_sided(int thread, int round, int to) {
  const long one = 1, mine = value_of(rank, thread, round, 7);
  const int slot = rank * threads + thread, counter = size * threads;
  long back = -1, again = -1, before = -1;
  MPI_Request request;
  MPI_Put(&mine, 1, MPI_LONG, to, slot, 1, MPI_LONG, window);
  MPI_Win_flush(to, window);
  MPI_Get(&back, 1, MPI_LONG, to, slot, 1, MPI_LONG, window);
  MPI_Fetch_and_op(&one, &before, MPI_LONG, to, counter, MPI_SUM, window);
  if (round % 2) {
    MPI_Win_flush(to, window);
  } else {
    MPI_Win_flush_all(window);
  }
  MPI_Rget(&again, 1, MPI_LONG, to, slot, 1, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(back == mine && again == mine && before >= 0, "an access to the window");
}

static int copied(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

/* Objects and questions that have nothing to do with messages. */
static void objects(int thread) {
  MPI_Info info;
  MPI_Group group, one;
  MPI_Datatype type, more;
  int key, flag = 0, elements = 0, length = 0, *universe = NULL, added = 0;
  void* value = NULL;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_get_nkeys(info, &elements);
  MPI_Info_free(&info);
  MPI_Comm_group(common, &group);
  MPI_Group_incl(group, 1, &rank, &one);
  MPI_Group_size(one, &length);
  check(elements == 1 && length == 1, "an object");
  MPI_Group_free(&one);
  MPI_Group_free(&group);
  MPI_Type_contiguous(thread + 1, MPI_INT, &type);
  MPI_Type_vector(2, 1, 3, type, &more);
  MPI_Type_size(more, &length);
  check(length == 8 * (thread + 1), "a size");
  MPI_Type_free(&more);
  MPI_Type_free(&type);
  MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(own_comms[thread], key, &key);
  MPI_Comm_get_attr(own_comms[thread], key, &value, &flag);
  check(flag && value == &key, "an attribute");
  MPI_Comm_delete_attr(own_comms[thread], key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  check(!flag || *universe >= 1, "MPI_UNIVERSE_SIZE");
  MPI_Comm_set_name(own_comms[thread], "own");
  MPI_Comm_get_name(own_comms[thread], text, &length);
  MPI_Add_error_class(&added);
  MPI_Add_error_string(added, "added");
  MPI_Error_string(added, text, &length);
  check(length == 5, "an error's text");
  MPI_Initialized(&flag);
  check(flag && MPI_Wtime() > 0, "MPI_Initialized");
}

static void* work(void* argument) {
  const int thread = (int)(long)argument;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int round = 0; round < rounds; ++round) {
    any_and_some(thread, round, to, from);
    matched_probes(round, to);
    long_messages(thread, round, to, from);
    collectives(thread, round);
    one_sided(thread, round, to);
    objects(thread);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(provided == MPI_THREAD_MULTIPLE, "the level");
  if (argc > 1) rounds = atoi(argv[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &common);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own_comms[i]);
  MPI_Win_allocate((size * threads + 1) * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &part, &window);
  memset(part, 0, (size * threads + 1) * sizeof *part);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  pthread_t others[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&others[i], NULL, work, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  check(part[size * threads] == (long)threads * rounds, "the counter");
  MPI_Win_unlock(rank, window);
  check(taken == given, "the messages of all threads");
  MPI_Win_free(&window);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&own_comms[i]);
  MPI_Comm_free(&common);
  const int mine = failures;
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return mine != 0;
}
