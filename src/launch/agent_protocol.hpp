// SPDX-License-Identifier: Apache-2.0
// The messages between a launcher and its agent on another machine, in frames of a FramePipe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

namespace agent_message {
// Launcher → agent.
inline constexpr char program = 'P';  ///< first: ProgramDescription
inline constexpr char start = 'S';    ///< a rank: its JobDescription
inline constexpr char grow = 'G';     ///< so many ranks: the command of those that are new
inline constexpr char kill = 'Q';     ///< a rank's process
inline constexpr char tell = 'M';     ///< a rank's process: a kind, and text
inline constexpr char signal = 'K';   ///< all processes: a number
inline constexpr char took = 'T';     ///< so many bytes of output: as many more may follow
inline constexpr char over = 'E';     ///< no process runs any more, and none will
// Agent → launcher.
inline constexpr char hello = 'h';   ///< first: `agent_greeting`
inline constexpr char begun = 'c';   ///< a rank's process is started: output before was another's
inline constexpr char said = 'm';    ///< a rank's process: a kind, and text
inline constexpr char ended = 'e';   ///< a rank's process: waitpid's status
inline constexpr char output = 'o';  ///< a rank's process: whole lines if it can; empty: the end
inline constexpr char failed = 'x';  ///< why something could not be done
// Both.
inline constexpr char alive = 'b';  ///< every second: a Lease's word; back: the same one
}  // namespace agent_message

/// The number changes with the protocol.
inline constexpr const char* agent_greeting = "weft launch 5";

inline constexpr Duration alive_every = Duration::seconds(1);

/// Bytes of output that an agent passes on before the launcher has taken any. So the launcher can
/// always read an agent's other messages, however slowly its own standard output is read.
inline constexpr std::int64_t output_window = 1 << 20;

/// The same for all processes of a job.
struct ProgramDescription {
  std::uint32_t ranks = 0;  ///< that the whole job begins with
  std::vector<std::string> command;
  std::string directory;  ///< to run in
  std::vector<std::pair<std::string, std::string>> environment;
  Duration lease = Duration::seconds(60);  ///< without word from the launcher (launch/lease)
  std::string guard;                       ///< name of the one agent of this job and host
};

std::string to_text(const ProgramDescription& program);
Result<ProgramDescription> read_program_description(const std::string& text);
std::string command_to_text(const std::vector<std::string>& command);
Result<std::vector<std::string>> read_command(const std::string& text);

/// No job has more ranks.
inline constexpr std::uint32_t most_ranks = 1u << 20;

}  // namespace weft
