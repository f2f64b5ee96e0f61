// SPDX-License-Identifier: Apache-2.0
// JobFile: the members of a job, in a file that all its processes read (paper 4, 4.5.6). The format
// is the paper's, a "key file"; docs/messages.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// The place of one rank.
struct RankPlace {
  std::string host;        ///< as written, without brackets; empty: `unix_name` counts
  std::uint16_t port = 0;  ///< of TCP
  std::string unix_name;   ///< of an abstract Unix socket
  std::uint32_t line = 0;  ///< of the file, from 1
  bool operator==(const RankPlace& other) const {
    return host == other.host && port == other.port && unix_name == other.unix_name;
  }
};

struct JobFile {
  std::string path;
  /// When it was last changed, as a number for a life: one that reads it has a higher one.
  Incarnation changed{};
  std::vector<RankPlace> ranks;  ///< at least one

  // Members that the file does not set are left to the program that reads it.
  std::optional<Duration> timeout;  ///< Duration::max(): for ever
  std::optional<Duration> peer_timeout;
  std::optional<Duration> heartbeat;
  std::optional<ByteCount> inbox;
  std::optional<ByteCount> outbox;
  std::optional<bool> outbox_fails;
  std::optional<std::uint32_t> connections;
  std::optional<bool> retain;  ///< sent messages are kept, so that processes may be started anew
  std::string fabric;          ///< "auto" or "tcp"; empty: not said
  std::string spill;           ///< directory; empty: none
  std::string job_id;          ///< empty: none
  std::string secret_file;     ///< empty: none
  std::uint32_t secret_line = 0;

  /// "PATH:LINE"
  std::string where(std::uint32_t line) const;
};

/// A fabric that a job by a file can use: "auto" or "tcp".
Result<std::string> parse_file_fabric(std::string_view text);
/// Returns how long a connection may be silent until it is proved alive: at least 1 ms.
Result<Duration> parse_heartbeat(std::string_view text);

/// `path` is for error messages, and for files named relative to this one. Errors: one line,
/// "PATH:LINE: what is wrong, and the fix".
Result<JobFile> parse_job_file(std::string_view text, const std::string& path);
/// Blocks on the file. Errors also when it is missing, no file, or larger than 16 MiB.
Result<JobFile> read_job_file(const std::string& path);

/// Each rank's address with its host's name looked up: "127.0.0.1:2000", "unix:@name". Blocks for
/// names. Errors name the line: an unknown host, two ranks at one address.
class RankAddresses {
 public:
  Result<std::vector<std::string>> resolve(const JobFile& file);

 private:
  struct Known {
    std::string name, numeric;
  };
  Result<std::string> numeric(const std::string& host);

  std::vector<Known> known_;  // sorted by name; looked up once
};

/// The address at which a rank's process listens, given the rank's: the same, or all of this
/// machine's when its host is this machine's own name and stands for a loopback address here, as
/// /etc/hosts often has it.
std::string listening_address(const RankPlace& place, const std::string& address);

/// The ranks whose addresses are this machine's, in order.
std::vector<std::uint32_t> ranks_here(const std::vector<std::string>& addresses);

}  // namespace weft
