// SPDX-License-Identifier: Apache-2.0
// Notes between two endpoints over their socket, and the contents of write records. All bytes here
// come from another process and are checked when read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fabric/shm/segment.hpp"

namespace weft::shm {

enum class NoteKind : std::uint32_t {
  hello = 1,  ///< names the sender's segment: map it
  ready,      ///< the receiver's segment is mapped; whether `pull` records work
  refused,    ///< it cannot be mapped
  wake,       ///< look at the rings
};

/// One message of the socket.
struct Note {
  NoteKind kind = NoteKind::wake;
  SegmentName segment;          ///< hello
  std::uint64_t processes = 0;  ///< hello: which numbering of processes (namespace) it is in
  std::uint64_t probe = 0;      ///< hello: address of a word of the sender's that equals the nonce
  bool can_pull = false;        ///< ready
};

inline constexpr std::size_t kNoteSize = 56;
using NoteBytes = std::array<std::byte, kNoteSize>;
NoteBytes encode(const Note& note);
/// None for anything that `encode` of this version does not make.
std::optional<Note> decode_note(std::span<const std::byte> bytes);

/// In front of the bytes of a `write` record.
struct WriteHeader {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  ///< in the region, of the first byte that follows
  std::uint64_t rest = 0;    ///< bytes of the whole write from there on: at least those that follow
};

/// Payload of a `pull` record: fetch these bytes and put them there. They stay until the record is
/// released.
struct PullRequest {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  ///< in the region
  struct Piece {
    std::uint64_t address = 0;  ///< in the sender
    std::uint64_t size = 0;
  };
  std::array<Piece, 2> pieces{};

  std::uint64_t size() const { return pieces[0].size + pieces[1].size; }
};

/// None when there are not enough bytes, or the sizes make no sense.
std::optional<WriteHeader> decode_write(std::span<const std::byte> payload);
std::optional<PullRequest> decode_pull(std::span<const std::byte> payload);

/// The job's host as far as shared memory is concerned: the same number in all processes that can
/// reach each other's sockets and /proc entries and have the same user. Never 0.
std::uint64_t host_identity();
/// Returns an identity of this process's PID namespace; 0 when unknown.
std::uint64_t process_namespace();

}  // namespace weft::shm
