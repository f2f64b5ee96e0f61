// SPDX-License-Identifier: Apache-2.0
// MPI's calls of messages, recorded: each is MPI's own function between two records.
#include "trace/record/mpi_session.hpp"

using weft::trace::Call;
using weft::trace::CallScope;
using weft::trace::MpiSession;
using weft::trace::Recorder;

namespace {

/// The caller's status, or one in its place when it wants none.
class Status {
 public:
  explicit Status(MPI_Status* theirs) : at_(theirs == MPI_STATUS_IGNORE ? &own_ : theirs) {}
  MPI_Status* get() { return at_; }
  const MPI_Status& operator*() const { return *at_; }

 private:
  MPI_Status own_{};
  MPI_Status* at_;
};

/// The same for several, and the requests as they are before the call.
class Several {
 public:
  Several(int count, const MPI_Request* requests, MPI_Status* theirs)
      : requests_(requests, requests + count) {
    at_ = theirs;
    if (theirs != MPI_STATUSES_IGNORE) return;
    own_.resize(static_cast<std::size_t>(count));
    at_ = own_.data();
  }
  MPI_Status* statuses() { return at_; }
  void complete(CallScope& scope, int request, int status) {
    scope->complete(scope.returned_ns(), requests_[static_cast<std::size_t>(request)], at_[status]);
  }

 private:
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> own_;
  MPI_Status* at_;
};

}  // namespace

#define WEFT_SEND(name)                                                                            \
  WEFT_CALL(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm c)) { \
    WEFT_REAL(name);                                                                               \
    CallScope scope(Call::name);                                                                   \
    if (scope) scope->send(scope.entered_ns(), c, to, tag, MpiSession::bytes_of(count, type));     \
    return real(data, count, type, to, tag, c);                                                    \
  }
WEFT_SEND(MPI_Send)
WEFT_SEND(MPI_Bsend)
WEFT_SEND(MPI_Ssend)
WEFT_SEND(MPI_Rsend)

#define WEFT_ISEND(name)                                                                        \
  WEFT_CALL(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm c, \
                   MPI_Request* request)) {                                                     \
    WEFT_REAL(name);                                                                            \
    CallScope scope(Call::name);                                                                \
    const int code = real(data, count, type, to, tag, c, request);                              \
    if (scope) {                                                                                \
      scope->begin_send(scope.entered_ns(), c, to, tag, MpiSession::bytes_of(count, type),      \
                        *request);                                                              \
    }                                                                                           \
    return code;                                                                                \
  }
WEFT_ISEND(MPI_Isend)
WEFT_ISEND(MPI_Ibsend)
WEFT_ISEND(MPI_Issend)
WEFT_ISEND(MPI_Irsend)

#define WEFT_SEND_INIT(name)                                                                    \
  WEFT_CALL(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm c, \
                   MPI_Request* request)) {                                                     \
    WEFT_REAL(name);                                                                            \
    const int code = real(data, count, type, to, tag, c, request);                              \
    if (MpiSession::get().is_recording()) {                                                     \
      MpiSession::get().keep_persistent(*request,                                               \
                                        {true, c, to, tag, MpiSession::bytes_of(count, type)}); \
    }                                                                                           \
    return code;                                                                                \
  }
WEFT_SEND_INIT(MPI_Send_init)
WEFT_SEND_INIT(MPI_Bsend_init)
WEFT_SEND_INIT(MPI_Ssend_init)
WEFT_SEND_INIT(MPI_Rsend_init)

WEFT_CALL(MPI_Recv_init, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm c,
                          MPI_Request* request)) {
  WEFT_REAL(MPI_Recv_init);
  const int code = real(data, count, type, from, tag, c, request);
  if (MpiSession::get().is_recording()) {
    MpiSession::get().keep_persistent(*request, {false, c, from, tag, 0});
  }
  return code;
}

WEFT_CALL(MPI_Start, (MPI_Request * request)) {
  WEFT_REAL(MPI_Start);
  CallScope scope(Call::MPI_Start);
  const int code = real(request);
  if (scope) scope->start_persistent(scope.entered_ns(), *request);
  return code;
}

WEFT_CALL(MPI_Startall, (int count, MPI_Request* requests)) {
  WEFT_REAL(MPI_Startall);
  CallScope scope(Call::MPI_Startall);
  const int code = real(count, requests);
  for (int i = 0; scope && i < count; ++i) {
    scope->start_persistent(scope.entered_ns(), requests[i]);
  }
  return code;
}

WEFT_CALL(MPI_Recv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm c,
                     MPI_Status* theirs)) {
  WEFT_REAL(MPI_Recv);
  CallScope scope(Call::MPI_Recv);
  Status status(theirs);
  const int code = real(data, count, type, from, tag, c, status.get());
  if (scope) scope->receive(scope.returned_ns(), c, *status);
  return code;
}

WEFT_CALL(MPI_Irecv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm c,
                      MPI_Request* request)) {
  WEFT_REAL(MPI_Irecv);
  CallScope scope(Call::MPI_Irecv);
  const int code = real(data, count, type, from, tag, c, request);
  if (scope) scope->begin_receive(scope.entered_ns(), c, from, *request);
  return code;
}

WEFT_CALL(MPI_Sendrecv,
          (const void* data, int count, MPI_Datatype type, int to, int tag, void* into, int room,
           MPI_Datatype their_type, int from, int their_tag, MPI_Comm c, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Sendrecv);
  CallScope scope(Call::MPI_Sendrecv);
  Status status(theirs);
  if (scope) scope->send(scope.entered_ns(), c, to, tag, MpiSession::bytes_of(count, type));
  const int code =
      real(data, count, type, to, tag, into, room, their_type, from, their_tag, c, status.get());
  if (scope) scope->receive(scope.returned_ns(), c, *status);
  return code;
}

WEFT_CALL(MPI_Sendrecv_replace, (void* data, int count, MPI_Datatype type, int to, int tag,
                                 int from, int their_tag, MPI_Comm c, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Sendrecv_replace);
  CallScope scope(Call::MPI_Sendrecv_replace);
  Status status(theirs);
  if (scope) scope->send(scope.entered_ns(), c, to, tag, MpiSession::bytes_of(count, type));
  const int code = real(data, count, type, to, tag, from, their_tag, c, status.get());
  if (scope) scope->receive(scope.returned_ns(), c, *status);
  return code;
}

WEFT_CALL(MPI_Wait, (MPI_Request * request, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Wait);
  CallScope scope(Call::MPI_Wait);
  Status status(theirs);
  const MPI_Request handle = *request;
  const int code = real(request, status.get());
  if (scope) scope->complete(scope.returned_ns(), handle, *status);
  return code;
}

WEFT_CALL(MPI_Waitall, (int count, MPI_Request* requests, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Waitall);
  CallScope scope(Call::MPI_Waitall);
  Several several(count, requests, theirs);
  const int code = real(count, requests, several.statuses());
  for (int i = 0; scope && i < count; ++i) several.complete(scope, i, i);
  return code;
}

WEFT_CALL(MPI_Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Waitany);
  CallScope scope(Call::MPI_Waitany);
  Status status(theirs);
  const std::vector<MPI_Request> handles(requests, requests + count);
  const int code = real(count, requests, index, status.get());
  if (scope && *index != MPI_UNDEFINED) {
    scope->complete(scope.returned_ns(), handles[static_cast<std::size_t>(*index)], *status);
  }
  return code;
}

#define WEFT_SOME(name)                                                                        \
  WEFT_CALL(name,                                                                              \
            (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* theirs)) { \
    WEFT_REAL(name);                                                                           \
    CallScope scope(Call::name);                                                               \
    Several several(count, requests, theirs);                                                  \
    const int code = real(count, requests, done, indices, several.statuses());                 \
    for (int i = 0; scope && *done != MPI_UNDEFINED && i < *done; ++i) {                       \
      several.complete(scope, indices[i], i);                                                  \
    }                                                                                          \
    return code;                                                                               \
  }
WEFT_SOME(MPI_Waitsome)
WEFT_SOME(MPI_Testsome)

WEFT_CALL(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Test);
  CallScope scope(Call::MPI_Test);
  Status status(theirs);
  const MPI_Request handle = *request;
  const int code = real(request, flag, status.get());
  if (scope && *flag != 0) scope->complete(scope.returned_ns(), handle, *status);
  return code;
}

WEFT_CALL(MPI_Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Testall);
  CallScope scope(Call::MPI_Testall);
  Several several(count, requests, theirs);
  const int code = real(count, requests, flag, several.statuses());
  for (int i = 0; scope && *flag != 0 && i < count; ++i) several.complete(scope, i, i);
  return code;
}

WEFT_CALL(MPI_Testany,
          (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* theirs)) {
  WEFT_REAL(MPI_Testany);
  CallScope scope(Call::MPI_Testany);
  Status status(theirs);
  const std::vector<MPI_Request> handles(requests, requests + count);
  const int code = real(count, requests, index, flag, status.get());
  if (scope && *flag != 0 && *index != MPI_UNDEFINED) {
    scope->complete(scope.returned_ns(), handles[static_cast<std::size_t>(*index)], *status);
  }
  return code;
}

WEFT_CALL(MPI_Request_free, (MPI_Request * request)) {
  WEFT_REAL(MPI_Request_free);
  CallScope scope(Call::MPI_Request_free);
  if (scope) scope->complete_freed(scope.entered_ns(), *request);
  return real(request);
}

WEFT_CALL(MPI_Probe, (int from, int tag, MPI_Comm c, MPI_Status* status)) {
  WEFT_REAL(MPI_Probe);
  const CallScope scope(Call::MPI_Probe);
  return real(from, tag, c, status);
}

WEFT_CALL(MPI_Iprobe, (int from, int tag, MPI_Comm c, int* flag, MPI_Status* status)) {
  WEFT_REAL(MPI_Iprobe);
  const CallScope scope(Call::MPI_Iprobe);
  return real(from, tag, c, flag, status);
}

// A probed message is taken by itself: which communicator it came by, its handle does not say.
WEFT_CALL(MPI_Mprobe, (int from, int tag, MPI_Comm c, MPI_Message* message, MPI_Status* status)) {
  WEFT_REAL(MPI_Mprobe);
  CallScope scope(Call::MPI_Mprobe);
  if (scope) scope->report(weft::trace::Incomplete::unknown_request);
  return real(from, tag, c, message, status);
}

WEFT_CALL(MPI_Improbe,
          (int from, int tag, MPI_Comm c, int* flag, MPI_Message* message, MPI_Status* status)) {
  WEFT_REAL(MPI_Improbe);
  CallScope scope(Call::MPI_Improbe);
  const int code = real(from, tag, c, flag, message, status);
  if (scope && *flag != 0) scope->report(weft::trace::Incomplete::unknown_request);
  return code;
}

#define WEFT_INIT(name, parameters, ...)                 \
  WEFT_CALL(name, parameters) {                          \
    WEFT_REAL(name);                                     \
    MpiSession::get().choose_clock();                    \
    const std::uint64_t entered_ns = Recorder::now_ns(); \
    const int code = real(__VA_ARGS__);                  \
    MpiSession::get().begin(Call::name, entered_ns);     \
    return code;                                         \
  }
WEFT_INIT(MPI_Init, (int* count, char*** words), count, words)
WEFT_INIT(MPI_Init_thread, (int* count, char*** words, int required, int* provided), count, words,
          required, provided)

WEFT_CALL(MPI_Finalize, ()) {
  WEFT_REAL(MPI_Finalize);
  MpiSession::get().end();
  return real();
}

/// The program calls it by include/weft/progress.h.
extern "C" __attribute__((visibility("default"))) void weft_progress_hook() {
  MpiSession& session = MpiSession::get();
  if (!session.is_recording()) return;
  session.recorder().add(
      {.time_ns = session.now_ns(), .kind = weft::trace::Record::Kind::progress});
}
