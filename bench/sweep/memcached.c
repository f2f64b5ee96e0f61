// SPDX-License-Identifier: Apache-2.0
// How long a memcached server takes to answer: stores a value, then reads it back many times.
//   memcached ADDRESS BYTES TIMES      prints "median 23.4 us"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int by_size(const void* a, const void* b) {
  return *(const double*)a < *(const double*)b ? -1 : 1;
}

static void write_all(int to, const char* bytes, size_t size) {
  for (ssize_t n; size > 0; bytes += n, size -= (size_t)n) {
    n = write(to, bytes, size);
    if (n <= 0) exit(3);
  }
}

static void read_all(int from, char* bytes, size_t size) {
  for (ssize_t n; size > 0; bytes += n, size -= (size_t)n) {
    n = read(from, bytes, size);
    if (n <= 0) exit(4);
  }
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const size_t size = strtoul(words[2], NULL, 10), times = strtoul(words[3], NULL, 10);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(11211)};
  const int server = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (inet_pton(AF_INET, words[1], &address.sin_addr) != 1 ||
      connect(server, (struct sockaddr*)&address, sizeof address) != 0) {
    perror(words[1]);
    return 3;
  }
  char head[64];
  const int head_size = snprintf(head, sizeof head, "VALUE k 0 %zu\r\n", size);
  const size_t answer_size = (size_t)head_size + size + 7;  // and "\r\nEND\r\n"
  char* value = calloc(1, size + 2);
  char* answer = malloc(answer_size);
  double* took = malloc(times * sizeof *took);
  memset(value, 'v', size);
  memcpy(value + size, "\r\n", 2);
  char set[64];
  write_all(server, set, (size_t)snprintf(set, sizeof set, "set k 0 0 %zu\r\n", size));
  write_all(server, value, size + 2);
  read_all(server, answer, 8);  // "STORED\r\n"
  for (size_t i = 0; i < times; ++i) {
    const double began = now_us();
    write_all(server, "get k\r\n", 7);
    read_all(server, answer, answer_size);
    took[i] = now_us() - began;
    if (memcmp(answer, head, (size_t)head_size) != 0 ||
        memcmp(answer + head_size, value, size) != 0) {
      return 5;
    }
  }
  qsort(took, times, sizeof *took, by_size);
  printf("median %.1f us\n", took[times / 2]);
  return 0;
}
