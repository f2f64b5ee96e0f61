// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/hello.hpp"

#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/check.hpp"
#include "wire/codec.hpp"

namespace weft::shm {
namespace {

constexpr std::uint32_t kVersion = 0x31530002;

/// The fields behind version and kind. `v` is a wire::Writer or a wire::Reader.
constexpr auto note_fields = [](auto& v, auto& note) {
  v.fields(note.segment.process, note.segment.descriptor, note.segment.nonce,
           note.segment.ring_size, note.processes, note.probe);
};

// Namespaces have numbers that are unique until the machine is started anew.
std::uint64_t namespace_number(const char* path) {
  struct stat about {};
  return ::stat(path, &about) == 0 ? about.st_ino : 0;
}

}  // namespace

NoteBytes encode(const Note& note) {
  NoteBytes bytes{};
  wire::Writer out(bytes);
  out.put(kVersion);
  out.put(static_cast<std::uint32_t>(note.kind));
  note_fields(out, note);
  out.put(std::uint64_t{note.can_pull});
  return bytes;
}

std::optional<Note> decode_note(std::span<const std::byte> bytes) {
  wire::Reader in(bytes);
  const auto version = in.get<std::uint32_t>();
  const auto kind = in.get<std::uint32_t>();
  Note note;
  note_fields(in, note);
  note.can_pull = in.get<std::uint64_t>() != 0;
  if (!in.done() || version != kVersion) return std::nullopt;
  if (kind < 1 || kind > static_cast<std::uint32_t>(NoteKind::wake)) return std::nullopt;
  note.kind = static_cast<NoteKind>(kind);
  return note;
}

std::optional<WriteHeader> decode_write(std::span<const std::byte> payload) {
  WriteHeader header;
  if (payload.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, payload.data(), sizeof header);
  if (header.rest < payload.size() - sizeof header) return std::nullopt;
  return header;
}

std::optional<PullRequest> decode_pull(std::span<const std::byte> payload) {
  PullRequest request;
  if (payload.size() != sizeof request) return std::nullopt;
  std::memcpy(&request, payload.data(), sizeof request);
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 62;
  if (request.pieces[0].size >= kTooLarge || request.pieces[1].size >= kTooLarge) {
    return std::nullopt;
  }
  return request;
}

std::uint64_t process_namespace() {
  return namespace_number("/proc/self/ns/pid");
}

std::uint64_t host_identity() {
  WEFT_CHECK(sodium_init() >= 0, "libsodium found no source of randomness");
  std::string text;
  // Changes whenever the machine starts: of two machines no two have the same.
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  for (const std::uint64_t part :
       {process_namespace(), namespace_number("/proc/self/ns/net"), std::uint64_t{::geteuid()}}) {
    text += ' ' + std::to_string(part);
  }
  static_assert(sizeof(std::uint64_t) <= crypto_generichash_BYTES_MIN);
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::uint64_t identity = 0;
  std::memcpy(&identity, hash.data(), sizeof identity);
  return identity != 0 ? identity : 1;
}

}  // namespace weft::shm
