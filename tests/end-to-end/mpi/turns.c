// SPDX-License-Identifier: Apache-2.0
// Ranks change one file, or several, in turn. In the first life of the job a rank is killed when
// others have gone on. Prints what is in the file in the end, and the results of the calls.
//   turns DIRECTORY WHAT     WHAT: "place": two ranks write one place
//                                  "cut": a rank writes behind what stays when the file is cut
//                                  "again": each rank writes, reads and writes its place
//                                  "torn": a rank dies in two calls, when it has changed the file
//                                  "append", "append window": to what "DIRECTORY/file" has
//                                  "create window": what must not be there, and is then deleted
//                                  "update window": adds to numbers that "DIRECTORY/file" has
//                                  "own window": the same, and only rank 0
//                                  "header window": one rank writes a header before all open it
//                                  "thread": the first of two writes is one of a second thread
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most = 1 << 16 };

static int rank, size;
static const char* directory;
static MPI_File file;

static int opened(const char* name, int mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
}

static int is_first(const char* name) {
  char marker[4096];
  snprintf(marker, sizeof marker, "%s/%s", directory, name);
  return syscall(SYS_openat, AT_FDCWD, marker, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
}

static void die_once(int who) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == who && is_first("killed")) raise(SIGKILL);
}

/* It dies in MPI, after the system's call. */
static void tear_once(const char* path, const char* marker) {
  const char* name = strrchr(path, '/');
  const int error = errno;
  if (name != NULL && strcmp(name, "/torn") == 0 && is_first(marker)) raise(SIGKILL);
  errno = error;
}

/* These stand in for the C library's. */
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, va_arg(rest, int));
  va_end(rest);
  if ((flags & O_EXCL) != 0) tear_once(path, "killed");
  return file;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return open64(path, flags, mode);
}

int unlink(const char* path) {
  const int failed = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  tear_once(path, "killed again");
  return failed;
}

static void put(MPI_Offset place, char letter, int count) {
  static char text[most];
  memset(text, letter, (size_t)count);
  MPI_File_write_at(file, place, text, count, MPI_CHAR, MPI_STATUS_IGNORE);
}

/* Each run of equal letters as the letter and how many. */
static void say(const char* name) {
  static char text[most];
  char path[4096];
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE* in = fopen(path, "r");
  const size_t bytes = in != NULL ? fread(text, 1, sizeof text, in) : 0;
  printf("%s:", name);
  for (size_t i = 0, j; i < bytes; i = j) {
    for (j = i; j < bytes && text[j] == text[i];) ++j;
    printf(" %c%d", text[i] != 0 ? text[i] : '0', (int)(j - i));
  }
  printf("\n");
  if (in != NULL) fclose(in);
}

static void write_one_place(void) {
  opened("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (rank == 0) put(0, 'A', 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) put(0, 'B', 1);
  die_once(0);
}

static void cut(void) {
  opened("file", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  if (rank == 1) put(4096, 'X', 4096);
  MPI_File_set_size(file, 0);
  if (rank == 1) put(0, 'y', 16);
  if (rank == 0) put(16, 'x', 16);
  die_once(1);
}

static void write_again(void) {
  char letter = (char)('a' + rank);
  opened("file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL);
  for (int round = 0; round < 5; ++round) {
    put(rank, letter, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, (rank + 1) % size, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    letter = (char)(letter + 1 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  die_once(1);
}

static void tear(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/torn", directory);
  const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL;
  int failed = opened("torn", mode);
  MPI_File_close(&file);
  failed |= (opened("torn", mode) == MPI_SUCCESS) << 8; /* it is there */
  if (rank == 0) failed |= MPI_File_delete(path, MPI_INFO_NULL);
  if (rank == 0) failed |= (MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS) << 9;
  failed |= opened("file", mode);
  if (rank == 0) printf("%s\n", failed ? "failed" : "made");
}

static void append(void) {
  opened("file", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_APPEND);
  char letter = (char)('a' + rank);
  MPI_File_write_ordered(file, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  die_once(1);
}

static void create(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/scratch", directory);
  int failed = opened("file", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL);
  put(rank, 'a', 1);
  MPI_File_close(&file);
  failed |= (opened("file", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_EXCL) == 0) << 9;
  failed |= opened("brief", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  MPI_File_close(&file);
  failed |= opened("brief", MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_close(&file);
  failed |= (opened("brief", MPI_MODE_RDONLY) == MPI_SUCCESS) << 10;
  failed |= opened("scratch", MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_close(&file);
  if (rank == 0) failed |= MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  failed |= opened("file", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_File_write_ordered(file, "b", 1, MPI_CHAR, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%s\n", failed ? "failed" : "made");
  die_once(1);
}

static void update(void) {
  char letter = 0;
  opened("file", MPI_MODE_RDWR);
  MPI_File_read_at(file, rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  put(rank, (char)(letter + 1), 1);
  die_once(1);
}

static void update_own(void) {
  char letter = 0;
  opened("file", MPI_MODE_RDWR);
  if (rank == 0) {
    MPI_File_read_at(file, 0, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    put(0, (char)(letter + 1), 1);
  }
  die_once(1);
}

static void write_header(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/file", directory);
  if (rank == 0) {
    const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file);
    put(0, 'h', 4);
    MPI_File_close(&file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  opened("file", MPI_MODE_WRONLY);
  put(4 + rank, (char)('a' + rank), 1);
  die_once(1);
}

static void* put_first(void* none) {
  put(0, 'A', 1);
  return none;
}

static void write_in_thread(void) {
  pthread_t thread;
  opened("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (rank == 0) {
    pthread_create(&thread, NULL, put_first, NULL);
    pthread_join(thread, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) put(0, 'B', 1);
  die_once(0);
}

int main(int argc, char** argv) {
  int level = strcmp(argv[2], "thread") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  directory = argv[1];
  const char* what = argv[2];
  const int has_window = argc > 3;
  int* memory;
  MPI_Win window;
  if (has_window) {
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
  }
  if (strcmp(what, "place") == 0) write_one_place();
  if (strcmp(what, "cut") == 0) cut();
  if (strcmp(what, "again") == 0) write_again();
  if (strcmp(what, "torn") == 0) tear();
  if (strcmp(what, "append") == 0) append();
  if (strcmp(what, "create") == 0) create();
  if (strcmp(what, "update") == 0) update();
  if (strcmp(what, "own") == 0) update_own();
  if (strcmp(what, "header") == 0) write_header();
  if (strcmp(what, "thread") == 0) write_in_thread();
  MPI_File_close(&file);
  say("file");
  if (has_window) MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
