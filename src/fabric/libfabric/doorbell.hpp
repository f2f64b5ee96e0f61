// SPDX-License-Identifier: Apache-2.0
// Doorbells: how endpoints of the shm provider sleep, since its completion queue has nothing to
// sleep on, and how they notice that a peer is gone, since its segment outlives it. A doorbell is a
// datagram socket and a shared word that says whether its owner sleeps; both are files beside the
// provider's segments, named like them. Peers ring only when the owner sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft::ofi {

/// The base name of everything that an endpoint of provider shm keeps in /dev/shm: unique per job,
/// node and incarnation.
std::string shared_name(std::string_view job_tag, NodeId node, Incarnation incarnation);

/// Unlinks files that dead endpoints left in /dev/shm. Only files named by `shared_name`, and only
/// when nobody holds their doorbell.
void remove_leftovers();

/// The shared word, mapped.
class SleepFlag {
 public:
  static Result<SleepFlag> create(const std::string& path);
  static Result<SleepFlag> open(const std::string& path);
  SleepFlag(SleepFlag&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}
  SleepFlag& operator=(SleepFlag&& other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~SleepFlag();
  std::atomic<std::uint32_t>& word() const { return *word_; }

 private:
  explicit SleepFlag(std::atomic<std::uint32_t>* word) : word_(word) {}
  static Result<SleepFlag> map(const std::string& path, int descriptor);
  std::atomic<std::uint32_t>* word_;
};

/// One's own doorbell; unlinked when destroyed.
class Doorbell {
 public:
  /// With `sleeps` false nobody ever rings, which spares the peers a memory fence per message.
  static Result<std::unique_ptr<Doorbell>> open(const std::string& name, bool sleeps = true);
  ~Doorbell();

  /// Readable when it was rung.
  int descriptor() const { return socket_.get(); }
  /// From here on peers ring. Look for work once more after this, then sleep.
  void fall_asleep();
  /// Stops the ringing and forgets earlier rings.
  void wake_up();

 private:
  friend class PeerDoorbell;
  Doorbell(std::string name, Descriptor socket, SleepFlag flag, bool sleeps)
      : name_(std::move(name)),
        socket_(std::move(socket)),
        flag_(std::move(flag)),
        sleeps_(sleeps) {}
  std::string name_;
  Descriptor socket_;
  SleepFlag flag_;
  bool sleeps_;
  bool asleep_ = false;
};

/// A peer's doorbell.
class PeerDoorbell {
 public:
  static Result<PeerDoorbell> open(const std::string& name);
  /// To be called after something was sent to the peer.
  void ring_if_asleep(const Doorbell& mine);
  /// Returns whether the peer's process still holds its doorbell.
  bool alive() const;

 private:
  PeerDoorbell(std::string name, SleepFlag flag) : name_(std::move(name)), flag_(std::move(flag)) {}
  std::string name_;
  SleepFlag flag_;
};

}  // namespace weft::ofi
