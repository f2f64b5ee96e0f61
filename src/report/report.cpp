// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <filesystem>

namespace weft::report {

Result<std::string> write_report(const std::string& dir) {
  const Result<std::vector<RunRecord>> runs = read_runs(dir);
  if (!runs) return runs.error();
  const std::string path = (std::filesystem::path(dir) / "report.html").string();
  if (Result<void> written = write_file_whole(path, report_page(*runs)); !written) {
    return written.error();
  }
  return path;
}

}  // namespace weft::report
