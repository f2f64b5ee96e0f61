// SPDX-License-Identifier: Apache-2.0
// Queue pairs of the program: the operations that each has posted, and its stamps. Guarded by
// `guard`, as are the completion queues.
#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>

#include "emulate/control/emulated_process.hpp"

namespace weft::emulate::verbs {

extern EmulatedProcess process;
extern pthread_mutex_t guard;

struct Locked {
  Locked() { pthread_mutex_lock(&guard); }
  ~Locked() { pthread_mutex_unlock(&guard); }
};

/// A ring of plain values that grows. Without memory it drops the value that is pushed.
template <class Value>
class Fifo {
 public:
  bool empty() const { return first_ == end_; }
  std::size_t size() const { return end_ - first_; }
  Value& operator[](std::size_t i) { return places_[(first_ + i) & (capacity_ - 1)]; }
  bool push(const Value& value) {
    if (size() == capacity_ && !grow()) return false;
    places_[end_++ & (capacity_ - 1)] = value;
    return true;
  }
  void pop(std::size_t count = 1) { first_ += count; }
  void pop_back() { --end_; }
  void release() {
    __builtin_free(places_);
    *this = {};
  }

 private:
  bool grow() {
    const std::size_t wanted = capacity_ == 0 ? 64 : 2 * capacity_;
    auto* grown = static_cast<Value*>(__builtin_malloc(wanted * sizeof(Value)));
    if (grown == nullptr) return false;
    for (std::size_t i = first_; i != end_; ++i) {
      grown[i & (wanted - 1)] = places_[i & (capacity_ - 1)];
    }
    __builtin_free(places_);
    places_ = grown;
    capacity_ = wanted;
    return true;
  }

  Value* places_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

/// What the module knows of the program's objects of a kind, by their handles. An `Object` has its
/// `handle`, begins as zeros, and lets go of its memory in `release`.
template <class Object, unsigned kMost>
class HandleTable {
 public:
  /// nullptr: it is not known.
  Object* find(const void* handle) const {
    for (unsigned i = 0; i < kMost; ++i) {
      Object* const object = places_[(first_place(handle) + i) % kMost];
      if (object != nullptr && object->handle == handle) return object;
    }
    return nullptr;
  }
  /// A new one if it is not known; nullptr: there are too many, or there is no memory.
  Object* add(const void* handle) {
    if (Object* const known = find(handle)) return known;
    for (unsigned i = 0; i < kMost; ++i) {
      Object*& place = places_[(first_place(handle) + i) % kMost];
      if (place != nullptr) continue;
      auto* const made = static_cast<Object*>(__builtin_calloc(1, sizeof(Object)));
      if (made != nullptr) made->handle = handle;
      return place = made;
    }
    return nullptr;
  }
  void drop(const void* handle) {
    for (Object*& place : places_) {
      if (place == nullptr || place->handle != handle) continue;
      place->release();
      __builtin_free(place);
      place = nullptr;
    }
  }

 private:
  static unsigned first_place(const void* handle) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(handle) >> 6U);
  }

  Object* places_[kMost];
};

/// The effect of an operation on the network.
enum class Way : std::uint8_t {
  message,  ///< the peer gets a completion
  write,    ///< the peer sees nothing
  read,     ///< bytes come back; atomic operations too
  local,    ///< nothing leaves
};

/// An operation that the program posts.
struct Work {
  std::uint64_t id;
  std::uint64_t bytes;
  Way way;
  bool is_atomic;
  bool is_signaled;
};

/// An operation that was posted and has not completed.
struct Posted {
  std::uint64_t id;
  Picoseconds due;     ///< its acknowledgement or answer, by the links
  Picoseconds travel;  ///< there and back: after the adapter's own completion
  bool is_signaled;
};

struct Connection {
  const ibv_context* context;
  std::uint32_t number;  ///< of the queue pair
  bool signals_all;      ///< every operation completes visibly, also without IBV_SEND_SIGNALED
  StampRing* out;        ///< nullptr: the peer cannot know when a message was sent
  StampRing* in;
  std::uint64_t received;  ///< messages, since it was connected
  std::uint64_t prepaid;   ///< bytes that paid the links and were refused by the adapter
  Fifo<Posted> posted;
  Picoseconds last_sent;      ///< due time of the last completion of its own operations
  Picoseconds last_received;  ///< and of the last message
  Picoseconds native;         ///< least time of a message on its way; 0: unknown
};

/// nullptr: it is not known. `make` enters it then.
Connection* find_connection(const ibv_context* context, std::uint32_t number);
Connection* make_connection(const ibv_context* context, std::uint32_t number);
void drop_connection(const ibv_context* context, std::uint32_t number);

/// One end of a connection, as its peer knows it.
struct End {
  std::uint8_t address[16];  ///< GID, or LID
  std::uint32_t number;
};
/// From here on messages of the connection carry stamps.
void connect(Connection& connection, const End& own, const End& peer);

/// Charges the links for an operation that is about to be posted, and stamps it. Spins where that
/// is asked for.
void begin(Connection& connection, const Work& work);
/// The adapter refused one of the last operations that were begun. Call it for each of them.
void take_back(Connection& connection, const Work& work);

/// Returns when the completion that the adapter showed at `seen` may be seen by the program.
/// `looked`: the look before, which did not find it.
Picoseconds due_time(Connection& connection, const ibv_wc& completion, Picoseconds looked,
                     Picoseconds seen);

/// Returns whether messages pass as they are.
bool is_native();

}  // namespace weft::emulate::verbs
