// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages beyond send and receive: persistent, buffered, probed and taken.
#include "digest.h"

static int to, from;

static void persistent(int count) {
  MPI_Request requests[2];
  int *in = blank(count), *out = numbers(count), flag, index;
  MPI_Status status, statuses[2];
  MPI_Send_init(out, count, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in, count, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Test(&requests[0], &flag, &status);
  say_int("inactive", flag);
  for (int round = 0; round < 3; ++round) {
    out[0] = rank + round;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    say("persistent", in, count * sizeof *in);
    say_int("tag", statuses[1].MPI_TAG);
  }
  MPI_Waitany(2, requests, &index, &status);
  say_int("no index", index == MPI_UNDEFINED);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  say_int("freed", requests[0] == MPI_REQUEST_NULL);
  free(in), free(out);
}

static void buffered(int count) {
  const int bytes = 2 * (count * 4 + MPI_BSEND_OVERHEAD);
  int *in = blank(count), *out = numbers(count), n;
  void *buffer = malloc(bytes), *back;
  MPI_Buffer_attach(buffer, bytes);
  for (int i = 0; i < 2; ++i) {
    out[0] = i + rank;
    MPI_Bsend(out, count, MPI_INT, to, i, MPI_COMM_WORLD);
  }
  for (int i = 1; i >= 0; --i) {
    MPI_Recv(in, count, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("bsend", in, count * sizeof *in);
  }
  MPI_Buffer_detach(&back, &n);
  say_int("detached", back == buffer && n == bytes);
  free(buffer), free(in), free(out);
}

static void taken(int count) {
  int *in = blank(count + 1), *out = numbers(count), n, flag = 0;
  MPI_Message message;
  MPI_Status status;
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i)
    MPI_Isend(out, count - i, MPI_INT, to, 8, MPI_COMM_WORLD, &requests[i]);
  MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  // The second overtakes the first one's receive, not its match.
  MPI_Recv(in, count, MPI_INT, from, 8, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  say_int("second", n);
  MPI_Mrecv(in, count, MPI_INT, &message, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  say_int("first", n);
  say("mrecv", in, count * sizeof *in);
  say_int("null", message == MPI_MESSAGE_NULL);
  while (!flag) MPI_Improbe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &flag, &message, &status);
  MPI_Request request;
  MPI_Imrecv(in, count, MPI_INT, &message, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  say_int("imrecv", n * 100 + status.MPI_TAG);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
  say_int("no proc", message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(in, count, MPI_INT, &message, &status);
  free(in), free(out);
}

static void others(int count) {
  int *data = numbers(count), *in = blank(count), flag, done, left = 2, indices[2], sum = 0;
  MPI_Status status, statuses[2];
  MPI_Request requests[2];
  MPI_Sendrecv_replace(data, count, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, &status);
  say("replaced", data, count * sizeof *data);
  MPI_Isendrecv_replace(data, count, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &status);
  say("replaced later", data, count * sizeof *data);
  MPI_Isendrecv(data, count, MPI_INT, to, 4, in, count, MPI_INT, from, 4, MPI_COMM_WORLD,
                &requests[0]);
  flag = 0;
  while (!flag) MPI_Request_get_status(requests[0], &flag, &status);
  MPI_Wait(&requests[0], &status);
  say("isendrecv", in, count * sizeof *in);
  MPI_Irecv(in, count, MPI_INT, from, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data, count, MPI_INT, to, 6, MPI_COMM_WORLD, &requests[1]);
  while (left > 0) {
    MPI_Testsome(2, requests, &done, indices, statuses);
    for (int i = 0; i < done; ++i) sum += indices[i] + 1;
    left -= done;
  }
  say_int("testsome", sum);
  MPI_Testsome(2, requests, &done, indices, statuses);
  say_int("none", done == MPI_UNDEFINED);
  int* memory;
  MPI_Alloc_mem(4096, MPI_INFO_NULL, &memory);
  memory[1000] = rank;
  say_int("memory", memory[1000]);
  MPI_Free_mem(memory);
  MPI_Is_thread_main(&flag);
  say_int("main", flag);
  MPI_Pcontrol(1, "anything");
  free(data), free(in);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int count = 10; count <= 100000; count *= 100) {
    persistent(count);
    buffered(count);
    taken(count);
    others(count);
  }
  MPI_Finalize();
  return 0;
}
