// SPDX-License-Identifier: Apache-2.0
// Sessions, without MPI_Init, twice; a communicator of one, and one of two groups.
//   sessions threads     a session of a process that began with MPI_Init_thread
//   sessions single      MPI_Init_thread(MPI_THREAD_SINGLE) in a process with a session of threads
//   sessions unnamed     communicators of no group, of a function that is named
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

static void tell_level(MPI_Session session, const char* when) {
  MPI_Info info;
  char level[32];
  int flag;
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", 31, level, &flag);
  printf("%s %s\n", when, flag ? level : "unknown");
  MPI_Info_free(&info);
}

/* A session of a process that has threads already. */
static int with_threads(void) {
  MPI_Session session;
  int provided;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  tell_level(session, "level");
  MPI_Session_finalize(&session);
  return MPI_Finalize();
}

/* MPI_Init_thread leaves a session the threads that it asked for. */
static int without_threads(void) {
  MPI_Session session;
  MPI_Info info;
  int provided, level;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
  MPI_Query_thread(&level);
  tell_level(session, level == MPI_THREAD_SINGLE ? "session" : "no longer single, session");
  MPI_Finalize();
  return MPI_Session_finalize(&session);
}

static int handled = 0;

static void handle(MPI_Comm* comm, int* error, ...) {
  int error_class;
  MPI_Error_class(*error, &error_class);
  handled += error_class == MPI_ERR_GROUP || error_class == MPI_ERR_RANK;
}

/* Errors of what makes communicators go to their error handler; empty groups are none. */
static void wrong_groups(void) {
  MPI_Session session;
  MPI_Group world, self;
  MPI_Comm made;
  MPI_Errhandler handler;
  int rank;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_rank(world, &rank);
  MPI_Group_from_session_pset(session, "mpi://SELF", &self);
  MPI_Comm_create_errhandler(handle, &handler);
  const MPI_Errhandler handlers[] = {MPI_ERRORS_RETURN, handler};
  int failed = 0, empty = 0;
  for (int i = 0; i < 2; ++i) {
    failed +=
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "", MPI_INFO_NULL, handlers[i], &made) != 0;
    // No local group, no other one, no rank in it.
    const MPI_Group locals[] = {MPI_GROUP_NULL, self, self};
    const MPI_Group others[] = {self, MPI_GROUP_NULL, self};
    for (int k = 0; k < 3; ++k) {
      failed += MPI_Intercomm_create_from_groups(locals[k], 0, others[k], k, "", MPI_INFO_NULL,
                                                 handlers[i], &made) != 0;
    }
  }
  for (int i = 0; i < 3; ++i) {
    made = MPI_COMM_WORLD;
    const int error = MPI_Intercomm_create_from_groups(i == 1 ? self : MPI_GROUP_EMPTY, 0,
                                                       i == 0 ? self : MPI_GROUP_EMPTY, 0, "",
                                                       MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    empty += error == MPI_SUCCESS && made == MPI_COMM_NULL;
  }
  MPI_Group_free(&world);
  MPI_Group_free(&self);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
  // Lines of several processes would have no order.
  if (rank == 0) printf("%d errors, %d handled, %d of no process\n", failed, handled, empty);
}

static int session_class = 0, session_calls = 0;

static void handle_session(MPI_Session* session, int* error, ...) {
  MPI_Error_class(*error, &session_class);
  ++session_calls;
}

static void handle_file(MPI_File* file, int* error, ...) {}

/* Null places, and handlers of other objects' errors. */
static void wrong_arguments(MPI_Session session, int rank) {
  MPI_Errhandler of_communicators, of_files, found;
  MPI_Win window;
  MPI_Group group;
  MPI_Info info;
  MPI_Comm made;
  int wrong = 0;
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "", MPI_INFO_NULL, MPI_ERRORS_ABORT, &made);
  MPI_Comm_get_errhandler(made, &found);
  MPI_Comm_create_errhandler(handle, &of_communicators);
  MPI_File_create_errhandler(handle_file, &of_files);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, made, &window);
  // Errors of no object are those of the world.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int codes[] = {MPI_Session_finalize(NULL),
                       MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL),
                       MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, NULL),
                       MPI_Session_get_pset_info(session, NULL, &info),
                       MPI_Session_get_info(session, NULL),
                       MPI_Group_from_session_pset(session, NULL, &group),
                       MPI_Group_from_session_pset(session, "mpi://SELF", NULL),
                       MPI_Win_free(NULL),
                       MPI_Win_free_keyval(NULL),
                       MPI_Win_set_name(window, NULL),
                       MPI_Comm_get_errhandler(made, NULL),
                       MPI_Win_get_errhandler(window, NULL),
                       MPI_File_get_errhandler(MPI_FILE_NULL, NULL),
                       MPI_Session_get_errhandler(session, NULL),
                       MPI_Session_set_errhandler(session, of_communicators),
                       MPI_Win_set_errhandler(window, of_communicators),
                       MPI_File_set_errhandler(MPI_FILE_NULL, of_communicators),
                       MPI_Comm_set_errhandler(made, of_files)};
  for (unsigned i = 0; i < sizeof codes / sizeof *codes; ++i) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(codes[i], &error_class);
    wrong += error_class == MPI_ERR_ARG;
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
  MPI_Errhandler_free(&of_communicators);
  MPI_Errhandler_free(&of_files);
  if (rank == 0) printf("%d wrong, %d\n", wrong, found == MPI_ERRORS_ABORT);
}

/* Errors of a session's calls go to its own error handler: the program's, none, MPI's. */
static void wrong_sessions(void) {
  MPI_Session session;
  MPI_Errhandler handler, got;
  MPI_Group world;
  int length = 0, rank;
  MPI_Session_create_errhandler(handle_session, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_rank(world, &rank);
  MPI_Group_free(&world);
  int failed = MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 17, &length, NULL) != 0;
  const int is_first = session_class == MPI_ERR_ARG;
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  const int is_second = session_class == MPI_ERR_OTHER;
  MPI_Session_get_errhandler(session, &got);
  const int is_same = got == handler;
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
  failed += MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 17, &length, NULL) != 0;
  MPI_Session_get_errhandler(session, &got);
  wrong_arguments(session, rank);
  if (rank == 0) {
    printf("%d errors of sessions, %d calls: %d %d %d %d\n", failed, session_calls, is_first,
           is_second, is_same, got == MPI_ERRORS_RETURN);
  }
  MPI_Session_finalize(&session);
}

static int unnamed(void) {
  MPI_Session session;
  MPI_Comm made;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, MPI_GROUP_NULL, 0, "", MPI_INFO_NULL,
                                          MPI_ERRORS_ARE_FATAL, &made);
}

int main(int argc, char** argv) {
  int flag = 1;
  if (argc > 1 && strcmp(argv[1], "threads") == 0) return with_threads();
  if (argc > 1 && strcmp(argv[1], "single") == 0) return without_threads();
  if (argc > 1 && strcmp(argv[1], "unnamed") == 0) return unnamed();
  session(1);
  session(2);
  groups();
  wrong_groups();
  wrong_sessions();
  MPI_Initialized(&flag);
  return flag;
}
