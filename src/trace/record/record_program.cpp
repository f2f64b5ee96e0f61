// SPDX-License-Identifier: Apache-2.0
#include "trace/record/record_program.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/make_error.hpp"
#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "base/process_end.hpp"
#include "base/split.hpp"
#include "base/system_error.hpp"
#include "trace/record/recorder.hpp"

extern char** environ;

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

/// A command's words, and variables that its first process gets besides its environment.
struct Launch {
  std::vector<std::string> words;
  std::vector<std::string> variables;
};

/// The module is in the environment of the ranks only, not of the launcher.
Result<Launch> launch_by_mpi(const RecordOptions& options, const std::string& mpi,
                             const std::string& recordings) {
  const auto module = find_module(fmt::format("libweft_record_{}.so", mpi));
  if (!module) {
    return Error{module.error().code,
                 fmt::format("{}; build weft with that MPI's library for development",
                             module.error().message)};
  }
  Launch launch{.words = {options.command.front()}};
  const std::pair<std::string, std::string> variables[] = {{recordings_variable, recordings},
                                                           {"LD_PRELOAD", *module}};
  for (const auto& [name, value] : variables) {
    if (mpi == "mpich") {
      launch.words.insert(launch.words.end(), {"-genv", name, value});
    } else {
      launch.words.insert(launch.words.end(), {"-x", name + "=" + value});
    }
  }
  launch.words.insert(launch.words.end(), options.command.begin() + 1, options.command.end());
  return launch;
}

/// weft's own programs record themselves, under any launcher, and `weft run` loads the module into
/// those of MPI that run on weft.
bool starts_own_programs(const std::string& launcher) {
  std::error_code error;
  return fs::canonical(find_program(launcher), error).filename() == "weft";
}

Result<Launch> launch_of(const RecordOptions& options, const std::string& recordings) {
  if (options.mpi.empty() && starts_own_programs(options.command.front())) {
    return Launch{
        .words = options.command,
        .variables = {std::string(recordings_variable) + "=" + recordings, module_of_weft_run}};
  }
  auto mpi = options.mpi.empty() ? mpi_of_launcher(options.command.front())
                                 : Result<std::string>(options.mpi);
  if (!mpi) return std::move(mpi).error();
  return launch_by_mpi(options, *mpi, recordings);
}

/// Launchers have the code 128 + N when a rank was ended by signal N.
std::string described(int status) {
  return WIFSIGNALED(status) ? describe_end(status) : describe_end_code(WEXITSTATUS(status));
}

struct Ended {
  int status = 0;
  bool was_told = false;  // to end, as this process was
};

/// Runs a command that is told to end when this process is, and that does not outlive it.
Result<Ended> run_beside(char* const* words, char* const* environment,
                         const std::function<void(int)>& on_signal) {
  std::signal(SIGCHLD, SIG_DFL);  // else it would not be sent
  sigset_t awaited{}, before{};
  for (const int number : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&awaited, number);
  ::pthread_sigmask(SIG_BLOCK, &awaited, &before);
  volatile int failed = 0;
  const pid_t parent = ::getpid();
  const pid_t child = ::vfork();  // it has this memory, and can say why the command does not run
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (::getppid() == parent) ::execvpe(words[0], words, environment);
    failed = errno;
    ::_exit(127);
  }
  if (child < 0) failed = errno;
  Ended ended;
  while (child > 0 && ::waitpid(child, &ended.status, WNOHANG) == 0) {
    siginfo_t about{};
    const int number = ::sigwaitinfo(&awaited, &about);
    if (number <= 0 || number == SIGCHLD) continue;
    ended.was_told = true;
    if (on_signal) on_signal(number);
    // A terminal sends its signals to the command as well.
    if (about.si_code != SI_KERNEL) ::kill(child, number);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) return system_error("run", words[0], failed);
  return ended;
}

Result<void> run(const Launch& launch, const std::function<void(int)>& on_signal) {
  const std::vector<std::string>& words = launch.words;
  const std::vector<char*> arguments = argument_pointers(words);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  for (const std::string& variable : launch.variables) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);
  const auto ended = run_beside(arguments.data(), environment.data(), on_signal);
  if (!ended) return ended.error();
  if (ended->status == 0) return {};
  return Error{ended->was_told ? ErrorCode::cancelled : ErrorCode::unavailable,
               words.front() + " " + described(ended->status)};
}

/// Success, or why a rank could not write its recording.
Result<void> written(const std::string& recordings) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(recordings, error)) {
    const std::string path = entry.path().string();
    const std::size_t at = path.rfind(errno_infix);
    if (at == std::string::npos) continue;
    const int number = std::atoi(path.c_str() + at + std::strlen(errno_infix));
    const Error why = system_error("write", path.substr(0, at), number);
    return Error{why.code, "--out: " + why.message};
  }
  return {};
}

/// The module does not go into programs that start or load others: the file of a rank has to be one
/// program's.
Error nothing_recorded() {
  return {ErrorCode::not_found,
          "no rank left a recording: under weft run the program itself has to be linked to weft or "
          "compiled for an MPI, and scripts, python3 and programs that need MPI only through a "
          "library cannot be recorded; give weft run the MPI program, and if it is one, let its "
          "hosts share the directory of --out"};
}

}  // namespace

Result<Merged> record_program(const RecordOptions& options) {
  std::error_code error;
  if (fs::exists(options.directory, error)) {
    return invalid("--out: {} is there already; name another directory", options.directory);
  }
  // Beside the archive, so that they are there when the program is killed.
  const std::string recordings = fs::absolute(options.directory + ".recordings").string();
  const auto launch = launch_of(options, recordings);
  if (!launch) return launch.error();
  fs::remove_all(recordings, error);
  if (!fs::create_directories(recordings, error)) {
    const Error why = system_error("make", recordings, error.value());
    return Error{why.code, "--out: " + why.message};
  }
  auto ran = run(*launch, options.on_signal);
  if (auto whole = written(recordings); !whole) return std::move(whole).error();
  if (!ran) {
    if (fs::is_empty(recordings, error) && fs::remove(recordings, error)) {
      return Error{ran.error().code, ran.error().message + "; nothing was recorded"};
    }
    return Error{ran.error().code, fmt::format("{}: no archive is made; {} has what was recorded",
                                               ran.error().message, recordings)};
  }
  if (!launch->variables.empty() && fs::remove(recordings, error)) return nothing_recorded();
  auto merged = merge_recordings(recordings, options.directory);
  if (merged) {
    fs::remove_all(recordings, error);
  } else {
    fs::remove(recordings, error);  // only if no rank has recorded anything
  }
  return merged;
}

}  // namespace weft::trace
