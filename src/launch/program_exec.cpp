// SPDX-License-Identifier: Apache-2.0
#include "launch/program_exec.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "process/job_link.hpp"

namespace weft {

int execute_program(const std::vector<std::string>& command, const SignalFile& signals,
                    Channel channel, int output) {
  signals.restore();
  ::fcntl(channel.descriptor(), F_SETFD, 0);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  ::setenv(channel_variable, std::to_string(channel.descriptor()).c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string why =
      fmt::format("weft run: cannot start '{}': {}\n", arguments[0], std::strerror(errno));
  (void)!::write(STDERR_FILENO, why.data(), why.size());
  return cannot_execute;
}

}  // namespace weft
