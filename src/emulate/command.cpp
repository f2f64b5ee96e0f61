// SPDX-License-Identifier: Apache-2.0
#include "emulate/command.hpp"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "base/mpi_launcher.hpp"
#include "base/process_end.hpp"
#include "base/split.hpp"
#include "base/system_error.hpp"
#include "emulate/process_tree.hpp"
#include "emulate/rank_watch.hpp"
#include "runtime/stop_signals.hpp"

extern char** environ;

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return !path.empty() && fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

enum class Linking { dynamic, fixed, no_elf };

/// Returns whether a file names a dynamic linker, without which no module is loaded.
Linking linking_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Linking::no_elf;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (file && segment.p_type == PT_INTERP) return Linking::dynamic;
  }
  return Linking::fixed;
}

/// Checks that the dynamic linker can load modules into the program.
Result<void> check_loadable(const std::string& program) {
  struct stat status {};
  if (::stat(program.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
    return invalid(
        "{}: is setuid or setgid, and nothing can be loaded into such a program; run a copy "
        "without that bit",
        program);
  }
  if (linking_of(program) == Linking::fixed) {
    return invalid(
        "{}: is linked statically, and nothing can be loaded into it; link it dynamically",
        program);
  }
  return {};
}

/// The words with variables set by the launcher's own option, for the processes that it starts.
std::vector<std::string> with_variables(const Command& command, const Variables& variables) {
  std::vector<std::string> words{command.words.front()};
  for (const auto& [name, value] : variables) {
    if (command.mpi == "mpich") {
      words.insert(words.end(), {"-genv", name, value});
    } else if (command.mpi == "openmpi") {
      words.insert(words.end(), {"-x", name + "=" + value});
    }
  }
  words.insert(words.end(), command.words.begin() + 1, command.words.end());
  return words;
}

/// The components that the command, or else the environment, chooses for one-sided operations.
struct OneSidedChoice {
  std::string components;  ///< empty: none are chosen
  std::string option;
};
OneSidedChoice one_sided_choice(const Command& command) {
  constexpr std::string_view kVariable = "OMPI_MCA_osc";
  const auto& words = command.words;
  const std::size_t end = command.program_at > 0 ? command.program_at : words.size();
  for (std::size_t i = 1; i + 1 < end; ++i) {
    const bool sets_parameter = words[i].ends_with("-mca") || words[i].ends_with("-gmca");
    if (sets_parameter && words[i + 1] == "osc" && i + 2 < end) {
      return {words[i + 2], words[i] + " osc"};
    }
    if (words[i] == "-x" && words[i + 1].starts_with(std::string(kVariable) + "=")) {
      return {words[i + 1].substr(kVariable.size() + 1), "-x OMPI_MCA_osc"};
    }
  }
  const char* here = std::getenv(kVariable.data());
  return {here != nullptr ? here : "", "OMPI_MCA_osc"};
}

/// This process's environment, with variables in front where no launcher sets them.
std::vector<std::string> environment(const Command& command, const Variables& variables) {
  std::vector<std::string> all;
  if (command.mpi.empty()) {
    for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const std::string& variable : all) {
      replaced |= text.starts_with(variable.substr(0, variable.find('=') + 1));
    }
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

/// The number of words behind a launcher's option that are its values and may look like programs:
/// `--mca plm_rsh_agent ssh` starts no ssh.
std::size_t values_of(const std::string& option) {
  static const std::map<std::string, std::size_t> counts{{"-mca", 2},
                                                         {"--mca", 2},
                                                         {"-gmca", 2},
                                                         {"--gmca", 2},
                                                         {"-genv", 2},
                                                         {"-env", 2},
                                                         {"-launcher", 1},
                                                         {"-bootstrap", 1},
                                                         {"-launcher-exec", 1},
                                                         {"-bootstrap-exec", 1},
                                                         {"-rmk", 1}};
  const auto found = counts.find(option);
  return found == counts.end() ? 0 : found->second;
}

/// Completes a `weft run` command: makes its processes communicate by libfabric, whose operations
/// the module can hold, and finds the program.
Result<void> complete_own_launch(Command& command) {
  auto& words = command.words;
  const auto options_end = std::find(words.begin(), words.end(), "--");
  constexpr std::string_view kOption = "--fabric";
  std::string fabric;
  for (auto word = words.begin() + 2; word < options_end; ++word) {
    if (*word == kOption && word + 1 != options_end) fabric = *(word + 1);
    if (word->starts_with(std::string(kOption) + "=")) fabric = word->substr(kOption.size() + 1);
  }
  if (!fabric.empty() && !fabric.starts_with("libfabric")) {
    return invalid(
        "--fabric {}: messages of weft run cannot be held there; leave it out for libfabric:tcp, "
        "or give weft run its own --link without weft emulate",
        fabric);
  }
  const auto program_at = static_cast<std::size_t>(options_end - words.begin()) + 1;
  if (program_at < words.size()) {
    command.program = find_program(words[program_at]).string();
    command.program_at = program_at;
  }
  if (fabric.empty()) {
    words.insert(words.begin() + 2, {std::string(kOption), "libfabric:tcp"});
    if (command.program_at > 0) command.program_at += 2;
  }
  return {};
}

/// While one exists, this thread gets no SIGINT and SIGTERM: none falls between fork and exec,
/// where it would be caught by weft's handler in the child, and lost.
class StopsBlocked {
 public:
  StopsBlocked() {
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &stops, &before_);
  }
  ~StopsBlocked() { unblock(); }
  StopsBlocked(const StopsBlocked&) = delete;
  StopsBlocked& operator=(const StopsBlocked&) = delete;

  void unblock() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// In the child: the command does not outlive weft, however that ends.
[[noreturn]] void become(char* const* words, char* const* environment, int output,
                         const StopsBlocked& stops) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  stops.unblock();
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  ::execvpe(words[0], words, environment);
  ::dprintf(2, "weft: %s\n", system_error("run", words[0], errno).message.c_str());
  ::_exit(127);
}

/// Passes on that weft is to end: a signal to weft alone does not reach the command. A second one
/// kills all of its processes. None outlives a launcher that was told to end or was killed.
class StopPassedOn {
 public:
  StopPassedOn(pid_t launcher, const RankWatch* ranks)
      : launcher_(launcher), ranks_(ranks), below_(launcher) {}

  void look() {
    if (StopSignals::number() == 0) return;
    if (!told_) {
      told_ = true;
      find_all();
      ::kill(launcher_, SIGTERM);
      ::kill(launcher_, SIGCONT);  // a stopped process would not notice
      below_.signal(SIGCONT);
    }
    // Some senders, timeout(1) among them, send the first one twice.
    if (StopSignals::count() < 2 || StopSignals::since_first() < kOneRequest) return;
    find_all();
    ::kill(launcher_, SIGKILL);
    below_.signal(SIGKILL);
  }

  void launcher_ended(int status) {
    if (!told_ && !WIFSIGNALED(status)) return;
    find_all();
    below_.end(kEndWithin);
  }

 private:
  static constexpr Duration kOneRequest = Duration::milliseconds(500);
  static constexpr auto kEndWithin = std::chrono::milliseconds(500);

  void find_all() {
    below_.look();
    if (ranks_ == nullptr) return;
    for (const std::int32_t pid : ranks_->running()) below_.add(pid);
  }

  pid_t launcher_;
  const RankWatch* ranks_;
  ProcessTree below_;
  bool told_ = false;
};

/// Reads what there is, and keeps as much as may be; false at the end.
bool read_part(int output, Ended& ended) {
  std::array<char, 4096> part;
  const ssize_t n = ::read(output, part.data(), part.size());
  ended.stdout_is_cut |= n > 0 && ended.stdout_text.size() >= most_captured;
  if (n > 0 && !ended.stdout_is_cut) {
    ended.stdout_text.append(part.data(), static_cast<std::size_t>(n));
  }
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Waits until the child ends, and reads its output meanwhile. A process that the child left in the
/// background may hold the output open for ever: reading ends half a second after the child. Sets
/// wall_time and stdout_text, and returns waitpid's status.
int await_end(pid_t child, int output, Ended& ended, RankWatch* ranks) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLookEvery_ms = 50;
  constexpr int kUntilTheFirst_ms = 10;  // a rank that dies at once shall have been seen
  constexpr auto kReadOnFor = std::chrono::milliseconds(500);
  const auto start = Clock::now();
  StopPassedOn stop(child, ranks);
  const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  int status = 0;
  std::optional<Clock::time_point> ended_at;
  std::vector<pollfd> polled;
  for (;;) {
    if (!ended_at && ::waitpid(child, &status, WNOHANG) == child) {
      ended_at = Clock::now();
      stop.launcher_ended(status);
    }
    const bool reads_on = output >= 0 && StopSignals::number() == 0;
    if (ended_at && (!reads_on || Clock::now() - *ended_at > kReadOnFor)) break;
    polled.assign({{output, POLLIN, 0}, {ended_at ? -1 : end.get(), POLLIN, 0}});
    if (ranks != nullptr) ranks->add_to(polled);
    const bool waits_for_first = ranks != nullptr && !ranks->knows_any();
    if (!ended_at) stop.look();
    ::poll(polled.data(), polled.size(), waits_for_first ? kUntilTheFirst_ms : kLookEvery_ms);
    if (ranks != nullptr) ranks->take(std::span(polled).subspan(2));
    if (output >= 0 && polled.front().revents != 0 && !read_part(output, ended)) {
      output = -1;
    }
  }
  ended.wall_time = Duration(std::chrono::nanoseconds(*ended_at - start).count());
  return status;
}

}  // namespace

Result<fs::path> startable(const std::string& name) {
  fs::path place = find_program(name);
  if (is_program(place)) return place;
  return make_error(
      ErrorCode::not_found,
      "{}: is no program that can be started; give a path, or a name that is found in PATH", name);
}

Result<Command> inspect_command(const std::vector<std::string>& words) {
  if (words.empty()) return invalid("no command; write -- mpirun -n 2 ./program");
  Command command{.words = words, .mpi = {}, .program = {}};
  const auto first = startable(words.front());
  if (!first) return first.error();
  if (auto mpi = mpi_of_launcher(words.front())) {
    command.mpi = *mpi;
    for (std::size_t i = 1; i < words.size() && command.program.empty(); ++i) {
      if (words[i].starts_with('-')) {
        i += values_of(words[i]);
      } else if (const fs::path place = find_program(words[i]); is_program(place)) {
        command.program = place.string();
        command.program_at = i;
      }
    }
  } else {
    command.program = first->string();
    std::error_code error;
    if (fs::canonical(*first, error).filename() == "weft" && words.size() > 2 &&
        words[1] == "run") {
      if (auto good = complete_own_launch(command); !good) return std::move(good).error();
    }
  }
  if (!command.program.empty()) {
    if (auto loadable = check_loadable(command.program); !loadable) return loadable.error();
  }
  return command;
}

Variables ucx_variables() {
  return {{"OMPI_MCA_pml", "ucx"},
          {"OMPI_MCA_opal_common_ucx_tls", "any"},
          {"OMPI_MCA_opal_common_ucx_devices", "any"},
          // One-sided operations, which Open MPI would do by vader's shared memory. Windows of
          // MPI_Win_allocate_shared are plain memory: sm has them, and no others.
          {"OMPI_MCA_osc", "ucx,sm"},
          {"OMPI_MCA_osc_ucx_priority", "200"}};
}

Result<Variables> one_sided_variables(const Command& command) {
  if (command.mpi != "openmpi") return Variables{};
  const auto [components, option] = one_sided_choice(command);
  if (components.empty()) return Variables{{"OMPI_MCA_osc", "pt2pt"}};
  // Beside ucx, which is preferred, sm has no windows but shared ones.
  if (components == "pt2pt" || components == "ucx" || components == "ucx,sm") return Variables{};
  return invalid(
      "{} {}: one-sided operations would pass the emulated network by in shared memory; leave it "
      "out, or ask for 'pt2pt' (messages) or 'ucx,sm' (UCX)",
      option, components);
}

Result<Ended> run_command(const Command& command, const Variables& variables, bool capture_stdout,
                          const ControlBlock* block) {
  std::vector<std::string> words = with_variables(command, variables);
  std::vector<std::string> variables_of_all = environment(command, variables);
  int ends[2] = {-1, -1};
  if (capture_stdout && ::pipe2(ends, O_CLOEXEC) != 0) {
    return make_error(ErrorCode::io, "no pipe: {}", std::strerror(errno));
  }
  const std::vector<char*> arguments = argument_pointers(words);
  const std::vector<char*> own_environment = argument_pointers(variables_of_all);
  pid_t child = -1;
  {
    const StopsBlocked stops;
    child = ::fork();
    if (child == 0) become(arguments.data(), own_environment.data(), ends[1], stops);
  }
  if (ends[1] >= 0) ::close(ends[1]);
  Ended ended;
  std::optional<RankWatch> ranks;
  if (block != nullptr) ranks.emplace(*block);
  const int status = child < 0 ? 0 : await_end(child, ends[0], ended, ranks ? &*ranks : nullptr);
  if (ranks) ended.processes = ranks->ended();
  if (ends[0] >= 0) ::close(ends[0]);
  if (child < 0) {
    return make_error(ErrorCode::io, "{}: no process could be started: {}", words.front(),
                      std::strerror(errno));
  }
  ended.exit_code = code_of_end(status);
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return ended;
}

}  // namespace weft::emulate
