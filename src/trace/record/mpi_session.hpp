// SPDX-License-Identifier: Apache-2.0
// The recording module's state of an MPI program's rank: communicators, open requests, the call
// that is being recorded. Compiled once for each MPI.
#pragma once

#include <mpi.h>

#include <dlfcn.h>

#include <unordered_map>

#include "trace/events/collective_size.hpp"
#include "trace/record/recorder.hpp"

namespace weft::trace {

/// MPI's own function behind the one of this module: Open MPI's Fortran interface calls PMPI_Send,
/// MPICH's MPI_Send, and so both are this module's.
template <class Function>
Function* real_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define WEFT_REAL(name) \
  static auto* const real = weft::trace::real_function<decltype(P##name)>("P" #name)

struct CommunicatorInfo {
  std::uint32_t number = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
};

/// A request under way, or a persistent one.
struct OpenRequest {
  enum class Kind : std::uint8_t { send, receive, collective };
  Kind kind = Kind::send;
  std::uint64_t number = 0;
  std::uint32_t communicator = 0;
  Record collective;  // to be written when it is done
};
struct PersistentRequest {
  bool is_send = false;
  MPI_Comm communicator = MPI_COMM_NULL;
  int peer = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
};

class MpiSession {
 public:
  static MpiSession& get();

  /// Before MPI begins: of ranks in weft's simulation, MPI's time counts.
  void choose_clock();
  std::uint64_t now_ns() const { return clock_(); }
  void begin(Call call, std::uint64_t entered_ns);
  /// Before MPI ends. All ranks do it at once.
  void end();
  bool is_recording() const { return takes_part_ && depth_ == 0; }
  Recorder& recorder() { return recorder_; }
  int& depth() { return depth_; }
  bool is_own_thread() const;
  void report(Incomplete why);

  const CommunicatorInfo* info(MPI_Comm communicator);
  /// A communicator has been made; all its members do it.
  void define(MPI_Comm communicator);
  void forget(MPI_Comm communicator);

  void send(std::uint64_t at_ns, MPI_Comm c, int peer, int tag, std::uint64_t bytes);
  void receive(std::uint64_t at_ns, MPI_Comm c, const MPI_Status& status);
  void begin_send(std::uint64_t at_ns, MPI_Comm c, int peer, int tag, std::uint64_t bytes,
                  MPI_Request request);
  void begin_receive(std::uint64_t at_ns, MPI_Comm c, int peer, MPI_Request request);
  void begin_collective(const Record& record, MPI_Request request);
  /// `handle` is the request from before the call that completed it.
  void complete(std::uint64_t at_ns, MPI_Request handle, const MPI_Status& status);
  void complete_freed(std::uint64_t at_ns, MPI_Request handle);
  void keep_persistent(MPI_Request request, const PersistentRequest& what);
  void start_persistent(std::uint64_t at_ns, MPI_Request request);
  bool is_open(MPI_Request request) const { return requests_.count(key(request)) > 0; }
  Record collective(std::uint64_t at_ns, Collective operation, MPI_Comm c, int root,
                    std::uint64_t bytes);

  static std::uint64_t bytes_of(int count, MPI_Datatype type);
  static std::uint64_t bytes_of(const MPI_Status& status);

 private:
  MpiSession() = default;
  static std::uint64_t ns_of_mpi();
  static std::uint64_t key(MPI_Request request) {
    return (std::uint64_t)request;  // a pointer or a number, as the MPI has it
  }
  void synchronise();
  void measure_clock(int rank, int ranks);
  void add_definition(MPI_Comm communicator, std::uint64_t identity);

  Recorder recorder_;
  std::uint64_t (*clock_)() = &Recorder::now_ns;
  // From `begin` to `end`, also where nothing can be written: the other ranks wait for this one in
  // the collective calls that are the recording's own.
  bool takes_part_ = false;
  int depth_ = 0;
  int keyval_ = MPI_KEYVAL_INVALID;
  std::uint32_t rank_ = 0;
  std::uint32_t communicators_ = 0;
  std::uint64_t requests_begun_ = 0;
  std::uint32_t reported_ = 0;
  MPI_Comm last_ = MPI_COMM_NULL;
  const CommunicatorInfo* last_info_ = nullptr;
  MPI_Group world_ = MPI_GROUP_NULL;
  // Requests of sends that are done at once may all have one handle.
  std::unordered_multimap<std::uint64_t, OpenRequest> requests_;
  std::unordered_map<std::uint64_t, PersistentRequest> persistent_;
};

/// A call of the program from its beginning to its end. Calls within calls are MPI's own.
class CallScope {
 public:
  explicit CallScope(Call call) : session_(MpiSession::get()), call_(call) {
    records_ = session_.is_recording();
    if (records_ && !session_.is_own_thread()) {
      session_.report(Incomplete::several_threads);
      records_ = false;
    }
    if (!records_) return;
    ++session_.depth();
    entered_ns_ = session_.now_ns();
    session_.recorder().add({.time_ns = entered_ns_,
                             .operation = static_cast<std::uint16_t>(call),
                             .kind = Record::Kind::enter});
  }
  ~CallScope() {
    if (!records_) return;
    --session_.depth();
    session_.recorder().add({.time_ns = returned_ns(),
                             .operation = static_cast<std::uint16_t>(call_),
                             .kind = Record::Kind::leave});
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  explicit operator bool() const { return records_; }
  MpiSession* operator->() { return &session_; }
  std::uint64_t entered_ns() const { return entered_ns_; }
  /// Returns the time at which MPI's function returned, which is that of the first call.
  std::uint64_t returned_ns() {
    if (returned_ns_ == 0) returned_ns_ = session_.now_ns();
    return returned_ns_;
  }

 private:
  MpiSession& session_;
  Call call_;
  bool records_ = false;
  std::uint64_t entered_ns_ = 0;
  std::uint64_t returned_ns_ = 0;
};

/// Defines a function and its name for profiling as one.
#define WEFT_CALL(name, parameters)                                \
  extern "C" int P##name parameters __attribute__((alias(#name))); \
  extern "C" int name parameters

}  // namespace weft::trace
