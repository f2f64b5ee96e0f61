// SPDX-License-Identifier: Apache-2.0
// Waiting for requests, testing, cancelling and freeing them.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "mpi/api/generalized.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

/// The status of a null request, which is always done.
void write_empty(MPI_Status* status) {
  if (status == abi::status_ignore) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  abi::write_bytes(*status, 0, false);
}

[[gnu::cold, gnu::noinline]] void fail_unknown(const Call& call, MPI_Request handle) {
  call.fail(nullptr, MPI_ERR_REQUEST, "{:#x} is no request", abi::shown(handle));
}

/// Null: MPI_REQUEST_NULL. Others have to be there.
[[gnu::always_inline]] inline Request* find(const Call& call, MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  Request* const request =
      is_of(abi::made_request, handle) ? library().requests.find(number_of(handle)) : nullptr;
  if (request == nullptr) fail_unknown(call, handle);
  return request;
}

int fail_null(const Call& call) {
  return call.fail(&library().world, MPI_ERR_REQUEST, "the handle is MPI_REQUEST_NULL");
}

bool is_done(const Call& call, MPI_Request handle) {
  const Request* const request = find(call, handle);
  return request == nullptr || request->done;
}

/// Null, or a persistent one that is not started: there is nothing to wait for.
bool is_idle(const Call& call, MPI_Request handle) {
  const Request* const request = find(call, handle);
  return request == nullptr || !request->is_active;
}

int finish_special(const Call& call, Request& request, MPI_Request& handle, MPI_Status* status) {
  if (!request.is_active) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  if (request.starts) {
    request.is_active = false;
    return take_result(call, request, status);
  }
  const int number = number_of(std::exchange(handle, MPI_REQUEST_NULL));
  if (request.is_shared) return take_result(call, request, status);
  const Generalized& own = *find_generalized(request);
  const auto removed = library().requests.remove(number);
  const int error = query_generalized(own, status);
  const int freed = end_generalized(*removed);
  return error != MPI_SUCCESS ? error : freed;
}

/// Finishes a request that is complete or null.
int finish(const Call& call, MPI_Request& handle, MPI_Status* status) {
  Request* const kept = find(call, handle);
  if (kept == nullptr) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  if (kept->is_special) return finish_special(call, *kept, handle, status);
  const int number = number_of(std::exchange(handle, MPI_REQUEST_NULL));
  const int error = take_result(call, *kept, status);
  library().requests.end(number, *kept);
  return error;
}

int finish_all(const Call& call, std::span<MPI_Request> requests, MPI_Status* statuses) {
  int result = MPI_SUCCESS;
  const bool ignored = statuses == abi::status_ignore;
  Requests& kept = library().requests;
  const MPI_Request sent = library().sent;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // As mostly: a message that came whole or is sent, and nobody asks for its status.
    if (ignored && requests[i] == sent) {
      requests[i] = MPI_REQUEST_NULL;
      continue;
    }
    if (ignored && is_of(abi::made_request, requests[i])) {
      const int number = number_of(requests[i]);
      Request* const request = kept.find(number);
      if (request != nullptr && !request->is_special && !request->status.is_truncated) {
        requests[i] = MPI_REQUEST_NULL;
        kept.end(number, *request);
        continue;
      }
    }
    MPI_Status* const status = ignored ? abi::status_ignore : statuses + i;
    const int error = finish(call, requests[i], status);
    if (!ignored) status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
  }
  return result;
}

int finish_some(const Call& call, std::span<MPI_Request> requests,
                std::span<const std::uint32_t> places, int* done, int* indices,
                MPI_Status* statuses) {
  int result = MPI_SUCCESS;
  *done = 0;
  for (const std::uint32_t place : places) {
    const bool ignored = statuses == abi::status_ignore;
    MPI_Status* const status = ignored ? abi::status_ignore : statuses + *done;
    const int error = finish(call, requests[place], status);
    if (!ignored) status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
    indices[(*done)++] = static_cast<int>(place);
  }
  return result;
}

template <class Handle>
std::span<Handle> span_of(const Call& call, int count, Handle* requests) {
  if (count < 0) call.fail(nullptr, MPI_ERR_COUNT, "the count is {}", count);
  return {requests, static_cast<std::size_t>(count)};
}

/// Whether there are so many requests, and the places of the call's results.
template <class... Results>
int check(const Call& call, int count, const MPI_Request* requests, const Results*... results) {
  const int error = call.check_requests(count, requests);
  return error != MPI_SUCCESS ? error : call.check_results(results...);
}

/// The same of a call that also writes indices, up to as many.
int check_some(const Call& call, int count, const MPI_Request* requests, const int* done,
               const int* indices) {
  const int error = check(call, count, requests, done);
  return error != MPI_SUCCESS ? error : call.check_arrays(count, nullptr, indices);
}

bool all_idle(const Call& call, std::span<const MPI_Request> requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [&](const MPI_Request& r) { return is_idle(call, r); });
}

/// Returns the indices of the completed requests: all of them, or the first.
std::vector<std::uint32_t> ask(const Call& call, std::span<const MPI_Request> requests, bool all,
                               bool waits) {
  return call.questions().some(requests.size(), all, waits, [&](std::size_t i) {
    if (is_idle(call, requests[i])) return Questions::State::idle;
    return is_done(call, requests[i]) ? Questions::State::done : Questions::State::under_way;
  });
}

/// Writes the status of a request that is complete or null, which stays.
int look_at(const Call& call, MPI_Request handle, MPI_Status* status) {
  if (is_idle(call, handle)) {
    write_empty(status);
  } else if (const Generalized* const own = find_generalized(*find(call, handle))) {
    return query_generalized(*own, status);
  } else {
    write_status(status, find(call, handle)->status);
  }
  return MPI_SUCCESS;
}

MPI_Status* at(MPI_Status* statuses, std::size_t i) {
  return statuses == abi::status_ignore ? abi::status_ignore : statuses + i;
}

bool all_done(const Call& call, std::span<const MPI_Request> requests) {
  return std::ranges::all_of(requests, [&](MPI_Request r) { return is_done(call, r); });
}

}  // namespace

int look_at_all(const Call& call, int count, const MPI_Request* requests, int* flag,
                MPI_Status* statuses) {
  const auto all = span_of(call, count, requests);
  *flag = call.questions().is([&] { return all_done(call, all); }) ? 1 : 0;
  int error = call.settle(nullptr);
  for (std::size_t i = 0; error == MPI_SUCCESS && *flag == 1 && i < all.size(); ++i) {
    error = look_at(call, all[i], at(statuses, i));
  }
  return error;
}

int look_at_some(const Call& call, int count, const MPI_Request* requests, bool only_first,
                 int* done, int* indices, MPI_Status* statuses) {
  const auto all = span_of(call, count, requests);
  *done = MPI_UNDEFINED;
  if (all_idle(call, all)) return MPI_SUCCESS;
  const auto found = ask(call, all, !only_first, false);
  int error = call.settle(nullptr);
  *done = 0;
  for (std::size_t i = 0; error == MPI_SUCCESS && i < found.size(); ++i) {
    indices[(*done)++] = static_cast<int>(found[i]);
    error = look_at(call, all[found[i]], at(statuses, i));
  }
  return error;
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const Call call{"MPI_Wait"};
  if (const int error = check(call, 1, request); error != MPI_SUCCESS) return error;
  call.transfer().until([&] { return is_done(call, *request); });
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return finish(call, *request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const Call call{"MPI_Test"};
  if (const int error = check(call, 1, request, flag); error != MPI_SUCCESS) return error;
  *flag = call.questions().is([&] { return is_done(call, *request); }) ? 1 : 0;
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return *flag == 1 ? finish(call, *request, status) : MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const Call call{"MPI_Waitall"};
  if (const int error = check(call, count, requests); error != MPI_SUCCESS) return error;
  const auto all = span_of(call, count, requests);
  // Most are done by the time they are looked at.
  const MPI_Request sent = library().sent;
  for (const MPI_Request handle : all) {
    if (handle == sent) continue;
    const Request* const request = find(call, handle);
    if (request == nullptr || request->done) continue;
    call.transfer().until([&] { return request->done; });
  }
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return finish_all(call, all, statuses);
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const Call call{"MPI_Testall"};
  if (const int error = check(call, count, requests, flag); error != MPI_SUCCESS) return error;
  const auto all = span_of(call, count, requests);
  *flag = call.questions().is([&] { return all_done(call, all); }) ? 1 : 0;
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return *flag == 1 ? finish_all(call, all, statuses) : MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  const Call call{"MPI_Waitany"};
  if (const int error = check(call, count, requests, index); error != MPI_SUCCESS) return error;
  const auto all = span_of(call, count, requests);
  *index = MPI_UNDEFINED;
  if (all_idle(call, all)) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  const auto found = ask(call, all, false, true);
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  *index = static_cast<int>(found[0]);
  return finish(call, requests[found[0]], status);
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  const Call call{"MPI_Testany"};
  if (const int error = check(call, count, requests, index, flag); error != MPI_SUCCESS)
    return error;
  const auto all = span_of(call, count, requests);
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (all_idle(call, all)) {
    write_empty(status);
    return MPI_SUCCESS;
  }
  const auto found = ask(call, all, false, false);
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  *flag = found.empty() ? 0 : 1;
  if (found.empty()) return MPI_SUCCESS;
  *index = static_cast<int>(found[0]);
  return finish(call, requests[found[0]], status);
}

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  const Call call{"MPI_Waitsome"};
  if (const int error = check_some(call, count, requests, done, indices); error != MPI_SUCCESS)
    return error;
  const auto all = span_of(call, count, requests);
  *done = MPI_UNDEFINED;
  if (all_idle(call, all)) return MPI_SUCCESS;
  const auto found = ask(call, all, true, true);
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return finish_some(call, all, found, done, indices, statuses);
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  const Call call{"MPI_Testsome"};
  if (const int error = check_some(call, count, requests, done, indices); error != MPI_SUCCESS)
    return error;
  const auto all = span_of(call, count, requests);
  *done = MPI_UNDEFINED;
  if (all_idle(call, all)) return MPI_SUCCESS;
  const auto found = ask(call, all, true, false);
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return finish_some(call, all, found, done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  const Call call{"MPI_Request_get_status"};
  if (const int error = call.check_results(flag); error != MPI_SUCCESS) return error;
  *flag = call.questions().is([&] { return is_done(call, handle); }) ? 1 : 0;
  if (const int error = call.settle(nullptr); error != MPI_SUCCESS) return error;
  return *flag == 1 ? look_at(call, handle, status) : MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request* request) {
  const Call call{"MPI_Cancel"};
  if (const int error = check(call, 1, request); error != MPI_SUCCESS) return error;
  Request* const found = find(call, *request);
  if (found == nullptr) return fail_null(call);
  if (const Generalized* const own = find_generalized(*found); own != nullptr) {
    return own->cancel(own->extra, found->done ? 1 : 0);
  }
  call.questions().cancel(*found);
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  const Call call{"MPI_Request_free"};
  if (const int error = check(call, 1, request); error != MPI_SUCCESS) return error;
  const Request* const found = find(call, *request);
  if (found == nullptr) return fail_null(call);
  if (found->is_shared) {
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (Generalized* const own = find_generalized(*found); own != nullptr) {
    const MPI_Request handle = std::exchange(*request, MPI_REQUEST_NULL);
    own->is_freed = true;
    return found->done ? MPI_Grequest_complete(handle) : MPI_SUCCESS;
  }
  // It goes on by itself.
  auto& freed = library().freed_requests;
  std::erase_if(freed, [](const auto& old) { return old->done; });
  freed.push_back(library().requests.remove(number_of(*request)));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
