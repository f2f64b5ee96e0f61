// SPDX-License-Identifier: Apache-2.0
// Faults as data: their kind, place and time. docs/testbed.md describes the language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::faults {

/// One fault. Those with a length end by themselves after `lasts`; zero: they stay.
struct Fault {
  enum class Kind : std::uint8_t {
    link_down,  ///< the host's cable is pulled
    partition,  ///< groups of hosts do not reach each other
    loss,       ///< packets of the host are dropped at random
    slow,       ///< the host's link has another rate
    kill,       ///< SIGKILL for the host's processes; no length
    stop,       ///< SIGSTOP; its end is SIGCONT
    resume,     ///< SIGCONT; no length
    restart,    ///< the host's process is ended if it runs, and started again; no length
    clock,      ///< the host's clock is set forward or back; no length
  };
  Kind kind = Kind::link_down;
  Duration at{};  ///< since the start
  Duration lasts{};
  std::uint32_t host = 0;                            ///< all but partition
  std::uint32_t parts_per_million = 0;               ///< loss
  Bandwidth rate{};                                  ///< slow
  Duration jump{};                                   ///< clock
  std::vector<std::vector<std::uint32_t>> groups{};  ///< partition
  /// link_down, loss, slow: of these cables of a simulated network ("switch0--switch4") in place of
  /// the host's; empty: the host's.
  std::string cable{};
};

/// The places that faults may name besides hosts.
enum class FaultPlaces : bool { hosts, hosts_and_cables };

/// Reads one fault, for hosts 0 … hosts−1:
///   at=2s link-down host3 for=1s
///   at=2s partition host0-3|host4,host5 for=1s
///   at=2s loss host3 1% for=1s
///   at=2s slow host3 10Mbit for=1s
///   at=2s kill host3      (also stop … for=1s, cont, restart)
///   at=2s clock host3 +5ms   (or -5ms; in simulations only)
///   at=2s link-down switch0--switch4 for=1s   (also loss, slow; where places say so)
/// Errors name the word that is not understood and show a fault that is. Cables are not looked up.
Result<Fault> parse_fault(std::string_view text, std::uint32_t hosts,
                          FaultPlaces places = FaultPlaces::hosts);

/// "link-down host3": without the times.
std::string to_text(const Fault& fault);

/// The target of faults. The defaults refuse: a runner without a testbed has no cables to pull.
class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  virtual Result<void> set_link_up(std::uint32_t, bool) { return impossible_here("link-down"); }
  virtual Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>&) {
    return impossible_here("partition");
  }
  /// In parts per million.
  virtual Result<void> set_loss(std::uint32_t, std::uint32_t) { return impossible_here("loss"); }
  /// Zero gives the usual rate back.
  virtual Result<void> set_rate(std::uint32_t, Bandwidth) { return impossible_here("slow"); }
  virtual Result<void> set_cable_up(std::string_view, bool) { return only_simulated(a_cable); }
  virtual Result<void> set_cable_loss(std::string_view, std::uint32_t) {
    return only_simulated(a_cable);
  }
  virtual Result<void> set_cable_rate(std::string_view, Bandwidth) {
    return only_simulated(a_cable);
  }
  virtual Result<void> kill(std::uint32_t) { return impossible_here("kill"); }
  virtual Result<void> stop(std::uint32_t) { return impossible_here("stop"); }
  virtual Result<void> resume(std::uint32_t) { return impossible_here("cont"); }
  virtual Result<void> restart(std::uint32_t) { return impossible_here("restart"); }
  virtual Result<void> jump_clock(std::uint32_t, Duration) { return only_simulated("clock"); }

 private:
  static constexpr std::string_view a_cable = "a cable by name";
  static Error impossible_here(std::string_view what);
  static Error only_simulated(std::string_view what);
};

/// A fault that happened.
struct FaultPlayed {
  Instant at{};      ///< on the clock of the reports that have it
  std::string what;  ///< "link-down host3", "end of link-down host3"
};

/// Carries faults out, and ends them, when their time has come. The caller owns the clock and the
/// loop. If faults of one kind overlap at one host, the later action wins.
class FaultPlayer {
 public:
  FaultPlayer(std::vector<Fault> faults, Instant start);

  /// Returns when `play` has something to do; never: when all is done.
  Instant next_deadline() const;

  struct Played {
    Duration at{};     ///< since the start, when it was due
    std::string what;  ///< "link-down host3", "end of link-down host3"
    Result<void> result;
  };
  /// Carries out due actions and appends them to `log`. A failure does not stop the rest.
  void play(Instant now, FaultTarget& target, std::vector<Played>& log);

  /// Returns a warning that names the faults that have not begun when all ends; empty: none.
  std::string missed(Instant end) const;

  /// Returns whether a restart of this host is still to come.
  bool will_restart(std::uint32_t host) const;

 private:
  struct Action {
    Duration at{};
    std::size_t fault = 0;
    bool end = false;
  };

  std::vector<Fault> faults_;
  std::vector<Action> actions_;  // in order of time
  std::size_t next_ = 0;
  Instant start_;
};

}  // namespace weft::faults
