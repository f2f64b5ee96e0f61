// SPDX-License-Identifier: Apache-2.0
#include "emulate/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/needed_libraries.hpp"

namespace weft::emulate {

unsigned ranks_asked(const Command& command) {
  static const std::set<std::string> options{"-n", "-np", "--np", "-c", "--n"};
  const auto& words = command.words;
  for (std::size_t i = 1; i + 1 < command.program_at; ++i) {
    if (options.contains(words[i])) {
      return static_cast<unsigned>(std::strtoul(words[i + 1].c_str(), nullptr, 10));
    }
  }
  return 0;
}

Result<void> check_ranks(const ControlBlock& block, unsigned ranks) {
  if (ranks > kMostRanks) {
    return no_result("{} ranks: only the first {} have links that can be emulated; start fewer",
                     ranks, kMostRanks);
  }
  if (block.pair_count == 0 || ranks <= block.pair_count) return {};
  return no_result("--links: its file is for {} ranks, and the program has {}; add those missing",
                   block.pair_count, ranks);
}

namespace {

/// The processes of one rank together: a rank may start others, which load the module too.
struct RankSeen {
  std::int32_t pid = 0;
  std::uint32_t stage = 0;
  std::string interposer;
};

struct Seen {
  std::map<int, RankSeen> ranks;
  unsigned expected = 0;
};

Seen look(const ControlBlock& block, const Command& command) {
  Seen seen{.ranks = {}, .expected = ranks_asked(command)};
  const unsigned count = std::min(block.processes.load(), kMostProcesses);
  for (unsigned i = 0; i < count; ++i) {
    const ProcessRecord& record = block.process[i];
    const std::uint32_t stage = record.stage.load();
    if (stage == 0) continue;
    // Without a launcher each process that communicates is one.
    if (record.rank < 0 && (stage & stage_interposed) == 0) continue;
    const int rank = record.rank >= 0 ? record.rank : 1'000'000 + static_cast<int>(i);
    seen.expected = std::max(seen.expected, static_cast<unsigned>(std::max(record.ranks, 0)));
    RankSeen& here = seen.ranks[rank];
    if (here.pid == 0 || (stage & stage_interposed) != 0) {
      here.pid = record.pid.load();
      here.stage = stage;
      here.interposer = record.interposer;
    }
  }
  seen.expected = std::max(seen.expected, static_cast<unsigned>(seen.ranks.size()));
  return seen;
}

/// "rank 3", "ranks 0, 1, 2": of many, the first ones.
std::string names_of(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 8;
  const std::span named(ranks.data(), std::min(ranks.size(), kNamed));
  const std::size_t more = ranks.size() - named.size();
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(named, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

/// The ranks that died, of which all but the first were ended by their launcher; nothing where all
/// have finished.
std::optional<Error> died(const Seen& seen, const Command& command, const Ended& ended) {
  std::vector<int> unfinished;
  for (const auto& [rank, process] : seen.ranks) {
    if ((process.stage & stage_finished) == 0) unfinished.push_back(rank);
  }
  if (unfinished.empty()) return {};
  const std::string how =
      ended.exit_code == 0
          ? ""
          : fmt::format(", and {} ended with code {}", command.words.front(), ended.exit_code);
  int first = unfinished.front();
  bool is_known = unfinished.size() == 1;
  for (const std::int32_t pid : ended.processes) {
    const auto found =
        std::ranges::find_if(unfinished, [&](int rank) { return seen.ranks.at(rank).pid == pid; });
    if (found == unfinished.end()) continue;
    first = *found;
    is_known = true;
    break;
  }
  if (!is_known) {
    return no_result("{} died before they had finished{}", names_of(unfinished), how);
  }
  const RankSeen& process = seen.ranks.at(first);
  const bool has_exited = (process.stage & stage_exited) != 0;
  return no_result("rank {} (process {}) {}{}", first, process.pid,
                   has_exited ? "exited without MPI_Finalize" : "died before it had finished", how);
}

Error ended_badly(const Seen& seen, const Command& command, const Ended& ended) {
  if (auto error = died(seen, command, ended)) return *error;
  if (ended.signal != 0) {
    return no_result("{} was ended by signal {}", command.words.front(), ended.signal);
  }
  return no_result("{} ended with code {}", command.words.front(), ended.exit_code);
}

/// Returns why nothing, or not every rank, was interposed.
Error not_interposed(const Seen& seen, const Command& command, unsigned interposed) {
  const std::string& program = command.program.empty() ? command.words.front() : command.program;
  if (seen.ranks.empty()) {
    return no_result(
        "{}: nothing was interposed: the module was loaded into no rank; run an MPI "
        "program that is linked dynamically, on this host",
        program);
  }
  for (const auto& [rank, process] : seen.ranks) {
    if ((process.stage & stage_refused) != 0) {
      return no_result(
          "rank {}: its UCX is of another version than the one that weft was built "
          "with; build weft where the program runs",
          rank);
    }
  }
  if (interposed == 0 && command.mpi == "openmpi") {
    return no_result(
        "{}: none of {} ranks was interposed: Open MPI's default (ob1 over vader and tcp) does not "
        "use UCX; switch to it by --ucx, or in the environment: OMPI_MCA_pml=ucx "
        "OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any OMPI_MCA_osc=ucx,sm "
        "OMPI_MCA_osc_ucx_priority=200",
        program, seen.expected);
  }
  std::vector<int> lacking;
  for (unsigned rank = 0; rank < seen.expected; ++rank) {
    const auto found = seen.ranks.find(static_cast<int>(rank));
    if (found == seen.ranks.end() || (found->second.stage & stage_interposed) == 0) {
      lacking.push_back(static_cast<int>(rank));
    }
  }
  return no_result(
      "{}: {} of {} ranks were interposed, {} not: {} on another host, or {} by "
      "something else than UCX",
      program, interposed, seen.expected, names_of(lacking),
      lacking.size() == 1 ? "it runs" : "they run",
      lacking.size() == 1 ? "communicates" : "communicate");
}

void add_counters(const ControlBlock& block, EmulatedRun& run) {
  Picoseconds longest = 0;
  for (unsigned i = 0; i < std::min(block.processes.load(), kMostProcesses); ++i) {
    const ProcessRecord& record = block.process[i];
    if ((record.stage.load() & stage_interposed) == 0) continue;
    for (const auto& operations : record.operations) run.operations += operations.load();
    run.bytes += record.bytes.load();
    run.padding_bytes += record.padding.load();
    longest = std::max(longest, record.ended.load() - record.began.load());
  }
  run.program_time = Duration(longest / 1'000);
}

Result<EmulatedRun> result_of(const ControlBlock& block, const Command& command,
                              const Ended& ended) {
  const Seen seen = look(block, command);
  if (ended.exit_code != 0) return ended_badly(seen, command, ended);
  EmulatedRun run;
  run.exit_code = ended.exit_code;
  run.ranks = seen.expected;
  for (const auto& [rank, process] : seen.ranks) {
    if ((process.stage & stage_interposed) == 0) continue;
    ++run.ranks_interposed;
    run.interposer = process.interposer;
  }
  if (run.ranks_interposed == 0 || run.ranks_interposed < run.ranks) {
    return not_interposed(seen, command, run.ranks_interposed);
  }
  if (auto error = died(seen, command, ended)) return *error;
  for (const auto& [rank, process] : seen.ranks) {
    if ((process.stage & stage_unheld) == 0) continue;
    return no_result(
        "rank {}: it opens completion counters of libfabric (fi_cntr_open), which "
        "weft does not hold; let the program use completion queues",
        rank);
  }
  if (auto good = check_ranks(block, run.ranks); !good) return std::move(good).error();
  add_counters(block, run);
  if (run.operations == 0) {
    return no_result("{}: no rank sent another anything between MPI_Init and MPI_Finalize",
                     command.program);
  }
  // Less than the threshold for each peer is put off for ever.
  const auto asked = static_cast<double>(block.knobs.padding.load()) / 4'294'967'296.0;
  const double put_off = 2.0 * kPaddingThreshold * run.ranks * run.ranks;
  if (run.padding_bytes == 0 && asked * static_cast<double>(run.bytes) > put_off) {
    return no_result(
        "{}: --method padding: {} can pad {}, and the program does something else; "
        "leave padding out, so that links are token buckets",
        command.program, run.interposer,
        run.interposer == "libfabric" ? "one-sided writes only" : "nothing");
  }
  run.wall_time = ended.wall_time;
  return run;
}

const char* name_of(const std::string& mpi) {
  return mpi == "mpich" ? "MPICH" : "Open MPI";
}

/// Returns that the launcher is of another MPI than the program; empty: it is not. Each rank is
/// then a program of one rank, unless both speak PMIx, and fails in a way of its own.
std::string other_launcher(const Command& command) {
  if (command.mpi.empty() || command.program.empty()) return {};
  const MpiChoice needed = choose_mpi_of(command.program);
  const bool is_known = needed.abi == "mpich" || needed.abi == "openmpi";
  if (!is_known || needed.abi == command.mpi) return {};
  return fmt::format(
      "{}: needs {} of {}, but {}, which started it, is the launcher of {}; start it with {}'s own "
      "mpirun",
      command.program, needed.library, name_of(needed.abi), command.words.front(),
      name_of(command.mpi), name_of(needed.abi));
}

}  // namespace

Error stopped() {
  return {ErrorCode::cancelled, "stopped by a signal; no result"};
}

Result<EmulatedRun> judge(const ControlBlock& block, const Command& command, const Ended& ended) {
  auto result = result_of(block, command, ended);
  if (result) return result;
  const std::string why = other_launcher(command);
  return why.empty() ? result : no_result("{}", why);
}

}  // namespace weft::emulate
