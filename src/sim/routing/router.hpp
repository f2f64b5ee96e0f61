// SPDX-License-Identifier: Apache-2.0
// Router: which output port a packet takes at each switch, and in which virtual-channel class, so
// that no cycle of waiting packets can form. One object serves all switches; a packet's own state
// is in its RouteState, a switch's own comes in as its load and its random numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "sim/topology/topology.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// The state of a packet that routing reads and changes. 16 bytes, carried by each packet.
struct RouteState {
  std::uint32_t source = 0;       ///< host
  std::uint32_t destination = 0;  ///< host
  std::uint32_t waypoint = 0;     ///< router's own: Valiant's intermediate group or switch, a hash
  std::uint8_t phase = 0;         ///< router's own: 0 at the source
  std::uint8_t channel = 0;       ///< virtual-channel class of the link that it last came over
  std::uint16_t spare = 0;
};

/// One member of records that stand at equal distances, one for each port of a switch.
template <class T>
class PortFigures {
 public:
  PortFigures() = default;
  PortFigures(const T* first, std::size_t stride_bytes)
      : first_(reinterpret_cast<const std::byte*>(first)), stride_(stride_bytes) {}
  const T& operator[](PortNumber p) const {
    return *reinterpret_cast<const T*>(first_ + p.value() * stride_);
  }
  bool empty() const { return first_ == nullptr; }

 private:
  const std::byte* first_ = nullptr;
  std::size_t stride_ = 0;
};

/// The bytes ahead of a packet at each output port of its switch.
class PortLoad {
 public:
  /// `queued`: bytes of its level that wait; links are free at `free_at` and send at `rates`
  /// packets of at most `largest` bytes.
  PortLoad(PortFigures<std::uint32_t> queued, PortFigures<PicoInstant> free_at,
           PortFigures<Bandwidth> rates, PicoInstant now, std::uint64_t largest)
      : queued_(queued), free_at_(free_at), rates_(rates), now_(now), largest_(largest) {}
  /// All links are free.
  explicit PortLoad(std::span<const std::uint32_t> queued_bytes)
      : queued_(queued_bytes.data(), sizeof(std::uint32_t)) {}

  /// Bytes of the packet's own level that wait, and the rest of the packet on the wire.
  std::uint64_t ahead(PortNumber p) const {
    std::uint64_t on_wire = 0;
    if (!free_at_.empty() && free_at_[p] > now_) {
      const auto left = static_cast<std::uint64_t>((free_at_[p] - now_).ticks());
      // Exact up to 18 MB. A link that a fault has made faster than its packet comes in is busy for
      // longer than its bytes take.
      const bool is_more = __builtin_mul_overflow(left, rates_[p].bytes_per_second(), &on_wire);
      on_wire = is_more ? largest_ : std::min(on_wire / PicosecondTick::per_second, largest_);
    }
    return queued_[p] + on_wire;
  }

 private:
  PortFigures<std::uint32_t> queued_;
  PortFigures<PicoInstant> free_at_;
  PortFigures<Bandwidth> rates_;
  PicoInstant now_{};
  std::uint64_t largest_ = 0;
};

/// The next hop of a packet.
struct Hop {
  PortNumber port{};
  std::uint8_t channel = 0;  ///< virtual-channel class on the link behind that port
};

/// A hop, or none, as one number: an optional record would go through memory at each hop.
class KnownHop {
 public:
  KnownHop() = default;
  KnownHop(Hop hop)  // NOLINT: implicit
      : bits_(known | std::uint32_t{hop.channel} << 16 | hop.port.value()) {}

  bool has_value() const { return bits_ != 0; }
  explicit operator bool() const { return has_value(); }
  /// The hop that is known.
  Hop hop() const {
    return {.port = PortNumber(static_cast<std::uint16_t>(bits_)),
            .channel = static_cast<std::uint8_t>(bits_ >> 16)};
  }
  Hop value_or(Hop other) const { return has_value() ? hop() : other; }
  /// The port in the lower 16 bits, the channel in the next 8; bit 31: it is known.
  std::uint32_t bits() const { return bits_; }

 private:
  static constexpr std::uint32_t known = std::uint32_t{1} << 31;

  std::uint32_t bits_ = 0;
};

class Router {
 public:
  virtual ~Router() = default;
  virtual std::string_view name() const = 0;
  /// Returns how many virtual-channel classes each service level needs, at least 1.
  virtual std::uint8_t channels() const = 0;
  /// A packet of `flow` (same number for packets that must keep one path, see `ecmp`) is about to
  /// leave `source`. Fills the state. The host's only port is its hop, in class 0.
  virtual void start(RouteState& state, std::uint32_t source, std::uint32_t destination,
                     std::uint64_t flow, Rng& rng) const = 0;
  /// The hop at switch `at`, which the packet entered by `in`. May change the state (not its ends);
  /// `rng` is the switch's. No allocation, no locks: this is called for every packet and hop.
  virtual Hop next(Vertex at, PortNumber in, RouteState& state, const PortLoad& load,
                   Rng& rng) const = 0;
  /// The hop that `next` will return here, where that depends on the state alone and leaves it as
  /// it is; none: `next` may look at loads, draw, or change the state. A caller that knows the hop
  /// need not call `next`.
  virtual KnownHop foresee(Vertex /*at*/, const RouteState& /*state*/) const { return {}; }
  /// Every hop that `next` might choose here, with the state after it; for the check of deadlocks
  /// and for tests. Appends.
  struct Choice {
    Hop hop;
    RouteState after;
  };
  virtual void choices(Vertex at, PortNumber in, const RouteState& state,
                       std::vector<Choice>& out) const = 0;
  /// Every state that `start` might produce for these ends: one, where it makes no choice that
  /// `choices` depends on. Appends.
  virtual void starts(std::uint32_t source, std::uint32_t destination,
                      std::vector<RouteState>& out) const {
    out.push_back({.source = source, .destination = destination});
  }
};

}  // namespace weft::sim
