// SPDX-License-Identifier: Apache-2.0
// MPI_T's variables of weft count the messages that came, and those that no receive has taken.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;
static void expect(int good, const char* what) {
  if (!good) printf("not so: %s\n", what);
  failures += !good;
}

int main(int argc, char** argv) {
  int provided, variables, index, kind, count, length, read_only, i;
  char name[64];
  unsigned long long messages = 0, bytes = 0, waiting = 7;
  MPI_Datatype type;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[3];
  const char* names[3] = {"weft_messages_received", "weft_bytes_received",
                          "weft_unexpected_messages"};
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_T_pvar_get_num(&variables);
  MPI_T_pvar_session_create(&session);
  for (i = 0; i < 3; ++i) {
    const int wanted = i < 2 ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL;
    expect(MPI_T_pvar_get_index(names[i], wanted, &index) == MPI_SUCCESS, names[i]);
    length = sizeof name;
    MPI_T_pvar_get_info(index, name, &length, NULL, &kind, &type, NULL, NULL, NULL, NULL,
                        &read_only, NULL, NULL);
    expect(strcmp(name, names[i]) == 0 && length == (int)strlen(name) + 1 && kind == wanted &&
               type == MPI_UNSIGNED_LONG_LONG && read_only == 1,
           "the variable has its name, kind and type");
    MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count);
  }
  int data[25] = {0};
  for (i = 0; i < 4; ++i) MPI_Send(data, 25, MPI_INT, 0, i, MPI_COMM_SELF);
  MPI_Recv(data, 25, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_T_pvar_read(session, handles[0], &messages);
  MPI_T_pvar_read(session, handles[1], &bytes);
  MPI_T_pvar_read(session, handles[2], &waiting);
  expect(messages == 4 && bytes == 400 && waiting == 3, "4 messages came, and 3 of them wait");
  MPI_T_pvar_reset(session, handles[0]);
  MPI_T_pvar_read(session, handles[0], &messages);
  expect(messages == 0, "a counter begins anew");
  for (i = 0; i < 4; ++i) {
    if (i != 2) MPI_Recv(data, 25, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
  MPI_T_pvar_read(session, handles[2], &waiting);
  expect(waiting == 0 && variables >= 3, "none waits any more");
  expect(MPI_T_pvar_write(session, handles[0], &messages) == MPI_T_ERR_PVAR_NO_WRITE,
         "a variable cannot be written");
  expect(MPIX_Query_cuda_support() == 0, "memory of GPUs is not sent");
  MPI_T_pvar_handle_free(session, &handles[0]);
  MPI_T_pvar_session_free(&session);
  printf("%d failures\n", failures);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
