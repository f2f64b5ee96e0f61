// SPDX-License-Identifier: Apache-2.0
// The chapter on process creation: programs that processes have started, and their parents.
#include <algorithm>
#include <utility>

#include "mpi/api/dynamic.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi {

Result<LauncherAnswer> ask_launcher(const LauncherQuestion& question) {
  Library& mpi = library();
  const auto wait_until = [&mpi](const auto& is_so) {
    while (!mpi.transfer->failure() && !is_so()) {
      mpi.transfer->turn();
      rest();
    }
  };
  // An answer does not name its question, so threads ask one after the other.
  wait_until([&mpi] { return !mpi.is_asking; });
  if (mpi.transfer->failure()) return *mpi.transfer->failure();
  if (!mpi.process->ask(question)) {
    return Error{ErrorCode::unavailable,
                 "it needs weft run, which starts this job's processes, and no simulation"};
  }
  std::optional<Result<LauncherAnswer>> answer;
  mpi.is_asking = true;
  wait_until([&] { return (answer = mpi.process->take_answer()).has_value(); });
  mpi.is_asking = false;
  if (!answer) return *mpi.transfer->failure();
  if (answer->ok() && !(*answer)->refusal.empty()) {
    return Error{ErrorCode::unavailable, (*answer)->refusal};
  }
  return *std::move(answer);
}

namespace {

/// The processes of a world.
Members members_of_world(std::uint32_t first, std::uint32_t size) {
  Members members;
  for (std::uint32_t i = 0; i < size; ++i) members.emplace_back(first + i);
  return members;
}

/// The result of a spawn, which the root sends to all processes of the parents' communicator.
struct Spawned {
  std::uint32_t first = 0;
  std::uint32_t processes = 0;  ///< as asked for
  std::uint32_t why_length = 0;
  int error_class = MPI_SUCCESS;
};

struct SpawnCall {
  const Call& call;
  Communicator& parents;
  int root;
};

/// The root's, told to all: an error that it alone met would leave the others waiting. `why` is
/// empty when they are there.
Spawned tell_all(const SpawnCall& spawn, Spawned what, std::string& why, int& error) {
  what.why_length = static_cast<std::uint32_t>(why.size());
  const MPI_Comm comm = spawn.parents.handle;
  error = MPI_Bcast(&what, sizeof what, MPI_BYTE, spawn.root, comm);
  if (error != MPI_SUCCESS) return what;
  why.resize(what.why_length);
  if (!why.empty()) {
    error = MPI_Bcast(why.data(), static_cast<int>(why.size()), MPI_BYTE, spawn.root, comm);
  }
  return what;
}

/// The root's part. `why` is empty when the processes are there.
Spawned start_programs(const Group& parents, std::vector<SpawnedProgram> programs,
                       std::string& why) {
  Spawned what;
  LauncherQuestion question{
      .programs = std::move(programs), .parents = {}, .name = {}, .value = {}};
  for (const NodeId member : parents.members) question.parents.push_back(member.value());
  for (const SpawnedProgram& program : question.programs) what.processes += program.processes;
  const auto answer = ask_launcher(question);
  if (answer) {
    what.first = answer->first;
  } else {
    what.error_class = MPI_ERR_SPAWN;
    why = answer.error().message;
  }
  return what;
}

/// `why`, where it is not empty, is the root's alone: why its arguments ask for nothing.
int run_spawn(const SpawnCall& spawn, std::vector<SpawnedProgram> programs, std::string why,
              MPI_Comm* made, int* codes) {
  Spawned what{.error_class = MPI_ERR_ARG};
  if (why.empty() && spawn.parents.group.rank == static_cast<std::uint32_t>(spawn.root)) {
    what = start_programs(spawn.parents.group, std::move(programs), why);
  }
  int error = MPI_SUCCESS;
  what = tell_all(spawn, what, why, error);
  if (error != MPI_SUCCESS) return error;
  if (codes != nullptr) {
    std::fill_n(codes, what.processes, why.empty() ? MPI_SUCCESS : MPI_ERR_SPAWN);
  }
  *made = MPI_COMM_NULL;
  if (!why.empty()) {
    // With restarts weft run refuses every spawn.
    return library().process->job().retain
               ? spawn.call.fail_in_each_life(&spawn.parents, what.error_class, why)
               : spawn.call.fail(&spawn.parents, what.error_class, why);
  }
  *made = connect_groups(spawn.parents, spawned_generation(what.first),
                         members_of_world(what.first, what.processes));
  return MPI_SUCCESS;
}

SpawnedProgram program_of(const char* command, char** arguments, int processes) {
  SpawnedProgram program{.command = {command}, .processes = static_cast<std::uint32_t>(processes)};
  for (; arguments != nullptr && *arguments != nullptr; ++arguments) {
    program.command.emplace_back(*arguments);
  }
  return program;
}

/// Null, with `error` set: no root of the communicator, or no communicator of one group.
Communicator* check(const Call& call, MPI_Comm comm, int root, int& error) {
  Communicator* const parents = call.communicator(comm, error);
  if (parents == nullptr) return nullptr;
  if (is_inter(*parents)) {
    error = call.fail(parents, MPI_ERR_COMM, "the communicator has two groups");
  } else if (root < 0 || static_cast<std::uint32_t>(root) >= parents->group.size()) {
    error = call.fail(parents, MPI_ERR_ROOT, "{} is no rank of a communicator of {}", root,
                      parents->group.size());
  }
  return error == MPI_SUCCESS ? parents : nullptr;
}

int spawn(const Call& call, int count, const char* const* commands, char** const* arguments,
          const int* processes, int root, MPI_Comm comm, MPI_Comm* made, int* codes) {
  int error = MPI_SUCCESS;
  Communicator* const parents = check(call, comm, root, error);
  if (parents == nullptr) return error;
  std::vector<SpawnedProgram> programs;
  std::string why;
  if (parents->group.rank == static_cast<std::uint32_t>(root)) {
    if (count <= 0 || std::any_of(processes, processes + count, [](int n) { return n <= 0; })) {
      why = "a program without processes, or no program";
    }
    if (why.empty() && std::count(commands, commands + count, nullptr) > 0) {
      why = "a program's name is a null pointer";
    }
    for (int i = 0; why.empty() && i < count; ++i) {
      programs.push_back(
          program_of(commands[i], arguments != nullptr ? arguments[i] : nullptr, processes[i]));
    }
  }
  return run_spawn({call, *parents, root}, std::move(programs), std::move(why), made, codes);
}

}  // namespace

void meet_parents() {
  Library& mpi = library();
  const JobDescription& job = mpi.process->job();
  if (job.parents.empty()) return;
  Members parents;
  for (const std::uint32_t node : job.parents) parents.emplace_back(node);
  mpi.parent = connect_groups(mpi.world, spawned_generation(job.first.value()), std::move(parents));
}

bool is_world_alone() {
  const Library& mpi = library();
  const JobDescription& job = mpi.process->job();
  bool is_alone = true;
  mpi.communicators.for_each([&](const Communicator& communicator) {
    if (communicator.handle == mpi.everybody) return;
    for (const NodeId member : communicator.group.members) {
      is_alone &=
          member.value() >= job.first.value() && member.value() - job.first.value() < job.nodes;
    }
  });
  return is_alone;
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_spawn(const char* command, char** arguments, int processes, MPI_Info, int root,
                   MPI_Comm comm, MPI_Comm* made, int* codes) {
  const char* const commands[] = {command};
  return spawn({"MPI_Comm_spawn"}, 1, commands, &arguments, &processes, root, comm, made, codes);
}

int MPI_Comm_spawn_multiple(int count, char** commands, char*** arguments, const int* processes,
                            const MPI_Info*, int root, MPI_Comm comm, MPI_Comm* made, int* codes) {
  return spawn({"MPI_Comm_spawn_multiple"}, count, commands, arguments, processes, root, comm, made,
               codes);
}

int MPI_Comm_get_parent(MPI_Comm* parent) {
  const Held held;
  *parent = library().parent;
  return MPI_SUCCESS;
}

/// All messages between the groups have arrived then, so that each may leave by itself.
int MPI_Comm_disconnect(MPI_Comm* comm) {
  const CommunicatorCall call("MPI_Comm_disconnect", *comm);
  if (!call) return call.error;
  if (const int error = MPI_Barrier(*comm); error != MPI_SUCCESS) return error;
  return MPI_Comm_free(comm);
}
