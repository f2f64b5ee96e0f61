// SPDX-License-Identifier: Apache-2.0
// MPI_T: variables of this process for tools. There are none that control anything, and a few that
// tell of its messages and files. They are read only, and count from the moment at which a handle
// is made or reset.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "mpi/api/file_pieces.hpp"
#include "mpi/api/library.hpp"

namespace weft::mpi {
namespace {

struct Variable {
  std::string_view name;
  std::string_view description;
  bool is_counter;  // else a level
  std::uint64_t (*value)(const Transfer::Counts&);
};
constexpr std::array<Variable, 6> variables{{
    {"weft_messages_received", "point-to-point messages that arrived", true,
     [](const Transfer::Counts& c) { return c.messages; }},
    {"weft_bytes_received", "bytes of their content", true,
     [](const Transfer::Counts& c) { return c.bytes; }},
    {"weft_unexpected_messages", "messages that no receive has taken yet", false,
     [](const Transfer::Counts& c) { return c.waiting; }},
    {"weft_most_unexpected_messages", "the most of them at a time", false,
     [](const Transfer::Counts& c) { return c.most_waiting; }},
    {"weft_file_reads", "system calls that read files", true,
     [](const Transfer::Counts&) { return file_counts().reads; }},
    {"weft_file_writes", "system calls that wrote files", true,
     [](const Transfer::Counts&) { return file_counts().writes; }},
}};

std::atomic<int> tool_uses = 0;  // of MPI_T_init_thread, not yet finalized

struct ToolSession {
  std::vector<struct ToolHandle*> handles;
};
struct ToolHandle {
  const Variable* variable = nullptr;
  std::uint64_t begin = 0;  // of a counter: its value then
};

std::uint64_t value_now(const Variable& variable) {
  const Transfer* const transfer = library().transfer.get();
  return transfer != nullptr ? variable.value(transfer->counts()) : 0;
}

bool has_variable(int index) {
  return index >= 0 && static_cast<std::size_t>(index) < variables.size();
}

/// As MPI_T gives names: as much as fits into `*length` bytes, and then the length that is needed.
void copy_name(std::string_view text, char* to, int* length) {
  if (length == nullptr) return;
  const int room = *length;
  *length = static_cast<int>(text.size()) + 1;
  if (to == nullptr || room <= 0) return;
  const std::size_t fits = std::min(text.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, text.data(), fits);
  to[fits] = '\0';
}

template <class T>
void tell(T* to, T value) {
  if (to != nullptr) *to = value;
}

ToolSession* session_of(MPI_T_pvar_session session) {
  return reinterpret_cast<ToolSession*>(session);
}

/// Handles of the session for which a call is; none: there is an error.
template <class Do>
int for_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Do&& call) {
  const Held held;
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  ToolSession* const own = session_of(session);
  if (own == nullptr) return MPI_T_ERR_INVALID_SESSION;
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (ToolHandle* const each : own->handles) call(*each);
    return MPI_SUCCESS;
  }
  auto* const one = reinterpret_cast<ToolHandle*>(handle);
  const auto found = std::find(own->handles.begin(), own->handles.end(), one);
  if (found == own->handles.end()) return MPI_T_ERR_INVALID_HANDLE;
  call(**found);
  return MPI_SUCCESS;
}

/// Variables are there all the time: they can be neither started nor stopped.
int refuse_to_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  const int error = for_handles(session, handle, [](ToolHandle&) {});
  if (error != MPI_SUCCESS || handle == MPI_T_PVAR_ALL_HANDLES) return error;
  return MPI_T_ERR_PVAR_NO_STARTSTOP;
}

void reset_handle(ToolHandle& handle) {
  if (handle.variable->is_counter) handle.begin = value_now(*handle.variable);
}

void read_handle(const ToolHandle& handle, void* to) {
  const unsigned long long value = value_now(*handle.variable) - handle.begin;
  std::memcpy(to, &value, sizeof value);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_T_init_thread(int required, int* provided) {
  ++tool_uses;
  tell(provided, std::min(required, MPI_THREAD_MULTIPLE));
  return MPI_SUCCESS;
}

int MPI_T_finalize() {
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  --tool_uses;
  return MPI_SUCCESS;
}

int MPI_T_cvar_get_num(int* count) {
  *count = 0;
  return tool_uses > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}
int MPI_T_cvar_get_index(const char*, int*) {
  return tool_uses > 0 ? MPI_T_ERR_INVALID_NAME : MPI_T_ERR_NOT_INITIALIZED;
}
int MPI_T_cvar_get_info(int, char*, int*, int*, MPI_Datatype*, MPI_T_enum*, char*, int*, int*,
                        int*) {
  return tool_uses > 0 ? MPI_T_ERR_INVALID_INDEX : MPI_T_ERR_NOT_INITIALIZED;
}

int MPI_T_category_get_num(int* count) {
  *count = 0;
  return tool_uses > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}
int MPI_T_category_changed(int* number) {
  *number = 0;
  return tool_uses > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

int MPI_T_pvar_get_num(int* count) {
  *count = static_cast<int>(variables.size());
  return tool_uses > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

int MPI_T_pvar_get_index(const char* name, int kind, int* index) {
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const int own = variables[i].is_counter ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL;
    if (variables[i].name != name || own != kind) continue;
    *index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int MPI_T_pvar_get_info(int index, char* name, int* name_length, int* verbosity, int* kind,
                        MPI_Datatype* type, MPI_T_enum* values, char* description,
                        int* description_length, int* bind, int* read_only, int* continuous,
                        int* atomic) {
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (!has_variable(index)) return MPI_T_ERR_INVALID_INDEX;
  const Variable& variable = variables[static_cast<std::size_t>(index)];
  copy_name(variable.name, name, name_length);
  copy_name(variable.description, description, description_length);
  tell<int>(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  tell<int>(kind, variable.is_counter ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL);
  tell<MPI_Datatype>(type, MPI_UNSIGNED_LONG_LONG);
  tell<MPI_T_enum>(values, nullptr);
  tell<int>(bind, MPI_T_BIND_NO_OBJECT);
  tell(read_only, 1);
  tell(continuous, 1);
  tell(atomic, 0);
  return MPI_SUCCESS;
}

int MPI_T_pvar_session_create(MPI_T_pvar_session* session) {
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  *session = reinterpret_cast<MPI_T_pvar_session>(new ToolSession);
  return MPI_SUCCESS;
}

int MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  ToolSession* const own = session_of(*session);
  if (own == nullptr) return MPI_T_ERR_INVALID_SESSION;
  for (const ToolHandle* const handle : own->handles) delete handle;
  delete own;
  *session = nullptr;
  return MPI_SUCCESS;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void*, MPI_T_pvar_handle* handle,
                            int* count) {
  const Held held;
  if (tool_uses == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (session == nullptr) return MPI_T_ERR_INVALID_SESSION;
  if (!has_variable(index)) return MPI_T_ERR_INVALID_INDEX;
  auto* const made = new ToolHandle{.variable = &variables[static_cast<std::size_t>(index)]};
  reset_handle(*made);
  session_of(session)->handles.push_back(made);
  *handle = reinterpret_cast<MPI_T_pvar_handle>(made);
  *count = 1;
  return MPI_SUCCESS;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  if (*handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  const int error = for_handles(session, *handle, [&](ToolHandle& own) {
    std::erase(session_of(session)->handles, &own);
    delete &own;
  });
  if (error == MPI_SUCCESS) *handle = nullptr;
  return error;
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return refuse_to_start(session, handle);
}
int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return refuse_to_start(session, handle);
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  return for_handles(session, handle, [&](ToolHandle& own) { read_handle(own, value); });
}

int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(session, handle, reset_handle);
}

int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  return for_handles(session, handle, [&](ToolHandle& own) {
    read_handle(own, value);
    reset_handle(own);
  });
}

int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void*) {
  const int error = for_handles(session, handle, [](ToolHandle&) {});
  return error != MPI_SUCCESS ? error : MPI_T_ERR_PVAR_NO_WRITE;
}
