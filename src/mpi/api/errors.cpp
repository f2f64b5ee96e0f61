// SPDX-License-Identifier: Apache-2.0
// The chapter on error handling.
#include "mpi/api/errors.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "mpi/api/object_call.hpp"
#include "mpi/api/text.hpp"

namespace weft::mpi {
namespace {

/// A class or code that the program added. Their numbers follow MPI's last one.
struct AddedError {
  int error_class = 0;  ///< 0: the program has removed it
  std::string text;
};

std::vector<AddedError>& added_errors() {
  static auto* const errors = new std::vector<AddedError>;
  return *errors;
}

AddedError* find_added(int error) {
  auto& errors = added_errors();
  const std::int64_t i = std::int64_t{error} - MPI_ERR_LASTCODE - 1;
  if (i < 0 || i >= static_cast<std::int64_t>(errors.size())) return nullptr;
  AddedError& found = errors[static_cast<std::size_t>(i)];
  return found.error_class != 0 ? &found : nullptr;
}

int code_of(const AddedError& error) {
  return MPI_ERR_LASTCODE + 1 + static_cast<int>(&error - added_errors().data());
}

/// In the place of a removed one, if there is one.
AddedError& add_error() {
  auto& errors = added_errors();
  const auto place = std::ranges::find(errors, 0, &AddedError::error_class);
  if (place != errors.end()) return *place = {};
  return errors.emplace_back();
}

int fail_unadded(const Call& call, int error) {
  return call.fail(&library().world, MPI_ERR_ARG, "{} is no error of the program's", error);
}

int get_handler(const CommunicatorCall& call, MPI_Errhandler* handler) {
  return call ? get_handler(call, *call, handler) : call.error;
}

int set_handler(const CommunicatorCall& call, MPI_Errhandler handler) {
  return call ? set_handler(call, *call, handler, &ErrorHandler::communicator) : call.error;
}

}  // namespace

int remove_error(const char* function, int error, bool is_class) {
  const Call call{function};
  AddedError* const found = find_added(error);
  if (found == nullptr || (found->error_class == error) != is_class) {
    return fail_unadded(call, error);
  }
  const auto members = std::ranges::count(added_errors(), error, &AddedError::error_class);
  if (is_class && members > 1) {
    return call.fail(&library().world, MPI_ERR_OTHER, "class {} has codes; remove them first",
                     error);
  }
  found->error_class = 0;
  return MPI_SUCCESS;
}

int remove_error_string(const char* function, int error) {
  const Call call{function};
  AddedError* const found = find_added(error);
  if (found == nullptr) return fail_unadded(call, error);
  found->text.clear();
  return MPI_SUCCESS;
}

int last_used_code() {
  return MPI_ERR_LASTCODE + static_cast<int>(added_errors().size());
}

std::shared_ptr<ErrorHandler> find_handler(const Call& call, MPI_Errhandler handle, int& error) {
  if (handle == MPI_ERRORS_RETURN || handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT) {
    return nullptr;
  }
  const auto* const found =
      is_of(abi::made_errhandler, handle) ? library().handlers.find(number_of(handle)) : nullptr;
  if (found != nullptr) return *found;
  error = call.fail(&library().world, MPI_ERR_ARG, "the handle is of no error handler");
  return nullptr;
}

int keep_handler(const Call& call, ErrorHandler handler, MPI_Errhandler* place) {
  if (const int error = call.check_results(place)) return error;
  *place = handler_handle(std::make_shared<ErrorHandler>(handler), MPI_ERRHANDLER_NULL);
  return MPI_SUCCESS;
}

MPI_Errhandler handler_handle(const std::shared_ptr<ErrorHandler>& handler,
                              MPI_Errhandler predefined) {
  if (handler == nullptr) return predefined;
  if (handler->references++ == 0) {
    handler->number =
        library().handlers.add(std::make_unique<std::shared_ptr<ErrorHandler>>(handler));
  }
  return handle_of(abi::made_errhandler, handler->number);
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
  return keep_handler({"MPI_Comm_create_errhandler"}, {.communicator = function}, handler);
}

int MPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* handler) {
  return keep_handler({"MPI_Errhandler_create"}, {.communicator = function}, handler);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return set_handler({"MPI_Comm_set_errhandler", comm}, handler);
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) {
  return set_handler({"MPI_Errhandler_set", comm}, handler);
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  return get_handler({"MPI_Comm_get_errhandler", comm}, handler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* handler) {
  return get_handler({"MPI_Errhandler_get", comm}, handler);
}

int MPI_Errhandler_free(MPI_Errhandler* handler) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Errhandler_free"};
  if ((error = call.check_results(handler)) != MPI_SUCCESS) return error;
  const auto found = find_handler(call, *handler, error);
  if (error != MPI_SUCCESS) return error;
  // Communicators that have it keep it.
  if (found != nullptr && --found->references == 0) {
    (void)library().handlers.remove(number_of(*handler));
  }
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_call_errhandler(MPI_Comm comm, int error) {
  const CommunicatorCall call("MPI_Comm_call_errhandler", comm);
  if (!call) return call.error;
  (void)call.fail(call.object, error, "the program calls for error {}", error);
  return MPI_SUCCESS;
}

int MPI_Add_error_class(int* error_class) {
  const Call call{"MPI_Add_error_class"};
  if (const int null = call.check_results(error_class)) return null;
  AddedError& added = add_error();
  *error_class = added.error_class = code_of(added);
  return MPI_SUCCESS;
}

int MPI_Add_error_code(int error_class, int* error) {
  const Call call{"MPI_Add_error_code"};
  if (const int null = call.check_results(error)) return null;
  if (error_class == MPI_SUCCESS) {
    return call.fail(&library().world, MPI_ERR_ARG, "MPI_SUCCESS is no class of errors; name one");
  }
  AddedError& added = add_error();
  added.error_class = error_class;
  *error = code_of(added);
  return MPI_SUCCESS;
}

int MPI_Add_error_string(int error, const char* text) {
  const Call call{"MPI_Add_error_string"};
  if (const int null = call.check_results(text)) return null;
  AddedError* const found = find_added(error);
  if (found == nullptr) return fail_unadded(call, error);
  found->text = text;
  return MPI_SUCCESS;
}

int MPI_Error_string(int error, char* text, int* length) {
  const Call call{"MPI_Error_string"};
  const AddedError* const added = find_added(error);
  copy_text(added != nullptr ? added->text : text_of(error), MPI_MAX_ERROR_STRING, text, length);
  return MPI_SUCCESS;
}

int MPI_Error_class(int error, int* error_class) {
  const Call call{"MPI_Error_class"};
  const AddedError* const added = find_added(error);
  *error_class = added != nullptr ? added->error_class : error;
  return MPI_SUCCESS;
}
