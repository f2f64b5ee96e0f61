// SPDX-License-Identifier: Apache-2.0
// A program that has an MPI in itself, as one that was linked with -static.
int MPI_Init(int* argc, char*** argv) {
  return argc == 0 || argv == 0;
}

int main(int argc, char** argv) {
  return MPI_Init(&argc, &argv);
}
