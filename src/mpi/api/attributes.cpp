// SPDX-License-Identifier: Apache-2.0
// Attributes of communicators and datatypes, and those that MPI itself sets.
#include "mpi/api/attributes.hpp"

#include <limits>

#include "mpi/api/datatypes.hpp"
#include "mpi/api/errors.hpp"
#include "mpi/api/object_call.hpp"

namespace weft::mpi {

Keys<MPI_Comm>& communicator_keys() {
  static Keys<MPI_Comm> keys(0x1000);
  return keys;
}
Keys<MPI_Datatype>& type_keys() {
  static Keys<MPI_Datatype> keys(0x100'0000);
  return keys;
}
Keys<MPI_Win>& window_keys() {
  static Keys<MPI_Win> keys(0x200'0000);
  return keys;
}

namespace {

/// Attributes are read as pointers to these.
struct Predefined {
  int tag_ub = std::numeric_limits<int>::max();
  int host = MPI_PROC_NULL;
  int io = MPI_ANY_SOURCE;
  int wtime_is_global = 0;
  int universe_size = 0;
  int last_used_code = 0;
  int appnum = 0;
};

/// Other threads may read it: it is written only where it changes.
void tell(int& place, int value) {
  if (place != value) place = value;
}

int* predefined_value(int key) {
  static Predefined values;
  switch (key) {
    case MPI_TAG_UB:
      return &values.tag_ub;
    case MPI_HOST:
      return &values.host;
    case MPI_IO:
      return &values.io;
    case MPI_WTIME_IS_GLOBAL:
      return &values.wtime_is_global;
    case MPI_UNIVERSE_SIZE:
      tell(values.universe_size, static_cast<int>(library().world.group.size()));
      return &values.universe_size;
    case MPI_LASTUSEDCODE:
      tell(values.last_used_code, last_used_code());
      return &values.last_used_code;
    case MPI_APPNUM:
      tell(values.appnum, static_cast<int>(library().process->job().appnum));
      return &values.appnum;
    default:
      return nullptr;
  }
}

int fail_key(const Call& call, int key) {
  return call.fail(&library().world, MPI_ERR_KEYVAL, "{} is no key that is open", key);
}

int get(const CommunicatorCall& call, int key, void* value, int* flag) {
  if (!call) return call.error;
  if (const int* const predefined = predefined_value(key)) {
    write_pointer(value, predefined);
    *flag = 1;
    return MPI_SUCCESS;
  }
  if (!communicator_keys().is_open(key)) return fail_key(call, key);
  call->attributes.tell(key, value, flag);
  return MPI_SUCCESS;
}

int set(const CommunicatorCall& call, MPI_Comm comm, int key, void* value) {
  if (!call) return call.error;
  if (!communicator_keys().is_open(key)) return fail_key(call, key);
  return communicator_keys().set(comm, call->attributes, key, value);
}

int remove(const CommunicatorCall& call, MPI_Comm comm, int key) {
  if (!call) return call.error;
  if (!communicator_keys().is_open(key)) return fail_key(call, key);
  return communicator_keys().remove(comm, call->attributes, key);
}

template <class Handle>
int free_key(const Call& call, Keys<Handle>& keys, int* key) {
  if (!keys.free(*key)) return fail_key(call, *key);
  *key = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copies,
                           MPI_Comm_delete_attr_function* deletes, int* key, void* extra) {
  const Call call{"MPI_Comm_create_keyval"};
  *key = communicator_keys().add(copies, deletes, extra);
  return MPI_SUCCESS;
}

int MPI_Keyval_create(MPI_Copy_function* copies, MPI_Delete_function* deletes, int* key,
                      void* extra) {
  const Call call{"MPI_Keyval_create"};
  *key = communicator_keys().add(copies, deletes, extra);
  return MPI_SUCCESS;
}

int MPI_Comm_free_keyval(int* key) {
  return free_key({"MPI_Comm_free_keyval"}, communicator_keys(), key);
}

int MPI_Keyval_free(int* key) {
  return free_key({"MPI_Keyval_free"}, communicator_keys(), key);
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  return get({"MPI_Comm_get_attr", comm}, key, value, flag);
}

int MPI_Attr_get(MPI_Comm comm, int key, void* value, int* flag) {
  return get({"MPI_Attr_get", comm}, key, value, flag);
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  return set({"MPI_Comm_set_attr", comm}, comm, key, value);
}

int MPI_Attr_put(MPI_Comm comm, int key, void* value) {
  return set({"MPI_Attr_put", comm}, comm, key, value);
}

int MPI_Comm_delete_attr(MPI_Comm comm, int key) {
  return remove({"MPI_Comm_delete_attr", comm}, comm, key);
}

int MPI_Attr_delete(MPI_Comm comm, int key) {
  return remove({"MPI_Attr_delete", comm}, comm, key);
}

int MPI_Type_create_keyval(MPI_Type_copy_attr_function* copies,
                           MPI_Type_delete_attr_function* deletes, int* key, void* extra) {
  const Call call{"MPI_Type_create_keyval"};
  *key = type_keys().add(copies, deletes, extra);
  return MPI_SUCCESS;
}

int MPI_Type_free_keyval(int* key) {
  return free_key({"MPI_Type_free_keyval"}, type_keys(), key);
}

int MPI_Type_set_attr(MPI_Datatype type, int key, void* value) {
  const TypeCall call("MPI_Type_set_attr", type);
  if (!call) return call.error;
  if (!type_keys().is_open(key)) return fail_key(call, key);
  return type_keys().set(type, notes_of(*call).attributes, key, value);
}

int MPI_Type_get_attr(MPI_Datatype type, int key, void* value, int* flag) {
  const TypeCall call("MPI_Type_get_attr", type);
  if (!call) return call.error;
  if (!type_keys().is_open(key)) return fail_key(call, key);
  notes_of(*call).attributes.tell(key, value, flag);
  return MPI_SUCCESS;
}

int MPI_Type_delete_attr(MPI_Datatype type, int key) {
  const TypeCall call("MPI_Type_delete_attr", type);
  if (!call) return call.error;
  if (!type_keys().is_open(key)) return fail_key(call, key);
  return type_keys().remove(type, notes_of(*call).attributes, key);
}
