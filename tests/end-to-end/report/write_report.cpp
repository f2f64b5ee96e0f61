// SPDX-License-Identifier: Apache-2.0
// Writes the report of one directory, as `weft report DIR` does, without the rest of weft.
#include <cstdio>

#include "report/report.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIR\n", argv[0]);
    return 2;
  }
  const weft::Result<std::string> path = weft::report::write_report(argv[1]);
  if (!path) {
    std::fprintf(stderr, "weft: %s\n", path.error().message.c_str());
    return 1;
  }
  std::puts(path->c_str());
  return 0;
}
