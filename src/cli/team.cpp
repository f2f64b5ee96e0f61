// SPDX-License-Identifier: Apache-2.0
#include "cli/team.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/make_error.hpp"
#include "sim/partition/thread_exchange.hpp"

namespace weft::cli {
namespace {

/// Sends all further standard output to /dev/null.
void discard_output() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

/// Processes that would each do all of the work, and write the same files.
bool has_other_launcher() {
  const char* size = std::getenv("PMI_SIZE");
  return std::getenv("PMI_RANK") != nullptr && size != nullptr && std::string_view(size) != "1";
}

}  // namespace

Result<std::unique_ptr<Team>> Team::assemble(std::uint32_t threads, Outcome& outcome, Start start) {
  std::unique_ptr<Team> team(new Team(outcome));
  team->threads_ = std::max(threads, 1u);
  const auto process = sim::launched_process();
  if (!process && has_other_launcher()) {
    return invalid(
        "several processes have been started by MPICH's mpirun or by PMI, and cannot work "
        "together: start them with Open MPI's mpirun or with PMIx, or start one");
  }
  if (!process || process->size == 1u) return team;
  const auto calls = sim::MpiExchange::load();
  if (!calls) {
    // mpirun ends all processes when one fails, and without the library they cannot wait for each
    // other: the first one of each machine speaks, and ends the others before they do.
    if (!process->first_of_machine) std::this_thread::sleep_for(std::chrono::seconds(5));
    return calls.error();
  }
  team->calls_ = *calls;
  team->rank_ = process->rank;
  team->processes_ = process->size.value_or(1);
  outcome.is_silent = !process->first_of_machine;
  if (start == Start::now || threads > 0 || !process->size) {
    if (auto good = team->start(); !good) return std::move(good).error();
  }
  outcome.is_silent = !team->leads();
  if (!team->leads()) discard_output();
  if (threads == 0) return team;
  auto agreed = team->agree(invalid(
      "--parts {}: several processes have been started, and each has one part; leave it out",
      threads));
  // Said before this process leaves the others, of which the first one that ends ends all.
  report_error(agreed.error(), outcome);
  outcome.is_silent = true;
  return std::move(agreed).error();
}

Result<void> Team::start() {
  if (calls_ == nullptr || exchange_ != nullptr) return {};
  auto started = sim::MpiExchange::start(*calls_);
  if (!started) return std::move(started).error();
  exchange_ = std::move(started).value();
  rank_ = exchange_->rank();
  processes_ = exchange_->size();
  return {};
}

Team::~Team() {
  if (exchange_ && std::uncaught_exceptions() == exceptions_) exchange_->finish();
}

void Team::each(const std::function<void(sim::Exchange&)>& body) {
  if (exchange_) return body(*exchange_);
  if (threads_ > 1) return sim::run_in_threads(threads_, body);
  sim::AloneExchange alone;
  body(alone);
}

Result<void> Team::agree(const Result<void>& good, std::string_view read) {
  if (!exchange_) return good;
  std::string all = outcome_.command_line + '\n';
  all += read;
  return sim::agree(*exchange_, good, std::hash<std::string>()(all),
                    "the command line, and the file that it names,");
}

std::vector<sim::Batch> Team::gather(sim::Batch said) {
  std::vector<sim::Batch> outgoing(processes_), incoming(processes_);
  const std::vector<std::uint32_t> neighbours =
      leads() ? sim::others(*exchange_) : std::vector<std::uint32_t>{0};
  if (!leads()) outgoing[0] = said;
  exchange_->turn(neighbours, outgoing, incoming, 0);
  if (!leads()) return {};
  incoming[0] = std::move(said);
  return incoming;
}

void add_parts_option(CLI::App& command, std::uint32_t& threads) {
  command
      .add_option("--parts", threads,
                  "number of threads that share the network; under mpirun, processes share it")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
}

}  // namespace weft::cli
