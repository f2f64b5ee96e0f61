// SPDX-License-Identifier: Apache-2.0
// The chapter on one-sided communication: windows, and questions about them.
#include "mpi/api/windows.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"
#include "mpi/api/collective_call.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/errors.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/info.hpp"
#include "mpi/api/text.hpp"
#include "mpi/object/message_window.hpp"
#include "mpi/object/shared_file.hpp"
#include "mpi/object/shared_window.hpp"
#include "runtime/cores.hpp"
#include "runtime/memory/machine_memory.hpp"

namespace weft::mpi {

int WindowObject::fail(const Call& call, int error, const std::string& what) const {
  const auto& handler = communicator.handler;
  if (handler == nullptr || handler->window == nullptr) {
    return call.fail(&communicator, error, what);
  }
  MPI_Win own = handle;
  int code = error;
  handler->window(&own, &code);
  return code != MPI_SUCCESS ? code : error;  // nothing wrong goes on
}

WindowObject* find_window(const Call& call, MPI_Win handle, int& error) {
  WindowObject* const found =
      is_of(abi::made_win, handle) ? library().windows.find(number_of(handle)) : nullptr;
  if (found == nullptr) {
    error = call.fail(&library().world, MPI_ERR_WIN, "the handle is of no window");
  }
  return found;
}

namespace {

/// The hints of the standard and MPICH's, with their defaults. The window works the same whatever
/// a program promises by them.
Info default_hints(int flavor) {
  return {.entries = {{"no_locks", "false"},
                      {"accumulate_ordering", "rar,raw,war,waw"},
                      {"accumulate_ops", "same_op_no_op"},
                      {"same_size", "false"},
                      {"same_disp_unit", "false"},
                      {"alloc_shared_noncontig", "false"},
                      {"alloc_shm", flavor == MPI_WIN_FLAVOR_SHARED ? "true" : "false"}}};
}

/// Whether a list of orders is the standard's: "none", or some of the four, each once.
bool is_ordering(std::string_view value) {
  if (value == "none") return true;
  std::vector<std::string_view> seen;
  for (std::size_t at = 0; at <= value.size(); at += 4) {
    const std::string_view order = value.substr(at, 3);
    const bool is_known = order == "rar" || order == "raw" || order == "war" || order == "waw";
    const bool ends = at + 3 >= value.size() || value[at + 3] == ',';
    if (!is_known || !ends || std::ranges::count(seen, order) > 0) return false;
    seen.push_back(order);
  }
  return true;
}

bool is_hint(std::string_view key, std::string_view value) {
  if (key == "accumulate_ordering") return is_ordering(value);
  if (key == "accumulate_ops") return value == "same_op" || value == "same_op_no_op";
  return value == "true" || value == "false";
}

/// Keys that are no hints, and values that are none of their key's, change nothing.
int set_hints(const Call& call, Info& hints, MPI_Info handle) {
  int error = MPI_SUCCESS;
  const Info* const info = handle != MPI_INFO_NULL ? find_info(call, handle, error) : nullptr;
  if (info == nullptr) return error;
  for (auto& [key, value] : hints.entries) {
    const std::string* const wanted = info->find(key);
    if (wanted != nullptr && is_hint(key, *wanted)) value = *wanted;
  }
  return MPI_SUCCESS;
}

/// A window of the communicator's processes, not yet open.
struct WindowMaker {
  Call call;
  int error = MPI_SUCCESS;
  Communicator* parent = nullptr;
  std::unique_ptr<WindowObject> made = std::make_unique<WindowObject>();
  bool has_control = false;  ///< the shared memory begins with what a SharedWindow needs

  WindowMaker(const char* function, MPI_Comm comm, MPI_Info hints, MPI_Aint bytes, MPI_Aint unit,
              int flavor, std::initializer_list<const void*> results)
      : call{function} {
    for (const void* const result : results) {
      if ((error = call.check_results(result)) != MPI_SUCCESS) return;
    }
    parent = call.communicator(comm, error);
    if (parent == nullptr) return;
    made->hints = default_hints(flavor);
    if ((error = set_hints(call, made->hints, hints)) != MPI_SUCCESS) return;
    if (bytes < 0 || unit <= 0 || unit > std::numeric_limits<int>::max()) {
      error = call.fail(parent, bytes < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP,
                        fmt::format("{} bytes in units of {} are no window", bytes, unit));
      return;
    }
    if (parent->group.size() > 1 && is_made_again()) {
      library().questions->cannot_repeat(
          "an earlier life of this process has made the window, and weft does not record when "
          "others accessed it");
      error = call.settle(parent);
      return;
    }
    made->flavor = flavor;
    made->own_bytes = bytes;
    made->own_unit = static_cast<int>(unit);
    Group& group = made->communicator.group;
    group = parent->group;
    group.generation = child_generation(parent->group, ++parent->children, group.members);
    made->communicator.handle = comm;
    made->communicator.session = parent->session;
    // Others' accesses are answered as they come.
    library().transfer->open(group, {.by_tasks = true});
    const WindowPart own{static_cast<std::uint64_t>(bytes), unit};
    made->parts.resize(group.size());
    made->epochs.has_lock.resize(group.size());
    gather_all(own, made->parts);
  }
  /// Messages of a window that could not be made may still come, as of one that was freed.
  ~WindowMaker() {
    if (made != nullptr && made->communicator.group.size() > 0) {
      library().freed_windows.push_back(std::move(made));
    }
  }
  WindowMaker(const WindowMaker&) = delete;
  WindowMaker& operator=(const WindowMaker&) = delete;
  bool ok() const { return error == MPI_SUCCESS; }

  template <class T>
  void gather_all(const T& own, std::vector<T>& all) {
    run_collective(*library().transfer, made->communicator.group,
                   {.operation = collective::Operation::allgather,
                    .bytes = sizeof(T),
                    .blocks = collective::Blocks::uniform(sizeof(T))},
                   reinterpret_cast<const std::byte*>(&own),
                   reinterpret_cast<std::byte*>(all.data()));
  }

  int finish(void* base, MPI_Win* handle) {
    if ((error = call.settle(parent)) != MPI_SUCCESS) return error;
    made->base = static_cast<std::byte*>(base);
    // Displacements in a dynamic window are addresses.
    std::byte* const origin = made->flavor == MPI_WIN_FLAVOR_DYNAMIC ? nullptr : made->base;
    Transfer& transfer = *library().transfer;
    const Group& group = made->communicator.group;
    if (has_control) {
      std::vector<std::byte*> parts;
      for (std::uint64_t begin : made->begin) parts.push_back(made->shared.data() + begin);
      const bool shares_cores = library().process->size() > cores_of_job();
      made->window = std::make_unique<SharedWindow>(transfer, group, made->shared.data(),
                                                    std::move(parts), shares_cores);
    } else {
      made->window = std::make_unique<MessageWindow>(transfer, group, origin);
    }
    made->window->open();
    if (has_control) made->hints.set("alloc_shm", "true");
    WindowObject& kept = *made;
    kept.handle = handle_of(abi::made_win, library().windows.add(std::move(made)));
    *handle = kept.handle;
    return MPI_SUCCESS;
  }

  /// Returns the first rank of which `has` is false; the same everywhere.
  std::optional<std::uint32_t> first_without(bool has) {
    std::vector<std::uint8_t> all(made->communicator.group.size());
    gather_all(static_cast<std::uint8_t>(has), all);
    const auto first = std::ranges::find(all, 0);
    if (first == all.end()) return std::nullopt;
    return static_cast<std::uint32_t>(first - all.begin());
  }

  /// Whether this job's messages between all processes of the window go through memory that they
  /// share. Then accesses may, too; else a job that is to use another fabric, to repeat its
  /// messages or to be simulated would not. The same everywhere.
  bool can_share() {
    const Group& group = made->communicator.group;
    if (group.size() < 2 || group.size() > SharedWindow::most_members) return false;
    hear_from_all();
    return !first_without(library().transfer->shares_memory_with(group));
  }

  /// Memory that all processes map; they are on one host. It has no name that a killed process
  /// could leave behind, and needs no room in /dev/shm. False, everywhere: some process cannot map
  /// it. Parts begin at multiples of `alignment`, behind what a SharedWindow needs if it is to be
  /// one.
  bool map_shared(bool with_control, std::uint64_t alignment) {
    has_control = with_control;
    const auto members = static_cast<std::uint32_t>(made->parts.size());
    std::uint64_t end = with_control ? round_up(SharedWindow::control_bytes(members), 4096) : 0;
    for (const WindowPart& part : made->parts) {
      made->begin.push_back(end);
      if (part.bytes > most_shared - std::min(end, most_shared)) {
        forget_shared();
        return false;
      }
      end = round_up(end + part.bytes, alignment);
    }
    if (end == 0) return true;
    const bool is_first = made->communicator.group.rank == 0;
    const Descriptor own(is_first ? ::memfd_create("weft-window", MFD_CLOEXEC) : -1);
    // Mapped memory that does not exist would end the program when it is used.
    const bool is_there = end <= memory_of_this_machine().value();
    if (is_first && (!is_there || ::ftruncate(own.get(), static_cast<off_t>(end)) != 0)) end = 0;
    const SharedFile first = first_of_all(SharedFile::of(own, end));
    const Descriptor other = is_first ? Descriptor() : first.open();
    void* const memory = map(is_first ? own : other, first.bytes);
    if (memory != MAP_FAILED) made->shared = {static_cast<std::byte*>(memory), first.bytes};
    if (!first_without(memory != MAP_FAILED)) return true;
    forget_shared();
    return false;
  }

 private:
  static constexpr std::uint64_t most_shared = std::uint64_t{1} << 62;
  static std::uint64_t round_up(std::uint64_t bytes, std::uint64_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
  }
  /// A process knows how it reaches another one when it has heard from it.
  void hear_from_all() {
    Transfer& transfer = *library().transfer;
    const Group& group = made->communicator.group;
    const std::byte word{};
    std::vector<std::byte> words(group.size());
    const auto done = std::make_unique<bool[]>(2 * group.size());
    for (std::uint32_t i = 0; i < group.size(); ++i) {
      if (i == group.rank) continue;
      transfer.receive_plain(group, i, 0, {&words[i], 1}, done[2 * i]);
      transfer.send_plain(group, i, 0, {&word, 1}, done[2 * i + 1]);
    }
    done[2 * group.rank] = done[2 * group.rank + 1] = true;
    transfer.until([&] { return std::count(&done[0], &done[2 * group.size()], false) == 0; });
  }
  void forget_shared() {
    has_control = false;
    if (!made->shared.empty()) ::munmap(made->shared.data(), made->shared.size());
    made->shared = {};
    made->begin.clear();
  }
  /// An earlier life has made this window. The accesses of others that came since would all come at
  /// once, and the program would see them too early. Memory that it shared is not there any more.
  static bool is_made_again() {
    // Not by the process's number: in a namespace of its own each life may have the same.
    return !library().questions->is_as_before(library().process->incarnation().value());
  }
  SharedFile first_of_all(const SharedFile& own) {
    std::vector<SharedFile> all(made->parts.size());
    gather_all(own, all);
    return all.front();
  }
  static void* map(const Descriptor& file, std::uint64_t bytes) {
    if (!file.open() || bytes == 0) return MAP_FAILED;
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  }
};

int create(const char* function, void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Info hints,
           MPI_Comm comm, MPI_Win* window) {
  WindowMaker maker(function, comm, hints, bytes, unit, MPI_WIN_FLAVOR_CREATE, {window});
  return maker.ok() ? maker.finish(base, window) : maker.error;
}

int allocate(const char* function, MPI_Aint size, MPI_Aint unit, MPI_Info hints, MPI_Comm comm,
             void* base, MPI_Win* window) {
  WindowMaker maker(function, comm, hints, size, unit, MPI_WIN_FLAVOR_ALLOCATE, {base, window});
  if (!maker.ok()) return maker.error;
  constexpr std::size_t alignment = 64;
  const std::uint32_t rank = maker.made->communicator.group.rank;
  if (maker.can_share() && maker.map_shared(true, alignment)) {
    std::byte* const own = maker.made->shared.data() + maker.made->begin[rank];
    write_pointer(base, own);
    return maker.finish(own, window);
  }
  auto& memory = maker.made->memory;
  bool has_memory = true;
  try {
    memory.resize(maker.made->parts[rank].bytes + alignment);
  } catch (const std::exception&) {  // of the allocator: C has no exceptions
    has_memory = false;
  }
  if (const auto lacking = maker.first_without(has_memory)) {
    memory = {};  // what is made stays until the end
    if (const int error = maker.call.settle(maker.parent); error != MPI_SUCCESS) return error;
    return maker.call.fail(maker.parent, MPI_ERR_NO_MEM,
                           fmt::format("rank {} finds no {} bytes of memory", *lacking,
                                       maker.made->parts[*lacking].bytes));
  }
  void* aligned = memory.data();
  std::size_t room = memory.size();
  std::align(alignment, room - alignment, aligned, room);
  write_pointer(base, aligned);
  return maker.finish(aligned, window);
}

int allocate_shared(const char* function, MPI_Aint size, MPI_Aint unit, MPI_Info hints,
                    MPI_Comm comm, void* base, MPI_Win* window) {
  WindowMaker maker(function, comm, hints, size, unit, MPI_WIN_FLAVOR_SHARED, {base, window});
  if (!maker.ok()) return maker.error;
  WindowObject& made = *maker.made;
  if (!maker.map_shared(maker.can_share(), 1)) {
    std::uint64_t bytes = 0;
    for (const WindowPart& part : made.parts) bytes += part.bytes;
    return maker.call.fail(
        maker.parent, MPI_ERR_RMA_SHARED,
        fmt::format("the processes cannot share {} bytes of memory; ask for less, or split the "
                    "communicator by MPI_COMM_TYPE_SHARED first",
                    bytes));
  }
  std::byte* const own = made.shared.data() + made.begin[made.communicator.group.rank];
  write_pointer(base, own);
  return maker.finish(own, window);
}

template <class Number>
int shared_query(const char* function, MPI_Win win, int rank, MPI_Aint* bytes, Number* unit,
                 void* base) {
  const WindowCall call(function, win);
  if (!call) return call.error;
  if (const int error = call.check_results(bytes, unit, base)) return error;
  if (call->flavor != MPI_WIN_FLAVOR_SHARED) {
    return call.fail(MPI_ERR_RMA_FLAVOR, "the window is of no shared memory");
  }
  std::size_t i = 0;
  if (rank == MPI_PROC_NULL) {
    while (i + 1 < call->parts.size() && call->parts[i].bytes == 0) ++i;
  } else {
    i = static_cast<std::size_t>(rank);
  }
  if (i >= call->parts.size()) {
    return call.fail(MPI_ERR_RANK, fmt::format("{} is no rank of the window", rank));
  }
  *bytes = static_cast<MPI_Aint>(call->parts[i].bytes);
  *unit = static_cast<Number>(call->parts[i].unit);
  write_pointer(base, *bytes > 0 ? call->shared.data() + call->begin[i] : nullptr);
  return MPI_SUCCESS;
}

int fail_key(const Call& call, const WindowObject& window, int key) {
  return window.fail(call, MPI_ERR_KEYVAL, fmt::format("{} is no key that is open", key));
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_COUNTED(MPI_Win_create,
                 (void* base, MPI_Aint bytes, Displacement unit, MPI_Info hints, MPI_Comm comm,
                  MPI_Win* window),
                 create, (base, bytes, unit, hints, comm, window))
WEFT_MPI_COUNTED(MPI_Win_allocate,
                 (MPI_Aint bytes, Displacement unit, MPI_Info hints, MPI_Comm comm, void* base,
                  MPI_Win* window),
                 allocate, (bytes, unit, hints, comm, base, window))
WEFT_MPI_COUNTED(MPI_Win_allocate_shared,
                 (MPI_Aint bytes, Displacement unit, MPI_Info hints, MPI_Comm comm, void* base,
                  MPI_Win* window),
                 allocate_shared, (bytes, unit, hints, comm, base, window))
WEFT_MPI_COUNTED(MPI_Win_shared_query,
                 (MPI_Win window, int rank, MPI_Aint* bytes, Displacement* unit, void* base),
                 shared_query, (window, rank, bytes, unit, base))

using namespace weft::mpi;

int MPI_Win_create_dynamic(MPI_Info hints, MPI_Comm comm, MPI_Win* window) {
  WindowMaker maker("MPI_Win_create_dynamic", comm, hints, 0, 1, MPI_WIN_FLAVOR_DYNAMIC, {window});
  return maker.ok() ? maker.finish(nullptr, window) : maker.error;
}

int MPI_Win_attach(MPI_Win window, void*, MPI_Aint) {
  return WindowCall("MPI_Win_attach", window).error;
}

int MPI_Win_detach(MPI_Win window, const void*) {
  return WindowCall("MPI_Win_detach", window).error;
}

namespace weft::mpi {

/// The windows that two processes share come in the same order at both: neither waits for a window
/// that the other comes to only later.
void await_those_of_open_windows() {
  std::vector<WindowObject*> open;
  library().windows.for_each([&](WindowObject& window) { open.push_back(&window); });
  std::ranges::sort(
      open, {}, [](const WindowObject* window) { return window->communicator.group.generation; });
  for (WindowObject* const window : open) {
    window->window->flush_all();
    run_collective(*library().transfer, window->communicator.group,
                   {.operation = weft::collective::Operation::barrier}, nullptr, nullptr);
  }
}

}  // namespace weft::mpi

int MPI_Win_free(MPI_Win* handle) {
  if (const int error = Call{"MPI_Win_free"}.check_results(handle)) return error;
  const WindowCall call("MPI_Win_free", *handle);
  if (!call) return call.error;
  const Epochs& epochs = call->epochs;
  int error = call->check_epochs(call, epochs.may_begin() && !epochs.is_posted,
                                 "an epoch of the window has not ended");
  if (error == MPI_SUCCESS) error = window_keys().remove_all(*handle, call->attributes);
  if (error != MPI_SUCCESS) return error;
  call->window->flush_all();
  // Nobody sends anything to the window any more when all are here.
  run_collective(*library().transfer, call->communicator.group,
                 {.operation = weft::collective::Operation::barrier}, nullptr, nullptr);
  call->window->close();
  if (!call->shared.empty()) ::munmap(call->shared.data(), call->shared.size());
  call->memory = {};
  library().freed_windows.push_back(library().windows.remove(number_of(*handle)));
  *handle = MPI_WIN_NULL;
  return call.settle(nullptr);
}

int MPI_Win_get_group(MPI_Win handle, MPI_Group* group) {
  const WindowCall call("MPI_Win_get_group", handle);
  if (!call) return call.error;
  if (const int error = call.check_results(group)) return error;
  *group = keep_group(call->communicator.group.members, call->communicator.session);
  return MPI_SUCCESS;
}

int MPI_Win_set_name(MPI_Win handle, const char* name) {
  const WindowCall call("MPI_Win_set_name", handle);
  if (!call) return call.error;
  if (const int error = call.check_results(name)) return error;
  call->name = name;
  return MPI_SUCCESS;
}

int MPI_Win_get_name(MPI_Win handle, char* name, int* length) {
  const WindowCall call("MPI_Win_get_name", handle);
  if (!call) return call.error;
  if (const int error = call.check_results(name, length)) return error;
  copy_text(call->name, MPI_MAX_OBJECT_NAME, name, length);
  return MPI_SUCCESS;
}

int MPI_Win_set_info(MPI_Win handle, MPI_Info info) {
  const WindowCall call("MPI_Win_set_info", handle);
  return call ? set_hints(call, call->hints, info) : call.error;
}

int MPI_Win_get_info(MPI_Win handle, MPI_Info* info) {
  const WindowCall call("MPI_Win_get_info", handle);
  if (!call) return call.error;
  if (const int error = call.check_results(info)) return error;
  *info = keep_info(call->hints);
  return MPI_SUCCESS;
}

int MPI_Win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* handler) {
  return keep_handler({"MPI_Win_create_errhandler"}, {.window = function}, handler);
}

int MPI_Win_set_errhandler(MPI_Win handle, MPI_Errhandler handler) {
  const WindowCall call("MPI_Win_set_errhandler", handle);
  return call ? set_handler(call, call->communicator, handler, &ErrorHandler::window) : call.error;
}

int MPI_Win_get_errhandler(MPI_Win handle, MPI_Errhandler* handler) {
  const WindowCall call("MPI_Win_get_errhandler", handle);
  return call ? get_handler(call, call->communicator, handler) : call.error;
}

int MPI_Win_call_errhandler(MPI_Win handle, int code) {
  const WindowCall call("MPI_Win_call_errhandler", handle);
  if (!call) return call.error;
  (void)call.fail(code, fmt::format("the program calls for error {}", code));
  return MPI_SUCCESS;
}

int MPI_Win_create_keyval(MPI_Win_copy_attr_function* copies, MPI_Win_delete_attr_function* deletes,
                          int* key, void* extra) {
  const Call call{"MPI_Win_create_keyval"};
  if (const int error = call.check_results(key)) return error;
  *key = window_keys().add(copies, deletes, extra);
  return MPI_SUCCESS;
}

int MPI_Win_free_keyval(int* key) {
  const Call call{"MPI_Win_free_keyval"};
  if (const int error = call.check_results(key)) return error;
  if (!window_keys().free(*key)) {
    return call.fail(&library().world, MPI_ERR_KEYVAL,
                     fmt::format("{} is no key that is open", *key));
  }
  *key = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int MPI_Win_get_attr(MPI_Win handle, int key, void* value, int* flag) {
  const WindowCall call("MPI_Win_get_attr", handle);
  if (!call) return call.error;
  if (const int error = call.check_results(value, flag)) return error;
  const std::pair<int, void*> predefined[] = {{MPI_WIN_BASE, call->base},
                                              {MPI_WIN_SIZE, &call->own_bytes},
                                              {MPI_WIN_DISP_UNIT, &call->own_unit},
                                              {MPI_WIN_CREATE_FLAVOR, &call->flavor},
                                              {MPI_WIN_MODEL, &call->model}};
  *flag = 1;
  for (const auto& [own_key, own_value] : predefined) {
    if (key != own_key) continue;
    write_pointer(value, own_value);
    return MPI_SUCCESS;
  }
  if (!window_keys().is_open(key)) return fail_key(call, *call, key);
  call->attributes.tell(key, value, flag);
  return MPI_SUCCESS;
}

int MPI_Win_set_attr(MPI_Win handle, int key, void* value) {
  const WindowCall call("MPI_Win_set_attr", handle);
  if (!call) return call.error;
  if (!window_keys().is_open(key)) return fail_key(call, *call, key);
  return window_keys().set(handle, call->attributes, key, value);
}

int MPI_Win_delete_attr(MPI_Win handle, int key) {
  const WindowCall call("MPI_Win_delete_attr", handle);
  if (!call) return call.error;
  if (!window_keys().is_open(key)) return fail_key(call, *call, key);
  return window_keys().remove(handle, call->attributes, key);
}
