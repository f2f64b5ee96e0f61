// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/library.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "mpi/api/info.hpp"
#include "mpi/api/matched.hpp"
#include "mpi/api/topology.hpp"
#include "mpi/api/windows.hpp"

namespace weft::mpi {
namespace {

/// The types that MPI has before the program makes any.
const Datatype* predefined(MPI_Datatype handle) {
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(...)
#define WEFT_MPI_TYPE(name, value, basic, ...) {name, Datatype(Basic::basic)},
#define WEFT_MPI_PAIR(name, value, basic) {name, Datatype(Basic::basic)},
  static const std::map<MPI_Datatype, Datatype> types = {
#include WEFT_MPI_CONSTANTS
  };
#undef WEFT_MPI_PAIR
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
  const auto found = types.find(handle);
  if (found == types.end()) return nullptr;
  detail::recent_types.place_of(handle) = {handle, &found->second};
  return &found->second;
}

}  // namespace

const char* predefined_name(MPI_Datatype handle) {
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(...)
#define WEFT_MPI_TYPE(name, value, basic, ...) \
  if (handle == name) return #name;
#define WEFT_MPI_PAIR(name, value, basic) WEFT_MPI_TYPE(name, value, basic)
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_PAIR
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
  return "";
}

Library::Library() {
  world.handle = MPI_COMM_WORLD;
  world.name = "MPI_COMM_WORLD";
  self.handle = MPI_COMM_SELF;
  self.name = "MPI_COMM_SELF";
}

namespace detail {

// Never destroyed: a program may exit from anywhere.
constinit Library* the_library = nullptr;
constinit RecentTypes recent_types{};

Library& make_library() {
  static Library* const made = the_library = new Library;
  return *made;
}

}  // namespace detail

void end_job(int code, const std::string& why) {
  Library& mpi = library();
  const bool has_diverged = (mpi.questions != nullptr && mpi.questions->has_diverged()) ||
                            (mpi.process != nullptr && mpi.process->has_diverged());
  // What such a life has not printed yet belongs to an earlier one. When all begin anew it is void,
  // and what they print instead would have to be the same.
  const bool prints =
      !has_diverged || mpi.process == nullptr || !mpi.process->begins_anew_if_diverged();
  if (prints) std::fflush(nullptr);
  const bool is_hopeless = has_diverged || mpi.has_lasting_error ||
                           (mpi.questions != nullptr && mpi.questions->is_hopeless()) ||
                           (mpi.transfer != nullptr && mpi.transfer->has_disagreement());
  // A launcher says why.
  if (!is_hopeless || mpi.process == nullptr || !mpi.process->fail_for_good(why, has_diverged)) {
    fmt::print(stderr, "{}\n", why);
    if (mpi.process != nullptr) mpi.process->fail(why);
  }
  if (prints) std::fflush(nullptr);
  // Of a code that the system cuts to 0, the launcher would take the job for a success.
  ::_exit((code & 0xff) != 0 ? code : 1);
}

int Call::fail(const Communicator* communicator, int error, const std::string& what) const {
  if (communicator != nullptr && communicator->handler != nullptr &&
      communicator->handler->communicator != nullptr) {
    MPI_Comm handle = communicator->handle;
    int code = error;
    communicator->handler->communicator(&handle, &code);
    is_forgiven = code == MPI_SUCCESS;
    return is_forgiven ? error : code;  // which the handler may change
  }
  if (communicator != nullptr && communicator->predefined == MPI_ERRORS_RETURN) return error;
  const Library& mpi = library();
  const std::string rank =
      mpi.is_initialized ? fmt::format("rank {}: ", mpi.world.group.rank) : std::string();
  end_job(1, fmt::format("{}{}: {}", rank, function, what));
}

int Call::fail_in_each_life(const Communicator* communicator, int error,
                            const std::string& what) const {
  bool& has_lasting_error = library().has_lasting_error;
  has_lasting_error = true;
  const int code = fail(communicator, error, what);
  has_lasting_error = false;
  return code;
}

void Call::refuse_closed() const {
  fail(nullptr, MPI_ERR_OTHER,
       library().is_finalized ? "called after MPI_Finalize" : "called before MPI_Init");
  __builtin_unreachable();  // there is no error handler
}

int Call::refuse_null() const {
  return fail(&library().world, MPI_ERR_ARG, "a pointer to a result is null");
}

int Call::refuse_no_requests(const Communicator* communicator) const {
  return fail(communicator != nullptr ? communicator : &library().world, MPI_ERR_REQUEST,
              "a pointer to requests is null");
}

int Call::refuse_no_array(std::int64_t count, const Communicator* communicator) const {
  return fail(communicator != nullptr ? communicator : &library().world, MPI_ERR_ARG,
              "an array of {} elements is a null pointer", count);
}

int Call::refuse_no_status() const {
  return fail(&library().world, MPI_ERR_ARG, "the status is null, or MPI_STATUS_IGNORE");
}

std::vector<int> Call::integers(const int* array, int count, int& error) const {
  if (error == MPI_SUCCESS && count < 0) {
    error = fail(&library().world, MPI_ERR_ARG, "an array of {} elements", count);
  }
  if (error == MPI_SUCCESS) error = check_arrays(count, nullptr, array);
  if (error != MPI_SUCCESS || count == 0) return {};
  return {array, array + count};
}

Communicator* Call::find_communicator(MPI_Comm handle, int& error) const {
  Library& mpi = library();
  if (!mpi.is_initialized || mpi.is_finalized) refuse_closed();
  Communicator* found = nullptr;
  if (handle == MPI_COMM_WORLD) found = &mpi.world;
  if (handle == MPI_COMM_SELF) found = &mpi.self;
  if (is_of(abi::made_comm, handle)) found = mpi.communicators.find(number_of(handle));
  if (found == nullptr) {
    error = fail(&mpi.world, MPI_ERR_COMM, "{:#x} is no communicator", abi::shown(handle));
  }
  return found;
}

MPI_Comm add_communicator(const Communicator& parent, Group group) {
  auto made = std::make_unique<Communicator>();
  made->group = std::move(group);
  made->predefined = parent.predefined;
  made->handler = parent.handler;
  made->session = parent.session;
  library().transfer->open(made->group);
  Communicator& kept = *made;
  kept.handle = handle_of(abi::made_comm, library().communicators.add(std::move(made)));
  return kept.handle;
}

const Datatype* Call::find_type(MPI_Datatype handle, int& error) const {
  const Datatype* found = nullptr;
  if (is_of(abi::made_type, handle)) {
    found = library().types.find(number_of(handle) - abi::pair_types);
  }
  if (found == nullptr) found = predefined(handle);
  if (found == nullptr) {
    error = fail(&library().world, MPI_ERR_TYPE,
                 "{:#x} is no datatype, or one that weft does not have yet (docs/mpi.md)",
                 abi::shown(handle));
  }
  return found;
}

const Datatype* Call::find_communicated(MPI_Datatype handle, int& error) const {
  if (!is_of(abi::made_type, handle)) return type(handle, error);
  const MadeType* const made = library().types.find(number_of(handle) - abi::pair_types);
  if (made == nullptr) return type(handle, error);
  if (made->is_committed) return made;
  error = fail(&library().world, MPI_ERR_TYPE,
               "the datatype was not committed; call MPI_Type_commit before it is communicated");
  return nullptr;
}

const Datatype* Call::find_communicated(MPI_Datatype handle, std::int64_t count, int& error) const {
  static const Datatype nothing{std::span<const Block>{}};
  if (count == 0 && handle == MPI_DATATYPE_NULL) return &nothing;
  return find_communicated(handle, error);
}

MPI_Request keep_request(std::unique_ptr<Request> request) {
  return handle_of(abi::made_request, library().requests.add(std::move(request)));
}

MPI_Request make_sent_request() {
  auto request = std::make_unique<Request>();
  request->status = empty_status();
  request->done = true;
  request->is_shared = request->is_special = true;
  return library().sent = keep_request(std::move(request));
}

MPI_Request keep_prepared(std::unique_ptr<Request> request) {
  request->done = true;
  request->is_active = false;
  request->is_special = true;
  return keep_request(std::move(request));
}

namespace {

struct ErrorText {
  int error_class;
  const char* text;
};
constexpr ErrorText error_texts[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer"},
    {MPI_ERR_COUNT, "invalid count"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_OP, "invalid operation"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_TRUNCATE, "the message is longer than the receive's buffer"},
    {MPI_ERR_IN_STATUS, "the statuses have the errors"},
    {MPI_ERR_PENDING, "the request is not done"},
    {MPI_ERR_REQUEST, "invalid request"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_TOPOLOGY, "invalid topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_KEYVAL, "invalid key of attributes"},
    {MPI_ERR_INFO, "invalid info object"},
    {MPI_ERR_INFO_KEY, "invalid key of an info object"},
    {MPI_ERR_INFO_VALUE, "invalid value of an info object"},
    {MPI_ERR_INFO_NOKEY, "the info object has no such key"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_BASE, "invalid base of a window"},
    {MPI_ERR_SIZE, "invalid size of a window"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_LOCKTYPE, "invalid type of a lock"},
    {MPI_ERR_ASSERT, "invalid assertion"},
    {MPI_ERR_RMA_SYNC, "one-sided communication out of its epoch"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "memory outside of the window"},
    {MPI_ERR_RMA_ATTACH, "memory cannot be attached to the window"},
    {MPI_ERR_RMA_SHARED, "the processes cannot share memory"},
    {MPI_ERR_RMA_FLAVOR, "the window is of another kind"},
    {MPI_ERR_FILE, "invalid file"},
    {MPI_ERR_NO_SUCH_FILE, "there is no such file"},
    {MPI_ERR_FILE_EXISTS, "the file exists already"},
    {MPI_ERR_FILE_IN_USE, "the file is in use"},
    {MPI_ERR_BAD_FILE, "invalid name of a file"},
    {MPI_ERR_ACCESS, "no permission for the file"},
    {MPI_ERR_AMODE, "invalid mode of access"},
    {MPI_ERR_READ_ONLY, "the file, or its file system, can only be read"},
    {MPI_ERR_NO_SPACE, "there is no space for the file"},
    {MPI_ERR_QUOTA, "the quota is used up"},
    {MPI_ERR_IO, "a file could not be read or written"},
    {MPI_ERR_NOT_SAME, "the processes gave different arguments"},
    {MPI_ERR_CONVERSION, "data could not be converted"},
    {MPI_ERR_DUP_DATAREP, "the data representation exists already"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "unknown data representation"},
    {MPI_ERR_NO_MEM, "there is not enough memory"},
    {MPI_ERR_NAME, "the service is not published"},
    {MPI_ERR_PORT, "invalid port"},
    {MPI_ERR_SERVICE, "the service cannot be unpublished"},
    {MPI_ERR_SPAWN, "processes could not be started"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"},
    {MPI_ERR_INTERN, "internal error"},
    {MPI_ERR_UNKNOWN, "unknown error"},
};

}  // namespace

const char* text_of(int error) {
  for (const ErrorText& each : error_texts) {
    if (each.error_class == error) return each.text;
  }
  return "other error";
}

}  // namespace weft::mpi
