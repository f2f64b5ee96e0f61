// SPDX-License-Identifier: Apache-2.0
// The chapter on the environment: init, finalize, abort, time, names, errors.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "mpi/api/absent.hpp"
#include "mpi/api/attributes.hpp"
#include "mpi/api/dynamic.hpp"
#include "mpi/api/library.hpp"
#include "mpi/api/lifetime.hpp"
#include "mpi/api/text.hpp"
#include "mpi/api/told_clocks.hpp"
#include "mpi/api/windows.hpp"
#include "runtime/clock.hpp"

namespace weft::mpi {
namespace {

void use_log(Library& mpi, NodeId self) {
  mpi.questions = std::make_unique<Questions>(*mpi.transfer);
  auto log = mpi.process->repeat_outcomes();
  if (!log) {
    (void)mpi.process->fail_for_good(log.error().message, mpi.process->has_useless_outcomes());
    ::_exit(1);
  }
  if (*log == nullptr) return;
  mpi.questions->use(**log, {.rank = self.value(),
                             .is_lost = mpi.process->has_lost_outcomes(),
                             .limit_option = outcomes_limit_variable});
  tell_clocks(*mpi.questions);
}

/// The program's own view of MPI_Init and MPI_Finalize, for which any thread may ask, and of its
/// sessions.
struct Lifetime {
  std::atomic<bool> is_initialized = false;
  std::atomic<bool> is_finalized = false;
  bool had_session = false;
  int sessions = 0;    // open
  pid_t process = -1;  // that joined the job: one that it forks has no part in it
};
Lifetime lifetime;

/// At exit. A script may hide how its program ended: one that exits without MPI_Finalize says so,
/// and one that is killed says nothing.
void tell_exit() {
  const Library& mpi = library();
  if (lifetime.process == ::getpid() && mpi.process != nullptr) mpi.process->tell_exit();
}

std::terminate_handler other_end = nullptr;  // of the program's exceptions

/// Exceptions of the allocator have no handler in C.
[[noreturn]] void end_without_memory() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end_job(1, fmt::format("rank {}: there is no memory left; run fewer ranks here, or raise the "
                           "limit (ulimit -v)",
                           library().world.group.rank));
  } catch (const std::length_error&) {
    end_job(1, fmt::format("rank {}: a message is longer than any memory; use a smaller count",
                           library().world.group.rank));
  } catch (...) {
  }
  other_end();
  std::abort();
}

void join_job(const char* function) {
  other_end = std::set_terminate(end_without_memory);
  Library& mpi = library();
  auto invitation = JobInvitation::take(true);
  if (!invitation) end_job(1, fmt::format("{}: {}", function, invitation.error().message));
  invitation->may_grow = true;
  invitation->waits_in = Held::outermost_call;
  if (invitation->proxy != nullptr) Held::name_calls();
  auto process = JobProcess::join(std::move(invitation).value());
  // The launcher has said why it ends the job.
  if (!process && process.error().code == ErrorCode::cancelled) ::_exit(1);
  if (!process) end_job(1, fmt::format("{}: {}", function, process.error().message));
  mpi.process = std::move(process).value();
  const JobDescription& job = mpi.process->job();
  const NodeId self = mpi.process->messenger().machine().self();
  if (auto wanted = mpi.process->may_begin(); !wanted) {
    end_job(1, fmt::format("rank {}: {}", self.value(), wanted.error().message));
  } else if (!*wanted) {
    ::_exit(0);  // an earlier life got through, and the job is over
  }
  mpi.transfer = std::make_unique<Transfer>(mpi.process->messenger());
  if (!job.retain) mpi.transfer->allow_boards();
  use_log(mpi, self);
  const std::uint32_t first = job.first.value();
  mpi.world.group = first == 0 ? world_group(mpi.process->size(), self)
                               : spawned_group(first, mpi.process->size(), self);
  mpi.self.group = self_group(self);
  mpi.transfer->open(mpi.world.group, {.is_world = true});
  mpi.transfer->open(mpi.self.group);
  mpi.is_initialized = true;
  lifetime.process = ::getpid();
  std::atexit(tell_exit);
  meet_parents();
}

void join(const char* function) {
  const Call call{function};
  if (lifetime.is_initialized) call.fail(nullptr, MPI_ERR_OTHER, "called twice");
  if (!library().is_initialized) join_job(function);
  lifetime.is_initialized = true;
}

/// Peers may need this process's messages again, and answers for receives that it gave up by
/// MPI_Request_free: it stays until all are here.
void leave_job(const Call& call) {
  Library& mpi = library();
  std::fflush(stdout);
  if (auto left = mpi.process->leave(is_world_alone(), [&] { mpi.transfer->serve(); }); !left) {
    call.fail(nullptr, MPI_ERR_OTHER, left.error().message);
  }
  mpi.is_finalized = true;
  // The clocks go on: a later life prints what this one prints from now on.
  mpi.questions->leave();
  mpi.outcomes = mpi.process->release_outcomes();
  mpi.transfer.reset();
  mpi.process.reset();
}

/// At exit: a program may begin sessions again until then. One that did not finalize what it began
/// is told so by its launcher.
void leave_after_sessions() {
  Library& mpi = library();
  if (lifetime.process != ::getpid()) return;
  if (lifetime.sessions > 0 || lifetime.is_initialized != lifetime.is_finalized) return;
  if (!mpi.is_initialized || mpi.is_finalized) return;
  const Call call{"MPI_Session_finalize"};
  mpi.transfer->flush();
  leave_job(call);
}

}  // namespace

void begin_session(const char* function) {
  if (library().is_finalized) {
    end_job(1, fmt::format("{}: called after MPI_Finalize, which ended this process's part in the "
                           "job; begin a session before it",
                           function));
  }
  if (!library().is_initialized) join_job(function);
  if (!std::exchange(lifetime.had_session, true)) std::atexit(leave_after_sessions);
  ++lifetime.sessions;
}

void end_session() {
  --lifetime.sessions;
  library().transfer->flush();
}

int absent(const char* function) {
  return Call{function}.fail(&library().world, MPI_ERR_UNSUPPORTED_OPERATION,
                             "weft does not have it yet; docs/mpi.md lists what it has");
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Init(int*, char***) {
  join("MPI_Init");
  return MPI_SUCCESS;
}

int MPI_Init_thread(int*, char***, int required, int* provided) {
  join("MPI_Init_thread");
  *provided = std::min(required, MPI_THREAD_MULTIPLE);
  library().thread_level = *provided;
  if (*provided == MPI_THREAD_MULTIPLE) allow_threads(*library().transfer);
  return MPI_SUCCESS;
}

int MPI_Query_thread(int* provided) {
  *provided = library().thread_level;
  return MPI_SUCCESS;
}

int MPI_Initialized(int* flag) {
  *flag = lifetime.is_initialized ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
  *flag = lifetime.is_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Finalize() {
  Library& mpi = library();
  const Call call{"MPI_Finalize"};
  int error = MPI_SUCCESS;
  if (call.communicator(MPI_COMM_WORLD, error) == nullptr) return error;
  // Libraries clean up in the functions of attributes that they set there.
  error = communicator_keys().remove_all(MPI_COMM_SELF, mpi.self.attributes);
  if (error != MPI_SUCCESS) {
    return call.fail(&mpi.self, error, "an attribute of MPI_COMM_SELF cannot be deleted");
  }
  await_those_of_open_windows();
  mpi.transfer->flush();
  if ((error = call.settle(nullptr)) != MPI_SUCCESS) return error;
  lifetime.is_finalized = true;
  if (!lifetime.had_session) leave_job(call);
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) {
  const Library& mpi = library();
  end_job(code, fmt::format("rank {}: MPI_Abort with code {}", mpi.world.group.rank, code));
}

double MPI_Wtime() {
  const Held held;
  const weft::JobProcess* const process = library().process.get();
  const weft::Instant now = process != nullptr ? process->now() : weft::monotonic_now();
  auto now_ns = static_cast<std::uint64_t>((now - weft::Instant{}).to_nanoseconds());
  if (library().questions != nullptr) now_ns = library().questions->tell_time(now_ns);
  return static_cast<double>(now_ns) * 1e-9;
}

double MPI_Wtick() {
  return 1e-9;
}

int MPI_Get_processor_name(char* name, int* length) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  copy_text(host, MPI_MAX_PROCESSOR_NAME, name, length);
  return MPI_SUCCESS;
}

int MPI_Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Get_library_version(char* text, int* length) {
  const std::string_view about = abi::library_version;  // "weft, with …"
  const std::size_t name = about.find(',');
  const std::string versioned =
      fmt::format("{} {}{}", about.substr(0, name), WEFT_VERSION, about.substr(name));
  copy_text(versioned, MPI_MAX_LIBRARY_VERSION_STRING, text, length);
  return MPI_SUCCESS;
}
