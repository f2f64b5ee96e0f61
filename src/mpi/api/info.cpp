// SPDX-License-Identifier: Apache-2.0
// Info objects.
#include "mpi/api/info.hpp"

#include <algorithm>
#include <cstring>

namespace weft::mpi {

const std::string* Info::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Info::set(std::string_view key, std::string_view value) {
  for (auto& entry : entries) {
    if (entry.first == key) return void(entry.second = value);
  }
  entries.emplace_back(key, value);
}

Info* find_info(const Call& call, MPI_Info handle, int& error) {
  static Info environment;
  if (handle == MPI_INFO_ENV) return &environment;
  Info* const found =
      is_of(abi::made_info, handle) ? library().infos.find(number_of(handle)) : nullptr;
  if (found == nullptr) {
    error = call.fail(&library().world, MPI_ERR_INFO, "the handle is of no info object");
  }
  return found;
}

MPI_Info keep_info(Info info) {
  return handle_of(abi::made_info, library().infos.add(std::make_unique<Info>(std::move(info))));
}

MPI_Info copy_info(const Call& call, MPI_Info handle, int& error) {
  if (handle == MPI_INFO_NULL) return keep_info({});
  const Info* const found = find_info(call, handle, error);
  return found != nullptr ? keep_info(*found) : MPI_INFO_NULL;
}

namespace {

/// The object of a call that names a key. Null, with `error` set: there is no object, or no key.
Info* find_for_key(const Call& call, MPI_Info handle, const char* key, int& error) {
  Info* const found = find_info(call, handle, error);
  if (found == nullptr || key != nullptr) return found;
  error = call.fail(&library().world, MPI_ERR_INFO_KEY, "the key is a null pointer");
  return nullptr;
}

int refuse_no_value(const Call& call) {
  return call.fail(&library().world, MPI_ERR_INFO_VALUE, "the value is a null pointer");
}

/// Copies a value to `to`, which has room for `length` characters and a zero byte.
int get_value(const Call& call, MPI_Info handle, const char* key, int length, char* to, int* flag,
              int* needed) {
  int error = MPI_SUCCESS;
  const Info* const info = find_for_key(call, handle, key, error);
  if (info == nullptr) return error;
  if (to == nullptr && length >= 0) return refuse_no_value(call);
  if ((error = call.check_results(flag)) != MPI_SUCCESS) return error;
  const std::string* const found = info->find(key);
  *flag = found != nullptr ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  const std::string& value = *found;
  if (needed != nullptr) *needed = static_cast<int>(value.size());
  if (length < 0) return MPI_SUCCESS;
  const std::size_t n = std::min(value.size(), static_cast<std::size_t>(length));
  std::memcpy(to, value.data(), n);
  to[n] = '\0';
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Info_create(MPI_Info* info) {
  const Call call{"MPI_Info_create"};
  if (const int error = call.check_results(info); error != MPI_SUCCESS) return error;
  *info = keep_info({});
  return MPI_SUCCESS;
}

int MPI_Info_create_env(int, char**, MPI_Info* info) {
  return MPI_Info_create(info);
}

int MPI_Info_dup(MPI_Info info, MPI_Info* made) {
  const InfoCall call("MPI_Info_dup", info, made);
  if (call) *made = keep_info(*call);
  return call.error;
}

int MPI_Info_free(MPI_Info* info) {
  const InfoCall call("MPI_Info_free", *info);
  if (!call) return call.error;
  if (!is_of(abi::made_info, *info)) {
    return call.fail(&library().world, MPI_ERR_INFO, "the program did not make it");
  }
  (void)library().infos.remove(number_of(*info));
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char* key, const char* value) {
  const Call call{"MPI_Info_set"};
  int error = MPI_SUCCESS;
  Info* const found = find_for_key(call, info, key, error);
  if (found == nullptr) return error;
  if (value == nullptr) return refuse_no_value(call);
  if (const std::size_t length = std::strlen(key); length == 0 || length > MPI_MAX_INFO_KEY) {
    return call.fail(&library().world, MPI_ERR_INFO_KEY, "a key has 1 to {} characters, not {}",
                     MPI_MAX_INFO_KEY, length);
  }
  if (const std::size_t length = std::strlen(value); length > MPI_MAX_INFO_VAL) {
    return call.fail(&library().world, MPI_ERR_INFO_VALUE,
                     "a value has up to {} characters, not {}", MPI_MAX_INFO_VAL, length);
  }
  found->set(key, value);
  return MPI_SUCCESS;
}

int MPI_Info_delete(MPI_Info info, const char* key) {
  const Call call{"MPI_Info_delete"};
  int error = MPI_SUCCESS;
  Info* const found = find_for_key(call, info, key, error);
  if (found == nullptr) return error;
  if (std::erase_if(found->entries, [&](const auto& entry) { return entry.first == key; }) == 0) {
    return call.fail(&library().world, MPI_ERR_INFO_NOKEY, "there is no key {}", key);
  }
  return MPI_SUCCESS;
}

int MPI_Info_get(MPI_Info info, const char* key, int length, char* value, int* flag) {
  return get_value({"MPI_Info_get"}, info, key, length, value, flag, nullptr);
}

int MPI_Info_get_valuelen(MPI_Info info, const char* key, int* length, int* flag) {
  const Call call{"MPI_Info_get_valuelen"};
  if (const int error = call.check_results(length); error != MPI_SUCCESS) return error;
  return get_value(call, info, key, -1, nullptr, flag, length);
}

int MPI_Info_get_string(MPI_Info info, const char* key, int* length, char* value, int* flag) {
  // The length includes the zero byte, in both directions.
  const Call call{"MPI_Info_get_string"};
  int needed = 0;
  int error = call.check_results(length);
  if (error != MPI_SUCCESS) return error;
  error = get_value(call, info, key, *length - 1, value, flag, &needed);
  if (error == MPI_SUCCESS && *flag == 1) *length = needed + 1;
  return error;
}

int MPI_Info_get_nkeys(MPI_Info info, int* keys) {
  const InfoCall call("MPI_Info_get_nkeys", info, keys);
  if (call) *keys = static_cast<int>(call->entries.size());
  return call.error;
}

int MPI_Info_get_nthkey(MPI_Info info, int n, char* key) {
  const InfoCall call("MPI_Info_get_nthkey", info);
  if (!call) return call.error;
  if (n < 0 || static_cast<std::size_t>(n) >= call->entries.size()) {
    return call.fail(&library().world, MPI_ERR_ARG, "there is no key {} of {}", n,
                     call->entries.size());
  }
  if (key == nullptr) {
    return call.fail(&library().world, MPI_ERR_INFO_KEY, "there is no place for the key");
  }
  const std::string& text = call->entries[static_cast<std::size_t>(n)].first;
  std::memcpy(key, text.c_str(), text.size() + 1);
  return MPI_SUCCESS;
}
