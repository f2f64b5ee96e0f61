// SPDX-License-Identifier: Apache-2.0
// Sessions, without MPI_Init, twice; a communicator of one, and one of two groups.
//   sessions [threads]     threads: a session of a process that began with MPI_Init_thread
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void session(int round) {
  MPI_Session session;
  MPI_Info info;
  MPI_Group world, self;
  MPI_Comm comm, alone;
  char name[256], value[16];
  int sets = 0, length = 0, flag = 0, rank, size, one, sum = 0, has_world = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  for (int i = 0; i < sets; ++i) {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
    if (length > (int)sizeof name) continue;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    has_world += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
  }
  MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
  MPI_Info_get(info, "mpi_size", 15, value, &flag);
  MPI_Info_free(&info);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_from_session_pset(session, "mpi://self", &self);
  MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_create_from_group(self, "own", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &alone);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_size(alone, &one);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) {
    printf("round %d: %d processes, sum %d, alone %d, sets %d, size %s\n", round, size, sum, one,
           has_world, flag ? value : "unknown");
    fflush(stdout);
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free(&alone);
  MPI_Group_free(&world);
  MPI_Group_free(&self);
  MPI_Session_finalize(&session);
}

/* Even and odd numbers, which meet by a text: each sends its number to the other group. */
static void groups(void) {
  MPI_Session session;
  MPI_Group world, own, other;
  MPI_Comm between;
  int rank, size, mine[64], theirs[64], n = 0, m = 0, got[64], sum = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_rank(world, &rank);
  MPI_Group_size(world, &size);
  for (int i = 0; i < size; ++i) {
    if (i % 2 == rank % 2) mine[n++] = i;
    if (i % 2 != rank % 2) theirs[m++] = i;
  }
  MPI_Group_incl(world, n, mine, &own);
  MPI_Group_incl(world, m, theirs, &other);
  // Only leaders need the other group. The first of one meets the last of the other.
  const int leads = rank == mine[rank % 2 == 0 ? 0 : n - 1];
  MPI_Intercomm_create_from_groups(own, rank % 2 == 0 ? 0 : n - 1, leads ? other : MPI_GROUP_NULL,
                                   rank % 2 == 0 ? m - 1 : 0, "both", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &between);
  MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, between);
  for (int i = 0; i < m; ++i) sum += got[i] == theirs[i];
  if (rank == 0) printf("%d of %d in the other group\n", sum, m);
  MPI_Comm_free(&between);
  MPI_Group_free(&own);
  MPI_Group_free(&other);
  MPI_Group_free(&world);
  MPI_Session_finalize(&session);
}

/* A session of a process that has threads already. */
static int with_threads(void) {
  MPI_Session session;
  MPI_Info info;
  char level[32];
  int provided, flag;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", 31, level, &flag);
  printf("level %s\n", flag ? level : "unknown");
  MPI_Info_free(&info);
  MPI_Session_finalize(&session);
  return MPI_Finalize();
}

int main(int argc, char** argv) {
  int flag = 1;
  if (argc > 1 && strcmp(argv[1], "threads") == 0) return with_threads();
  session(1);
  session(2);
  groups();
  MPI_Initialized(&flag);
  return flag;
}
