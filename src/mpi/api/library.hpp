// SPDX-License-Identifier: Apache-2.0
// Library: a process's state of MPI between init and finalize, and the objects behind handles.
#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/api/attributes.hpp"
#include "mpi/object/collectives.hpp"
#include "mpi/object/fold.hpp"
#include "mpi/object/prepared_tags.hpp"
#include "mpi/object/questions.hpp"
#include "mpi/object/transfer.hpp"
#include "process/job_process.hpp"

namespace weft::mpi {

struct AttachedBuffer;
struct Info;
struct MatchedMessage;
struct Topology;
struct WindowObject;

/// An error handler that the program made.
struct ErrorHandler {
  MPI_Comm_errhandler_function* communicator = nullptr;
  MPI_Win_errhandler_function* window = nullptr;
  MPI_File_errhandler_function* file = nullptr;
  MPI_Session_errhandler_function* session = nullptr;
  int number = 0;      ///< of its handle, while the program has references to it
  int references = 0;  ///< of the program: it made the handler, and asked for it since
};

/// Tags, from 1 on, of the flows of collectives that do not block, but of persistent ones.
constexpr std::int32_t most_at_once = 64;

/// Flows of collectives that do not block: those of one tag follow each other.
struct CollectiveFlows {
  std::int32_t tag = 0;
  std::shared_ptr<const bool> last_done;  ///< of the last one; null: there was none
};

/// The buffer of a session, which its groups and communicators know.
struct SessionBuffer {
  std::shared_ptr<AttachedBuffer> attached;  ///< null: none
};

/// A group that the program has a handle of.
struct MadeGroup : std::vector<NodeId> {
  std::shared_ptr<SessionBuffer> session;  ///< from which it comes; null: from none
};

struct Communicator {
  Group group;
  std::uint64_t children = 0;
  std::shared_ptr<ErrorHandler> handler;  ///< null: `predefined`
  MPI_Errhandler predefined = MPI_ERRORS_ARE_FATAL;
  MPI_Comm handle = MPI_COMM_NULL;
  /// In an intercommunicator: the communicator of this process's group; `group` is the remote
  /// group.
  MPI_Comm local = MPI_COMM_NULL;
  std::string name;
  Attributes attributes;
  std::shared_ptr<const Topology> topology;  ///< null: none
  std::shared_ptr<AttachedBuffer> buffer;    ///< of its buffered sends; null: none of its own
  std::shared_ptr<SessionBuffer> session;    ///< from which it comes; null: from none
  /// How often each group was made of this communicator by its members alone.
  std::map<std::uint64_t, std::uint64_t> groups_made;
  /// Collectives that do not block, but persistent ones: how many were begun.
  std::uint64_t collectives_begun = 0;
  std::vector<CollectiveFlows> collective_flows;  ///< none, or those that they take in turn
  PreparedTags prepared{1 + most_at_once};        ///< of persistent ones
  PlanCache plans;
};

/// A datatype of the program's own.
struct MadeType : Datatype {
  explicit MadeType(Datatype type) : Datatype(std::move(type)) {}
  bool is_committed = false;
  int handles = 1;  ///< that the program may use and has not freed
  int uses = 0;     ///< in the recipes of other datatypes
  /// Requests that use it were kept after `made`, and not after `freed` (Requests::kept).
  std::uint64_t made = 0;
  std::uint64_t freed = 0;
  bool is_listed = false;  ///< in Library::freed_types
};

/// A reduction operation that the program made.
struct UserOperation {
  MPI_User_function* function = nullptr;          ///< null: `large_function`
  MPI_User_function_c* large_function = nullptr;  ///< of MPI_Op_create_c
  bool commutes = false;
  bool is_freed = false;  ///< only persistent requests may still use it

  /// Of Open MPI's C++: calls `inner`, in place of `function`.
  using Outer = void(void*, void*, int*, MPI_Datatype*, MPI_User_function* inner);
  Outer* outer = nullptr;
  MPI_User_function* inner = nullptr;

  void fold(void* in, void* inout, std::uint64_t count, MPI_Datatype type) const {
    auto small = static_cast<int>(count);
    auto large = static_cast<MPI_Count>(count);
    if (outer != nullptr) return outer(in, inout, &small, &type, inner);
    function != nullptr ? function(in, inout, &small, &type)
                        : large_function(in, inout, &large, &type);
  }
};

/// Objects by number. Numbers are used again.
template <class T>
class Objects {
 public:
  int add(std::unique_ptr<T> object) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(objects_.size()));
      objects_.emplace_back();
    }
    const int number = free_.back();
    free_.pop_back();
    objects_[static_cast<std::size_t>(number)] = std::move(object);
    return number;
  }
  /// Null: there is none of that number.
  T* find(int number) const {
    const auto i = static_cast<std::size_t>(number);
    return number >= 0 && i < objects_.size() ? objects_[i].get() : nullptr;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& object : objects_) {
      if (object != nullptr) visit(*object);
    }
  }
  std::unique_ptr<T> remove(int number) {
    free_.push_back(number);
    return std::move(objects_[static_cast<std::size_t>(number)]);
  }

 private:
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<int> free_;
};

/// Requests by number. One that is over is kept in its place for the next: a message needs no
/// memory of its own.
class Requests {
 public:
  struct Made {
    int number = 0;
    Request* request = nullptr;
  };
  /// As new.
  Made make() {
    const int number = spares_ > 0 ? spare_[--spares_] : objects_.add(std::make_unique<Request>());
    Request* const request = objects_.find(number);
    request->kept = ++kept_;
    return {number, request};
  }
  int add(std::unique_ptr<Request> request) {
    request->kept = ++kept_;
    return objects_.add(std::move(request));
  }
  /// Null: there is none of that number.
  Request* find(int number) const {
    Request* const request = objects_.find(number);
    return request != nullptr && request->kept != 0 ? request : nullptr;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    objects_.for_each([&](const Request& request) {
      if (request.kept != 0) visit(request);
    });
  }
  std::unique_ptr<Request> remove(int number) { return objects_.remove(number); }
  /// Ends the request of that number, which is done and not special.
  void end(int number, Request& request) {
    if (spares_ == most_spare) return void(objects_.remove(number));
    request.reset();
    request.kept = 0;
    spare_[spares_++] = number;
  }
  /// So far.
  std::uint64_t kept() const { return kept_; }

 private:
  static constexpr std::size_t most_spare = 1024;
  Objects<Request> objects_;
  std::array<int, most_spare> spare_;  // numbers
  std::size_t spares_ = 0;
  std::uint64_t kept_ = 0;
};

/// One per process, one thread at a time.
struct Library {
  Library();

  std::unique_ptr<JobProcess> process;
  std::unique_ptr<Transfer> transfer;
  JobProcess::Outcomes outcomes;         ///< after MPI_Finalize
  std::unique_ptr<Questions> questions;  ///< after MPI_Finalize only of clocks
  bool is_initialized = false;
  bool is_finalized = false;
  int thread_level = MPI_THREAD_SINGLE;  ///< that MPI_Init_thread gave; sessions have their own
  Communicator world, self;
  MPI_Comm parent = MPI_COMM_NULL;     ///< of a world that others had started
  MPI_Comm everybody = MPI_COMM_NULL;  ///< of the job's nodes, for ports
  bool is_asking = false;              ///< a thread waits for an answer of the launcher
  bool has_lasting_error = false;      ///< see Call::fail_in_each_life
  Objects<Communicator> communicators;
  Objects<MadeType> types;
  std::vector<int> freed_types;  ///< numbers of those that may still be used
  Objects<UserOperation> operations;
  Requests requests;
  MPI_Request sent = MPI_REQUEST_NULL;  ///< see `sent_request`
  Objects<MadeGroup> groups;
  Objects<Info> infos;
  Objects<MatchedMessage> messages;
  Objects<WindowObject> windows;
  Objects<std::shared_ptr<ErrorHandler>> handlers;
  /// Messages for them may still come.
  std::vector<std::unique_ptr<Communicator>> freed_communicators;
  std::vector<std::unique_ptr<Request>> freed_requests;
  std::vector<std::unique_ptr<WindowObject>> freed_windows;
};
namespace detail {
extern Library* the_library;  ///< null before the first call
Library& make_library();

/// Predefined datatypes that calls named of late: nearly all are for a few of them.
struct RecentTypes {
  struct Entry {
    MPI_Datatype handle;
    const Datatype* type;
  };
  std::array<Entry, 64> entries;
  Entry& place_of(MPI_Datatype handle) {
    const auto bits = static_cast<std::uint64_t>(abi::shown(handle));
    return entries[(bits ^ bits >> 5 ^ bits >> 9) % std::tuple_size_v<decltype(entries)>];
  }
  /// Null: it is another one.
  const Datatype* find(MPI_Datatype handle) {
    const Entry& entry = place_of(handle);
    return entry.handle == handle ? entry.type : nullptr;
  }
};
extern RecentTypes recent_types;
}  // namespace detail
inline Library& library() {
  return detail::the_library != nullptr ? *detail::the_library : detail::make_library();
}

/// A communicator of some of the parent's processes, ready for messages.
MPI_Comm add_communicator(const Communicator& parent, Group group);

/// One thread at a time is in the library, where the program has several that communicate: a call
/// holds this for as long as it lives. A thread that waits lets others in.
class Held {
 public:
  Held() : Held(nullptr) {}
  /// Of the call `function`.
  explicit Held(const char* function) : holds_(is_noted_.load(std::memory_order_relaxed)) {
    holds_ ? enter(function) : static_cast<void>(++calls_);
  }
  Held(const Held&) : Held() {}
  Held& operator=(const Held&) { return *this; }
  ~Held() { holds_ ? leave() : static_cast<void>(--calls_); }
  /// From now on `outermost_call` knows names: it takes each call some time.
  static void name_calls() { is_noted_ = true; }
  /// Returns the name of the call that this thread is in. Null: none, or it has no name.
  static const char* outermost_call();
  /// This thread is in a call.
  static bool is_in_call();
  /// Calls come from several threads.
  static std::atomic<bool>& has_threads() {
    static constinit std::atomic<bool> value{false};
    return value;
  }
  static void allow_threads() {
    has_threads() = true;
    is_noted_ = true;
  }

 private:
  static void enter(const char* function);
  static void leave();

  // Of this thread under way, where nothing else is done about calls. Each call counts itself.
  static inline constinit thread_local int calls_ __attribute__((tls_model("initial-exec"))) = 0;
  static inline constinit std::atomic<bool> is_noted_{false};  // calls do more than to be counted
  bool holds_;
};
/// From now on calls come from several threads at a time.
void allow_threads(Transfer& transfer);
/// Waits a moment for what is no message. Other threads get in meanwhile.
void rest();
/// No other thread is in a call.
bool is_alone();

/// The MPI call under way, which finds its objects and reports its errors.
struct Call {
  const char* function;
  Held held{function};
  mutable bool is_forgiven = false;  ///< an error handler made success of the error
  /// Ends the program with one line, unless the communicator returns errors: then that error, or
  /// another one that its handler makes of it. Never success, so that nothing wrong goes on.
  int fail(const Communicator* communicator, int error, const std::string& what) const;
  /// The same where each later life of this process would meet the error as well: if it ends the
  /// program, weft run starts none.
  int fail_in_each_life(const Communicator* communicator, int error, const std::string& what) const;
  /// `fail` with a text that fmt::format makes.
  template <class Arg, class... Args>
  int fail(const Communicator* communicator, int error, fmt::format_string<Arg, Args...> format,
           Arg&& arg, Args&&... args) const {
    return fail(communicator, error,
                fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
  }
  /// Returns the code that the program sees for that error.
  int result(int error) const { return is_forgiven ? MPI_SUCCESS : error; }
  /// Returns MPI_SUCCESS if the program gave places for all these results, else an error.
  template <class... Results>
  int check_results(const Results*... results) const {
    return ((results == nullptr) || ...) ? refuse_null() : MPI_SUCCESS;
  }
  /// The same of the places of so many requests. The error is one of MPI_COMM_WORLD, unless there
  /// is a communicator.
  int check_requests(std::int64_t count, const MPI_Request* requests,
                     const Communicator* communicator = nullptr) const {
    return requests == nullptr && count > 0 ? refuse_no_requests(communicator) : MPI_SUCCESS;
  }
  /// The same of arrays of so many elements each: pointers, or Integers.
  template <class... Arrays>
  int check_arrays(std::int64_t count, const Communicator* communicator,
                   const Arrays&... arrays) const {
    const bool is_there = count <= 0 || ((arrays != nullptr) && ...);
    return is_there ? MPI_SUCCESS : refuse_no_array(count, communicator);
  }
  /// The same of a status that is read: there is one, and the program does not ignore it.
  int check_status(const MPI_Status* status) const {
    return status == nullptr || status == abi::status_ignore ? refuse_no_status() : MPI_SUCCESS;
  }
  /// A copy of an array of the program's. Empty, with `error` set: there is no such array, or
  /// `error` was set before.
  std::vector<int> integers(const int* array, int count, int& error) const;
  /// Null, with `error` set.
  Communicator* communicator(MPI_Comm handle, int& error) const {
    Library& mpi = library();
    const bool is_open = mpi.is_initialized && !mpi.is_finalized;
    return is_open && handle == MPI_COMM_WORLD ? &mpi.world : find_communicator(handle, error);
  }
  const Datatype* type(MPI_Datatype handle, int& error) const {
    const Datatype* const recent = detail::recent_types.find(handle);
    return recent != nullptr ? recent : find_type(handle, error);
  }
  /// The same of one that is communicated: it was committed.
  const Datatype* communicated(MPI_Datatype handle, int& error) const {
    const Datatype* const recent = detail::recent_types.find(handle);
    return recent != nullptr ? recent : find_communicated(handle, error);
  }
  /// The same of `count` elements. Of none, the datatype may be MPI_DATATYPE_NULL.
  const Datatype* communicated(MPI_Datatype handle, std::int64_t count, int& error) const {
    const Datatype* const recent = detail::recent_types.find(handle);
    return recent != nullptr ? recent : find_communicated(handle, count, error);
  }
  /// The messages of the job. Ends the program before MPI_Init and after MPI_Finalize.
  Transfer& transfer() const {
    if (library().transfer == nullptr) refuse_closed();
    return *library().transfer;
  }
  Questions& questions() const {
    (void)transfer();
    return *library().questions;
  }
  /// The job is over, a peer is gone.
  int settle(const Communicator*) const {
    const auto& failure = transfer().failure();
    return failure ? fail(nullptr, MPI_ERR_OTHER, failure->message) : MPI_SUCCESS;
  }

 private:
  [[noreturn]] void refuse_closed() const;
  int refuse_null() const;
  int refuse_no_requests(const Communicator* communicator) const;
  int refuse_no_array(std::int64_t count, const Communicator* communicator) const;
  int refuse_no_status() const;
  Communicator* find_communicator(MPI_Comm handle, int& error) const;
  const Datatype* find_type(MPI_Datatype handle, int& error) const;
  const Datatype* find_communicated(MPI_Datatype handle, int& error) const;
  const Datatype* find_communicated(MPI_Datatype handle, std::int64_t count, int& error) const;
};

/// Of memory that is not there; with the count.
inline constexpr const char* no_buffer =
    "the buffer is NULL, and the count is {}; pass the memory, or a count of 0";

/// Ends this process and, through its launcher, the job.
[[noreturn]] void end_job(int code, const std::string& why);

/// Its handle. The library owns it from now on.
MPI_Request keep_request(std::unique_ptr<Request> request);
MPI_Request make_sent_request();
/// One for all sends that were done when they were started.
inline MPI_Request sent_request() {
  const MPI_Request made = library().sent;
  return made != MPI_REQUEST_NULL ? made : make_sent_request();
}
/// Stores a persistent request, which MPI_Start starts, and returns its handle.
MPI_Request keep_prepared(std::unique_ptr<Request> request);
/// Returns the status of a request that is no message, and of a null request.
inline Status empty_status() {
  return {.source = static_cast<std::uint32_t>(MPI_ANY_SOURCE), .tag = MPI_ANY_TAG};
}

/// Empty: the program made the type.
const char* predefined_name(MPI_Datatype handle);
const char* text_of(int error);
inline void write_status(MPI_Status* status, const Status& from) {
  if (status == abi::status_ignore) return;
  status->MPI_SOURCE = static_cast<int>(from.source);
  status->MPI_TAG = from.tag;
  abi::write_bytes(*status, from.bytes, from.is_cancelled);
}

}  // namespace weft::mpi
