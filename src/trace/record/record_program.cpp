// SPDX-License-Identifier: Apache-2.0
#include "trace/record/record_program.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "trace/record/recorder.hpp"

extern char** environ;

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

Error refuse(std::string text) {
  return {ErrorCode::invalid_argument, std::move(text)};
}

/// The command with the module in the environment of the ranks only, not of the launcher.
std::vector<std::string> with_module(const RecordOptions& options, const std::string& mpi,
                                     const std::string& module, const std::string& recordings) {
  std::vector<std::string> words{options.command.front()};
  const std::pair<std::string, std::string> variables[] = {{recordings_variable, recordings},
                                                           {"LD_PRELOAD", module}};
  for (const auto& [name, value] : variables) {
    if (mpi == "mpich") {
      words.insert(words.end(), {"-genv", name, value});
    } else {
      words.insert(words.end(), {"-x", name + "=" + value});
    }
  }
  words.insert(words.end(), options.command.begin() + 1, options.command.end());
  return words;
}

Result<void> run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments.front(), nullptr, nullptr, arguments.data(), environ);
  if (failed != 0) {
    return Error{ErrorCode::not_found,
                 fmt::format("{}: cannot be started: {}", words.front(), std::strerror(failed))};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{ErrorCode::unavailable,
               WIFEXITED(status)
                   ? fmt::format("{} ended with code {}", words.front(), WEXITSTATUS(status))
                   : fmt::format("{} was ended by signal {}", words.front(), WTERMSIG(status))};
}

}  // namespace

Result<Merged> record_program(const RecordOptions& options) {
  auto mpi = options.mpi.empty() ? mpi_of_launcher(options.command.front())
                                 : Result<std::string>(options.mpi);
  if (!mpi) return std::move(mpi).error();
  const std::string library = fmt::format("libweft_record_{}.so", *mpi);
  const auto module = find_module(library);
  if (!module) {
    return Error{module.error().code,
                 fmt::format("{}; build weft with that MPI's library for development",
                             module.error().message)};
  }
  std::error_code error;
  if (fs::exists(options.directory, error)) {
    return refuse(
        fmt::format("--out: {} is there already; name another directory", options.directory));
  }
  // Beside the archive, so that they are there when the program is killed.
  const std::string recordings = fs::absolute(options.directory + ".recordings").string();
  fs::remove_all(recordings, error);
  if (!fs::create_directories(recordings, error)) {
    return Error{ErrorCode::io, fmt::format("{}: cannot be made: {}", recordings, error.message())};
  }
  if (auto ran = run(with_module(options, *mpi, *module, recordings)); !ran) {
    return Error{ran.error().code, fmt::format("{}: no archive is made; {} has what was recorded",
                                               ran.error().message, recordings)};
  }
  auto merged = merge_recordings(recordings, options.directory);
  if (merged) fs::remove_all(recordings, error);
  return merged;
}

}  // namespace weft::trace
