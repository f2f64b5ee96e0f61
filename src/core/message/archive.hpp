// SPDX-License-Identifier: Apache-2.0
// Archive: messages of one flow that have arrived, kept for later lives of their receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/growing_ring.hpp"
#include "core/message/body_pool.hpp"
#include "core/message/name.hpp"

namespace weft::message {

/// Messages with consecutive serials. Small ones lie behind each other in runs, each with its
/// length in one or two bytes in front; a larger one is a run of its own. A forgotten message
/// leaves run by run. The pool outlives it.
class Archive {
 public:
  struct Message {
    std::span<const std::byte> bytes;  ///< until something is added or forgotten
    std::uint64_t digest = 0;          ///< of the flow up to it; 0: unknown
    bool is_gone = false;              ///< there is only its place
  };

  /// Messages of at most so many bytes share runs.
  static constexpr std::size_t most_shared = 1024;

  bool empty() const { return runs_.empty(); }
  /// Returns the bytes of the pool's memory that the archive uses.
  std::uint64_t bytes() const;
  /// Appends the message `serial`, which follows the last one. `digest`: of the flow before and
  /// after it. A large body is taken over. False: the pool has no memory; nothing has changed.
  bool add(BodyPool& pool, Serial serial, std::span<const std::byte> bytes, Body& body,
           std::uint64_t digest_before, std::uint64_t digest);
  /// A message that nobody can have any more.
  void add_gone(Serial serial);
  std::optional<Message> find(Serial serial);
  /// Returns the first archived message, and the flow's digest before it. Not of an empty archive.
  Serial first() const { return runs_[0].first; }
  std::uint64_t digest_before() const { return runs_[0].digest_before; }
  /// Drops the messages before that one, which no peer asks for, except those that the fabric still
  /// reads.
  void forget(Serial before);
  /// The fabric reads the message, or has done so.
  void begin_write(Serial serial);
  void end_write(Serial serial);

 private:
  struct Run {
    Serial first = 0;
    std::uint64_t digest_before = 0;
    std::uint64_t digest = 0;  // of all
    Body body;
    std::uint32_t count = 0;
    std::uint32_t used = 0;  // bytes
    std::uint32_t writes_out = 0;
    bool is_shared = false;
    bool is_gone = false;
  };
  /// The message of a shared run that was read last, since mostly the next one is wanted, or the
  /// same once more.
  struct Cursor {
    Serial run = 0;  // its first
    Serial serial = 0;
    std::size_t length = 0;
    std::size_t end = 0;       // of the message, in the run
    std::uint64_t digest = 0;  // after it
    bool is_valid = false;
  };

  Run* run_of(Serial serial);
  bool make_room(BodyPool& pool, Run& run, std::size_t bytes);
  Message find_shared(const Run& run, Serial serial);
  void read(const Run& run, Serial serial, std::size_t offset, std::uint64_t digest_before);

  GrowingRing<Run> runs_;
  Cursor cursor_;
};

}  // namespace weft::message
