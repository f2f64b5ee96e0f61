// SPDX-License-Identifier: Apache-2.0
#include "base/mpi_launcher.hpp"

#include <cstdlib>
#include <sstream>

#include "base/make_error.hpp"

namespace weft {

namespace fs = std::filesystem;

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::error_code error;
    const fs::path place = fs::path(directory) / name;
    if (fs::exists(place, error)) return place;
  }
  return {};
}

bool is_mpi_launcher(const std::string& program) {
  std::error_code error;
  const std::string real = fs::canonical(find_program(program), error).filename().string();
  for (const char* word : {"mpirun", "mpiexec", "orterun", "prterun"}) {
    if (real.starts_with(word)) return true;
  }
  return false;
}

Result<std::string> mpi_of_launcher(const std::string& launcher) {
  std::error_code error;
  const std::string real = fs::canonical(find_program(launcher), error).filename().string();
  for (const char* word : {"hydra", "mpich"}) {
    if (real.find(word) != std::string::npos) return std::string("mpich");
  }
  for (const char* word : {"orterun", "openmpi", "prte"}) {
    if (real.find(word) != std::string::npos) return std::string("openmpi");
  }
  return invalid(
      "{} is no launcher that weft knows: give mpirun and what it starts, or --mpi openmpi or "
      "mpich",
      launcher);
}

}  // namespace weft
