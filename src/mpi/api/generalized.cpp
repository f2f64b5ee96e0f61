// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/generalized.hpp"

#include <unordered_map>

namespace weft::mpi {
namespace {

/// A few at a time: other requests need no memory for it.
std::unordered_map<const Request*, Generalized>& all_generalized() {
  static auto* const all = new std::unordered_map<const Request*, Generalized>;
  return *all;
}

}  // namespace

Generalized* detail::find_generalized(const Request& request) {
  auto& all = all_generalized();
  const auto found = all.find(&request);
  return found != all.end() ? &found->second : nullptr;
}

int query_generalized(const Generalized& generalized, MPI_Status* status) {
  MPI_Status own{};
  write_status(&own, empty_status());
  const int error = generalized.query(generalized.extra, &own);
  if (status != abi::status_ignore) {
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
  }
  return error;
}

int end_generalized(const Request& request) {
  const Generalized ended = *find_generalized(request);
  all_generalized().erase(&request);
  return ended.free(ended.extra);
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                       MPI_Grequest_cancel_function* cancel, void* extra, MPI_Request* handle) {
  const Call call{"MPI_Grequest_start"};
  if (const int error = call.check_requests(1, handle); error != MPI_SUCCESS) return error;
  auto request = std::make_unique<Request>();
  request->is_generalized = request->is_special = true;
  all_generalized()[request.get()] = {query, free, cancel, extra};
  *handle = keep_request(std::move(request));
  return MPI_SUCCESS;
}

int MPI_Grequest_complete(MPI_Request handle) {
  const Call call{"MPI_Grequest_complete"};
  Request* const request =
      is_of(abi::made_request, handle) ? library().requests.find(number_of(handle)) : nullptr;
  const Generalized* const found = request != nullptr ? find_generalized(*request) : nullptr;
  if (found == nullptr) {
    return call.fail(&library().world, MPI_ERR_REQUEST, "the request is no generalized one");
  }
  request->done = true;
  if (!found->is_freed) return MPI_SUCCESS;
  const int error = end_generalized(*request);
  (void)library().requests.remove(number_of(handle));
  return error;
}
