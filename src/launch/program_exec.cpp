// SPDX-License-Identifier: Apache-2.0
#include "launch/program_exec.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "launch/own_mpi.hpp"
#include "process/job_link.hpp"
#include "process/outcome_memory.hpp"

namespace weft {

namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Of any machine.
bool is_elf(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char magic[SELFMAG] = {};
  const bool is = file >= 0 && ::read(file, magic, SELFMAG) == SELFMAG &&
                  std::memcmp(magic, ELFMAG, SELFMAG) == 0;
  if (file >= 0) ::close(file);
  return is;
}

const char* fix_for(const std::string& program, int number) {
  switch (number) {
    case ENOENT:
      if (program.find('/') == std::string::npos && ::access(program.c_str(), F_OK) == 0) {
        return "write ./ before it: a name without a slash is looked for in PATH";
      }
      if (::access(program.c_str(), F_OK) == 0) {
        return "the file is there, but not the interpreter or loader that it names";
      }
      return "give a path that exists, or a name that is found in PATH";
    case EACCES:
      return is_directory(program) ? "name a program" : "make it executable: chmod +x";
    case ENOEXEC:
      if (is_elf(place_of_program(program))) {
        return "it was compiled for another machine, or is damaged; compile it for this one";
      }
      return "it is no program of this machine; a script begins with #!";
    default:
      return "try it without weft run";
  }
}

}  // namespace

std::string why_not_started(const std::string& program, int number) {
  // The system says "permission denied" of a directory.
  const char* const why =
      is_directory(program) && number == EACCES ? "it is a directory" : std::strerror(number);
  return fmt::format("cannot start '{}': {}; {}", program, why, fix_for(program, number));
}

void execute_or_fail(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  // Whatever the system does not know, execvp has a shell read. The system may know programs of
  // other machines, so it is asked.
  const std::string place = place_of_program(command[0]);
  if (is_elf(place)) {
    ::execv(place.c_str(), arguments.data());
    if (errno == ENOEXEC) return;
  }
  ::execvp(arguments[0], arguments.data());
}

int execute_program(std::uint32_t rank, const std::vector<std::string>& command,
                    const SignalFile& signals, Channel channel, const ProgramFiles& files) {
  signals.restore();
  ::fcntl(channel.descriptor(), F_SETFD, 0);
  if (files.input >= 0) ::dup2(files.input, STDIN_FILENO);
  if (files.output >= 0) ::dup2(files.output, STDOUT_FILENO);
  ::unsetenv(outcomes_variable);
  if (files.outcomes >= 0) {
    ::fcntl(files.outcomes, F_SETFD, 0);
    ::setenv(outcomes_variable, std::to_string(files.outcomes).c_str(), 1);
  }
  ::setenv(launched_rank_variable, std::to_string(rank).c_str(), 1);
  ::setenv(channel_variable, std::to_string(channel.descriptor()).c_str(), 1);
  std::string wrong = prefer_own_mpi(command[0], files.outcomes >= 0);
  if (files.outcomes >= 0 && std::getenv(mpi_module_variable) != nullptr && names_mpi(command[0])) {
    // A recording has clocks, which its messages tell.
    wrong = fmt::format(
        "--restart: '{}', a program of MPI, is not started anew while it is recorded; "
        "leave the option out",
        command[0]);
  }
  if (!wrong.empty()) {
    (void)channel.send(launch_message::cannot_start, wrong);
    return cannot_execute;
  }
  execute_or_fail(command);
  (void)channel.send(launch_message::cannot_start, why_not_started(command[0], errno));
  return cannot_execute;
}

}  // namespace weft
