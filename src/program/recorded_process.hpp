// SPDX-License-Identifier: Apache-2.0
// RecordedProcess: a process whose communicators note the program's sends, receives and waits. Time
// outside of their calls is the program's own computation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/record/recorder.hpp"
#include "weft/program.hpp"

namespace weft {

class RecordedCommunicator;

/// One thread, as the process.
class RecordedProcess final : public Process {
 public:
  /// Measures how far the clocks of ranks differ, by messages, and begins. Error: the recording
  /// cannot be made. The process outlives it.
  static Result<std::unique_ptr<RecordedProcess>> begin(Process& process,
                                                        const std::string& directory);
  ~RecordedProcess() override;
  RecordedProcess(const RecordedProcess&) = delete;
  RecordedProcess& operator=(const RecordedProcess&) = delete;

  /// The program has returned: measures clocks again, and writes all of the recording. Not called:
  /// the recording has no end, as that of a killed process.
  void end();

  Communicator& world() override;
  Incarnation incarnation() const override { return process_.incarnation(); }
  Duration elapsed() const override { return process_.elapsed(); }
  void compute(Duration time) override { process_.compute(time); }
  void phase(std::string_view name) override { process_.phase(name); }
  void mark_progress() override;

 private:
  friend class RecordedCommunicator;

  /// An operation that has been started, until it was waited for.
  struct Open {
    std::uint64_t request = 0;
    std::uint32_t peer = 0;
    std::uint32_t communicator = 0;
    Tag tag{};
    bool sends = false;
  };

  explicit RecordedProcess(Process& process);
  std::uint64_t now_ns() const;
  void add(std::uint64_t now_ns, trace::Call call, trace::Record::Kind kind);
  void measure_clocks();
  void measure_clock_of(std::uint32_t rank);
  /// Numbers a communicator whose members are these ranks of the world.
  std::uint32_t define(Generation generation, const std::vector<std::uint32_t>& members);
  void note_start(std::uint64_t entered_ns, Operation operation, Open open, std::size_t bytes);
  void note_wait(std::uint64_t entered_ns, Operation operation, const Result<std::size_t>& done);
  void note_look(std::uint64_t entered_ns);
  void end_looks();

  Process& process_;
  trace::Recorder recorder_;
  std::unique_ptr<RecordedCommunicator> world_;
  std::uint32_t communicators_ = 0;
  std::uint64_t requests_ = 0;
  // By the operation's number, which several that are done at once may share.
  std::unordered_multimap<std::uint64_t, Open> open_;
  // Looks whether operations are done, one soon behind the other, are one call.
  std::uint64_t looks_from_ns_ = 0;
  std::uint64_t looks_until_ns_ = 0;
};

}  // namespace weft
