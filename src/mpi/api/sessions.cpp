// SPDX-License-Identifier: Apache-2.0
// Sessions: MPI without MPI_Init. There are two sets of processes, that of the job and that of this
// process.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

#include "mpi/api/buffered.hpp"
#include "mpi/api/errors.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/info.hpp"
#include "mpi/api/lifetime.hpp"

namespace weft::mpi {
namespace {

constexpr std::array<std::string_view, 2> process_sets{"mpi://WORLD", "mpi://SELF"};

struct Session {
  MPI_Session handle = MPI_SESSION_NULL;
  std::shared_ptr<ErrorHandler> handler;  ///< null: `predefined`
  MPI_Errhandler predefined = MPI_ERRORS_ARE_FATAL;
  std::shared_ptr<SessionBuffer> buffer = std::make_shared<SessionBuffer>();

  int fail(const Call& call, int error, const std::string& what) const {
    if (handler == nullptr || handler->session == nullptr) {
      Communicator with_same;
      with_same.predefined = predefined;
      return call.fail(&with_same, error, what);
    }
    MPI_Session own = handle;
    int code = error;
    handler->session(&own, &code);
    return code != MPI_SUCCESS ? code : error;  // nothing wrong goes on
  }
};

Objects<Session>& sessions() {
  static auto* const all = new Objects<Session>;
  return *all;
}

/// Null, with `error` set.
Session* find_session(const Call& call, MPI_Session handle, int& error) {
  Session* const found =
      is_of(abi::made_session, handle) ? sessions().find(number_of(handle)) : nullptr;
  if (found == nullptr) {
    error = call.fail(&library().world, MPI_ERR_SESSION, "the handle is of no session");
  }
  return found;
}
using SessionCall = CallOn<Session, MPI_Session, find_session>;

/// Capital letters and others are the same.
std::size_t place_of_set(std::string_view name) {
  const auto is_same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  std::size_t i = 0;
  while (i < process_sets.size() && !std::ranges::equal(process_sets[i], name, is_same)) ++i;
  return i;
}

int fail_set(const SessionCall& call, std::string_view name) {
  return call.fail(MPI_ERR_ARG, "'{}' is no set of processes; use mpi://WORLD or mpi://SELF", name);
}

/// The thread level that the program asks for, of the names of the standard.
int wanted_level(const Call& call, MPI_Info handle) {
  constexpr std::array<std::pair<std::string_view, int>, 4> levels{
      {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
       {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
       {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
       {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}}};
  int error = MPI_SUCCESS;
  const Info* const info = handle != MPI_INFO_NULL ? find_info(call, handle, error) : nullptr;
  if (info == nullptr) return MPI_THREAD_SINGLE;
  for (const auto& [key, value] : info->entries) {
    if (key != "thread_level") continue;
    for (const auto& [name, level] : levels) {
      if (name == value) return level;
    }
  }
  return MPI_THREAD_SINGLE;
}

}  // namespace

BufferOwner buffer_of_session(const Call& call, MPI_Session session) {
  BufferOwner owner{.call = call};
  if (Session* const found = find_session(call, session, owner.error)) {
    owner.buffer = &found->buffer->attached;
    owner.refuse = [&call, found](const std::string& why) {
      return found->fail(call, MPI_ERR_BUFFER, why);
    };
  }
  return owner;
}

const Members* group_with_handler(const Call& call, MPI_Group handle, MPI_Errhandler handler,
                                  Communicator& parent, int& error) {
  (void)call.transfer();
  if (handler != MPI_ERRHANDLER_NULL) {
    error = set_handler(call, parent, handler, &ErrorHandler::communicator);
  }
  if (error != MPI_SUCCESS) return nullptr;
  const MadeGroup* const found = group_of(handle);
  if (found == nullptr) {
    error = call.fail(&parent, MPI_ERR_GROUP, no_group);
  } else {
    parent.session = found->session;
  }
  return found;
}

MPI_Comm create_from_members(const Communicator& parent, const Members& members,
                             std::string_view text) {
  Library& mpi = library();
  const int rank = rank_of(members, mpi.world.group.members[mpi.world.group.rank]);
  if (rank == MPI_UNDEFINED) return MPI_COMM_NULL;
  // Only the members call it: they count by group and text. The third highest bit keeps these
  // generations apart from those of the world's other communicators.
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  const Generation kind =
      child_generation(mpi.world.group, std::uint64_t{1} << 61 | hash >> 4, members);
  const std::uint64_t n = mpi.world.groups_made[kind.value()]++;
  return add_communicator(parent, {.generation = child_generation(
                                       {.generation = kind, .members = {}, .rank = 0}, n, members),
                                   .members = members,
                                   .rank = static_cast<std::uint32_t>(rank)});
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  const Call call{"MPI_Session_init"};
  begin_session(call.function);
  if (wanted_level(call, info) == MPI_THREAD_MULTIPLE) allow_threads(*library().transfer);
  auto made = std::make_unique<Session>();
  int error = call.check_results(session);
  // Programs that pass none want the default.
  if (error == MPI_SUCCESS && handler != MPI_ERRHANDLER_NULL) {
    error = set_handler(call, *made, handler, &ErrorHandler::session);
  }
  if (error != MPI_SUCCESS) {
    end_session();
    return error;
  }
  Session& kept = *made;
  *session = kept.handle = handle_of(abi::made_session, sessions().add(std::move(made)));
  return MPI_SUCCESS;
}

int MPI_Session_create_errhandler(MPI_Session_errhandler_function* function,
                                  MPI_Errhandler* handler) {
  return keep_handler({"MPI_Session_create_errhandler"}, {.session = function}, handler);
}

int MPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler handler) {
  const SessionCall call("MPI_Session_set_errhandler", session);
  return call ? set_handler(call, *call, handler, &ErrorHandler::session) : call.error;
}

int MPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler* handler) {
  const SessionCall call("MPI_Session_get_errhandler", session);
  return call ? get_handler(call, *call, handler) : call.error;
}

int MPI_Session_call_errhandler(MPI_Session session, int code) {
  const SessionCall call("MPI_Session_call_errhandler", session);
  if (!call) return call.error;
  (void)call.fail(code, "the program calls for error {}", code);
  return MPI_SUCCESS;
}

int MPI_Session_finalize(MPI_Session* session) {
  if (const int error = Call{"MPI_Session_finalize"}.check_results(session)) return error;
  const SessionCall call("MPI_Session_finalize", *session);
  if (!call) return call.error;
  void* buffer = nullptr;
  MPI_Count bytes = 0;
  const int error = buffer_of_session(call, *session).detach(&buffer, &bytes);
  (void)sessions().remove(number_of(*session));
  *session = MPI_SESSION_NULL;
  end_session();
  return error;
}

int MPI_Session_get_num_psets(MPI_Session session, MPI_Info, int* count) {
  const SessionCall call("MPI_Session_get_num_psets", session, count);
  if (!call) return call.error;
  *count = static_cast<int>(process_sets.size());
  return MPI_SUCCESS;
}

int MPI_Session_get_nth_pset(MPI_Session session, MPI_Info, int n, int* length, char* name) {
  const SessionCall call("MPI_Session_get_nth_pset", session, length);
  if (!call) return call.error;
  const auto i = static_cast<std::size_t>(n);
  if (n < 0 || i >= process_sets.size()) {
    return call.fail(MPI_ERR_ARG, "{} is no number of a set; there are {}", n, process_sets.size());
  }
  // A length of 0 asks for the one that is needed.
  const int room = *length;
  const std::string_view full = process_sets[i];
  *length = static_cast<int>(full.size()) + 1;
  if (room <= 0) return MPI_SUCCESS;
  if (const int error = call.check_results(name)) return error;
  const std::size_t fits = std::min(full.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(name, full.data(), fits);
  name[fits] = '\0';
  return MPI_SUCCESS;
}

int MPI_Session_get_pset_info(MPI_Session session, const char* name, MPI_Info* info) {
  const SessionCall call("MPI_Session_get_pset_info", session, name, info);
  if (!call) return call.error;
  const std::size_t set = place_of_set(name);
  if (set == process_sets.size()) return fail_set(call, name);
  const std::size_t size = set == 0 ? library().world.group.size() : 1;
  *info = keep_info({.entries = {{"mpi_size", fmt::format("{}", size)}}});
  return MPI_SUCCESS;
}

int MPI_Session_get_info(MPI_Session session, MPI_Info* info) {
  const SessionCall call("MPI_Session_get_info", session, info);
  if (!call) return call.error;
  // Of the process, which may have had it before this session, and never loses it.
  const bool is_multiple = Held::has_threads();
  *info = keep_info({.entries = {{"thread_level",
                                  is_multiple ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SERIALIZED"}}});
  return MPI_SUCCESS;
}

int MPI_Group_from_session_pset(MPI_Session session, const char* name, MPI_Group* group) {
  const SessionCall call("MPI_Group_from_session_pset", session, name, group);
  if (!call) return call.error;
  const std::size_t set = place_of_set(name);
  if (set == process_sets.size()) return fail_set(call, name);
  const Communicator& members = set == 0 ? library().world : library().self;
  *group = keep_group(members.group.members, call->buffer);
  return MPI_SUCCESS;
}

int MPI_Comm_create_from_group(MPI_Group handle, const char* text, MPI_Info, MPI_Errhandler handler,
                               MPI_Comm* made) {
  const Call call{"MPI_Comm_create_from_group"};
  int error = call.check_results(text, made);
  if (error != MPI_SUCCESS) return error;
  Communicator parent;
  const Members* const members = group_with_handler(call, handle, handler, parent, error);
  if (members == nullptr) return error;
  *made = create_from_members(parent, *members, text);
  return MPI_SUCCESS;
}
