// SPDX-License-Identifier: Apache-2.0
// The command of an emulated run: finds its launcher's MPI and its program, and starts it with
// modules in the environment of its ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "emulate/control/control_block.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::emulate {

/// A command before it runs.
struct Command {
  std::vector<std::string> words;
  std::string mpi;      ///< "mpich", "openmpi"; empty: its first word is a program, no launcher
  std::string program;  ///< the file that is started; empty: it was not found among the words
  /// The program's word: those before it are the launcher's. 0: there is no launcher, or no program
  /// was found.
  std::size_t program_at = 0;

  /// The layer of its messages in a calibration.
  std::string layer() const { return mpi.empty() ? "ucx-mpich" : "ucx-" + mpi; }
};

/// The file that a shell would start for that name. Error (not_found): there is none that can be
/// started.
Result<std::filesystem::path> startable(const std::string& name);

/// `weft run` without --fabric gets one that an emulation sees. Errors (not_found,
/// invalid_argument): the first word is no program; the program is statically linked or setuid, so
/// that nothing can be loaded into it; `weft run` has a --fabric that an emulation does not see.
Result<Command> inspect_command(const std::vector<std::string>& words);

/// Variables for the ranks only: not for the launcher, whose own messages are not the program's.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Returns the variables that make Open MPI use UCX.
Variables ucx_variables();

/// Returns the variables that make Open MPI without UCX carry out one-sided operations by messages;
/// by default it uses shared memory, past libfabric. Returns none for other MPIs, and none where
/// the command or the environment choose components that an emulation sees. Errors:
/// invalid_argument when they choose components that it does not see.
Result<Variables> one_sided_variables(const Command& command);

/// Bytes of a command's standard output that are kept.
inline constexpr std::size_t most_captured = 64 << 20;

struct Ended {
  int exit_code = 0;
  int signal = 0;  ///< that ended the launcher; 0: none did
  Duration wall_time{};
  std::string stdout_text;                ///< where it was captured
  bool stdout_is_cut = false;             ///< there was more than `most_captured`
  std::vector<std::int32_t> processes{};  ///< of its ranks, in the order in which they ended
};

/// Starts the command with `variables` set for its ranks and waits until it has ended. Watches the
/// processes that enrol in `block` meanwhile; nullptr: none do.
Result<Ended> run_command(const Command& command, const Variables& variables, bool capture_stdout,
                          const ControlBlock* block = nullptr);

}  // namespace weft::emulate
