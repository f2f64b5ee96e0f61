// SPDX-License-Identifier: Apache-2.0
// A breadth-first search over a graph of all ranks' vertices, with the pattern of Graph500:
// persistent receives of any source, requests found done in whatever order, receives cancelled at
// the end. Which vertex becomes whose parent depends on the order of arrival; how many are reached,
// and how far they are, does not. Rank 0 checks each tree and prints a line for it.
//   search [ROOTS [VERTICES]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { degree = 8, batch = 32, receives = 4, slots = 8, data_tag = 1, end_tag = 2 };

static int rank, size, vertices, own;
static int *parent, *level, *frontier, *next, frontier_size, next_size;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static unsigned mix(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

static int neighbor(int vertex, int i) {
  return mix(vertex * degree + i + 1) % vertices;
}

// Pairs of a vertex and its possible parent, for one rank.
typedef struct {
  int count;
  int pairs[2 * batch + 1];
} Batch;

static Batch filling[64];  // by rank
static Batch sending[slots], arriving[receives];
static MPI_Request sends[slots], requests[receives];
static int ends;             // ranks that send no more in this level
static int taken, expected;  // batches in this level
static int sent[64];         // by rank
static int how;              // messages are found

static void visit(int vertex, int from, int at) {
  const int i = vertex / size;
  if (level[i] >= 0) return;
  level[i] = at;
  parent[i] = from;
  next[next_size++] = vertex;
}

static void take(const Batch* in, int tag, int at) {
  for (int i = 0; i < in->count; ++i) visit(in->pairs[2 * i], in->pairs[2 * i + 1], at);
  // Requests are found done in another order than that in which messages were sent.
  if (tag == end_tag) {
    ++ends;
    expected += in->pairs[0];
  } else {
    ++taken;
  }
}

static void take_request(int i, MPI_Status* status, int at) {
  take(&arriving[i], status->MPI_TAG, at);
  MPI_Start(&requests[i]);
}

// Persistent receives, found by Testany or Testsome; or probes.
static void poll(int at) {
  MPI_Status status, statuses[receives];
  int flag = 1, found, indices[receives];
  Batch in;
  switch (how) {
    case 0:
      for (;;) {
        MPI_Testany(receives, requests, &found, &flag, &status);
        if (!flag) return;
        take_request(found, &status, at);
      }
    case 1:
      MPI_Testsome(receives, requests, &found, indices, statuses);
      for (int i = 0; i < found; ++i) take_request(indices[i], &statuses[i], at);
      return;
    case 2:
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
      if (!flag) return;
      MPI_Recv(&in, sizeof in, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
               &status);
      return take(&in, status.MPI_TAG, at);
    default: {
      MPI_Message message;
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
      if (!flag) return;
      MPI_Mrecv(&in, sizeof in, MPI_BYTE, &message, &status);
      return take(&in, status.MPI_TAG, at);
    }
  }
}

static void flush(int to, int tag, int at) {
  int slot = -1, flag = 0;
  for (int i = 0; i < slots && slot < 0; ++i) {
    if (sends[i] == MPI_REQUEST_NULL) slot = i;
  }
  while (slot < 0) {
    MPI_Testany(slots, sends, &slot, &flag, MPI_STATUS_IGNORE);
    if (!flag) poll(at), slot = -1;
  }
  if (tag == end_tag) {
    filling[to].pairs[0] = sent[to];
  } else {
    ++sent[to];
  }
  sending[slot] = filling[to];
  MPI_Isend(&sending[slot], (int)sizeof(int) * (2 + 2 * sending[slot].count), MPI_BYTE, to, tag,
            MPI_COMM_WORLD, &sends[slot]);
  filling[to].count = 0;
}

static void search_level(int at) {
  ends = taken = expected = next_size = 0;
  memset(sent, 0, sizeof sent);
  for (int i = 0; i < frontier_size; ++i) {
    for (int k = 0; k < degree; ++k) {
      const int vertex = neighbor(frontier[i], k), to = vertex % size;
      Batch* out = &filling[to];
      out->pairs[2 * out->count] = vertex;
      out->pairs[2 * out->count++ + 1] = frontier[i];
      // Batches whose sizes nobody foresees.
      const int least = 1 + (int)(MPI_Wtime() * 1e9) % batch;
      if (out->count == batch || out->count > least) flush(to, data_tag, at);
    }
    poll(at);
  }
  for (int to = 0; to < size; ++to) {
    if (filling[to].count > 0) flush(to, data_tag, at);
    flush(to, end_tag, at);
  }
  while (ends < size || taken < expected) {
    if (how == 0 && size > 1) {
      MPI_Status status;
      int found;
      MPI_Waitany(receives, requests, &found, &status);
      take_request(found, &status, at);
    } else {
      poll(at);
    }
  }
  MPI_Waitall(slots, sends, MPI_STATUSES_IGNORE);
  int* swap = frontier;
  frontier = next;
  next = swap;
  frontier_size = next_size;
}

static void check_tree(int root) {
  int* parents = malloc(sizeof(int) * own * size);
  int* levels = malloc(sizeof(int) * own * size);
  MPI_Gather(parent, own, MPI_INT, parents, own, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(level, own, MPI_INT, levels, own, MPI_INT, 0, MPI_COMM_WORLD);
  long reached = 0, sum = 0;
  for (int v = 0; rank == 0 && v < vertices; ++v) {
    const int at = levels[v % size * own + v / size], from = parents[v % size * own + v / size];
    if (at < 0) continue;
    ++reached;
    sum += at;
    if (v == root) continue;
    int edge = 0;
    for (int k = 0; k < degree; ++k) edge |= neighbor(from, k) == v;
    check(edge && levels[from % size * own + from / size] == at - 1, "a vertex has a wrong parent");
  }
  if (rank == 0) printf("root %d: %ld reached, distances %ld\n", root, reached, sum);
  if (rank == 0) fflush(stdout);
  free(parents);
  free(levels);
}

static void search(int root) {
  memset(level, 0xff, sizeof(int) * own);
  memset(parent, 0xff, sizeof(int) * own);
  for (int i = 0; i < receives; ++i) {
    MPI_Recv_init(&arriving[i], sizeof(Batch), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &requests[i]);
    if (how < 2) MPI_Start(&requests[i]);
  }
  for (int i = 0; i < slots; ++i) sends[i] = MPI_REQUEST_NULL;
  next_size = 0;
  if (root % size == rank) visit(root, root, 0);
  memcpy(frontier, next, sizeof(int) * next_size);
  frontier_size = next_size;
  for (int at = 1, left = 1; left > 0; ++at) {
    search_level(at);
    MPI_Allreduce(&frontier_size, &left, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int i = 0; i < receives; ++i) {
    MPI_Status status;
    int cancelled = 1;
    if (how < 2) {
      MPI_Cancel(&requests[i]);
      MPI_Wait(&requests[i], &status);
      MPI_Test_cancelled(&status, &cancelled);
    }
    check(cancelled, "a receive took a message of nobody");
    MPI_Request_free(&requests[i]);
  }
  // No message of the next search comes before.
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int roots = argc > 1 ? atoi(argv[1]) : 4;
  vertices = argc > 2 ? atoi(argv[2]) : 4096;
  own = (vertices + size - 1) / size;
  parent = malloc(sizeof(int) * own);
  level = malloc(sizeof(int) * own);
  frontier = malloc(sizeof(int) * own);
  next = malloc(sizeof(int) * own);
  for (int i = 0; i < roots; ++i) {
    const int root = mix(i + 7) % vertices;
    how = i % 4;
    search(root);
    check_tree(root);
  }
  MPI_Finalize();
  return 0;
}
