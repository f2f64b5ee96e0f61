// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/checkpoint.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "base/system_error.hpp"
#include "base/whole_file.hpp"
#include "spmd/agreement.hpp"
#include "spmd/checkpoint_image.hpp"
#include "spmd/operations.hpp"
#include "spmd/told_steps.hpp"

namespace weft::spmd {
namespace {

using Image = std::vector<std::byte>;

constexpr std::size_t checksum_bytes = 8;

std::string file_name(const std::string& directory, std::uint64_t step, Rank rank) {
  return fmt::format("{}/checkpoint-{}-of-{}.weft", directory, step, rank.value());
}

std::string history_name(const std::string& directory, std::uint64_t step, Rank rank) {
  return fmt::format("{}/history-{}-of-{}.weft", directory, step, rank.value());
}

/// The steps of which this rank has files that begin so, the highest first.
std::vector<std::uint64_t> steps_in(const std::string& directory, Rank rank,
                                    std::string_view prefix = "checkpoint-") {
  const std::string suffix = fmt::format("-of-{}.weft", rank.value());
  std::vector<std::uint64_t> steps;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    if (name.size() <= prefix.size() + suffix.size()) continue;
    const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (const auto step = parse_number<std::uint64_t>(digits)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

Result<Image> read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return system_error("read", path, errno);
  Image image(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(image.data()), static_cast<std::streamsize>(image.size()));
  if (!in) return system_error("read", path, errno);
  return image;
}

/// The highest of several ranks' steps that all have.
struct Steps {
  std::uint64_t count = 0;
  std::array<std::uint64_t, 32> step{};
};

Steps common(const Steps& a, const Steps& b) {
  Steps both;
  for (std::size_t i = 0; i < a.count; ++i) {
    const auto end = b.step.begin() + static_cast<std::ptrdiff_t>(b.count);
    if (std::find(b.step.begin(), end, a.step[i]) != end) both.step[both.count++] = a.step[i];
  }
  return both;
}

/// A checkpoint's file that is being read.
class CheckpointFile {
 public:
  static Result<CheckpointFile> open(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return system_error("read", path, errno);
    return CheckpointFile(path, file);
  }
  Result<void> read(std::span<std::byte> into) {
    if (std::fread(into.data(), 1, into.size(), file_.get()) == into.size()) return {};
    return damaged();
  }
  /// Checks that the file is complete and has the containers' shape, and leaves the position behind
  /// its head.
  Result<void> check(const ContainerList& containers, Rank rank) {
    Image head(checkpoint_head(containers, rank, 0).size());
    head.resize(std::fread(head.data(), 1, head.size(), file_.get()));
    if (auto right = check_head(path_, head, containers, rank); !right.ok()) return right;
    std::uint64_t left = checkpoint_size(containers, rank) - head.size() - checksum_bytes;
    std::uint32_t checksum = crc32c(head);
    Image piece;
    while (left > 0) {
      piece.resize(std::min<std::uint64_t>(left, 1 << 20));
      if (auto done = read(piece); !done.ok()) return done;
      checksum = crc32c(piece, checksum);
      left -= piece.size();
    }
    piece.resize(checksum_bytes);
    if (auto done = read(piece); !done.ok()) return done;
    if (std::fgetc(file_.get()) != EOF) return damaged();
    for (std::size_t i = 0; i < checksum_bytes; ++i) {
      const auto expected = static_cast<std::byte>(std::uint64_t{checksum} >> 8 * i & 0xff);
      if (piece[i] != expected) return damaged();
    }
    if (std::fseek(file_.get(), static_cast<long>(head.size()), SEEK_SET) != 0) return damaged();
    return {};
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  CheckpointFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  Error damaged() const {
    return corrupt("{}: damaged: its length or checksum is wrong; restore an older one", path_);
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// The same of one in memory.
Result<void> check_image(const Image& image, const ContainerList& containers, Rank rank) {
  const std::string name = fmt::format("the partner's checkpoint of rank {}", rank.value());
  if (auto right = check_head(name, image, containers, rank); !right.ok()) return right;
  const std::size_t length = image.size() - checksum_bytes;
  const std::uint64_t checksum = crc32c({image.data(), length});
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < checksum_bytes; ++i) {
    stored |= std::to_integer<std::uint64_t>(image[length + i]) << 8 * i;
  }
  if (image.size() == checkpoint_size(containers, rank) && stored == checksum) return {};
  return Error{ErrorCode::corrupt, name + ": damaged: its length or checksum is wrong"};
}

}  // namespace

struct Checkpoint::State {
  Group group;
  ContainerList containers{};
  Image own{};            // in memory: this rank's
  Image before{};         // and that of the rank before it
  Result<void> stored{};  // the outcome of writing the last history
  bool goes_on = false;   // later lives of this process ask for checkpoints

  MessageHistory* history() const { return group.communicator().history(); }
  /// This rank's place among the messages, as of here.
  Result<void> store_history(const std::string& path) const;
  /// The newest step that an earlier life of this process stored in this run of the job.
  std::optional<std::uint64_t> newest_of_this_run(const std::string& directory) const;
  /// The steps of which this rank has files, as it tells the others.
  std::vector<std::uint64_t> steps_to_tell(const std::string& directory) const;
  Result<void> resume_from(const std::string& directory, std::uint64_t step);
  Result<void> read_back(const std::string& directory, std::uint64_t step,
                         const std::function<Result<void>(const Result<void>&)>& together);

  Rank neighbour(std::uint32_t distance) const {
    return Rank((group.rank().value() + distance) % group.size());
  }
  Rank next() const { return neighbour(1); }
  Rank previous() const { return neighbour(group.size() - 1); }
};

Checkpoint::Checkpoint(const Group& group) : state_(new State{.group = group}) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

void Checkpoint::add(ContainerBase& container) {
  WEFT_CHECK(container.group() == state_->group, "a checkpoint of another group's container");
  state_->containers.push_back(&container);
}

Result<void> Checkpoint::save(const std::string& directory, std::uint64_t step) {
  const Rank rank = state_->group.rank();
  const auto write_file = [&]() -> Result<void> {
    auto file = WholeFile::create(file_name(directory, step, rank));
    if (!file.ok()) return file.error();
    auto written =
        write_checkpoint(state_->containers, rank, step, [&](std::span<const std::byte> bytes) {
          return file->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        });
    return written.ok() ? file->commit() : std::move(written);
  };
  // The one before can be resumed from by all, or it is no reason to forget anything.
  const Result<void> own = state_->stored.ok() ? write_file() : state_->stored;
  if (auto all = agree(state_->group, own); !all.ok()) return all;
  const std::vector<std::uint64_t> steps = steps_in(directory, rank);
  std::size_t older = 0;
  for (const std::uint64_t each : steps) {
    if (each >= step || older++ == 0) continue;
    std::error_code ignored;
    std::filesystem::remove(history_name(directory, each, rank), ignored);
    std::filesystem::remove(file_name(directory, each, rank), ignored);
  }
  if (MessageHistory* const history = state_->history(); history != nullptr && state_->goes_on) {
    state_->stored = state_->store_history(history_name(directory, step, rank));
    if (state_->stored.ok()) history->commit();
  }
  return {};
}

Result<void> Checkpoint::State::store_history(const std::string& path) const {
  const auto stored = history()->store();
  if (!stored) return stored.error();
  auto file = WholeFile::create(path);
  if (!file.ok()) return file.error();
  auto written = file->write({reinterpret_cast<const char*>(stored->data()), stored->size()});
  return written.ok() ? file->commit() : std::move(written);
}

std::optional<std::uint64_t> Checkpoint::State::newest_of_this_run(
    const std::string& directory) const {
  if (history() == nullptr || !history()->is_later_life()) return std::nullopt;
  const Rank rank = group.rank();
  for (const std::uint64_t step : steps_in(directory, rank, "history-")) {
    const auto stored = read_whole(history_name(directory, step, rank));
    // Others were left by another run, which may have come further.
    if (stored.ok() && history()->knows(*stored)) return step;
  }
  return std::nullopt;
}

/// A life that was killed between its file and its history, or that never goes on from one, begins
/// anew with more files than the first life found. It still tells the steps that the first one
/// told.
std::vector<std::uint64_t> Checkpoint::State::steps_to_tell(const std::string& directory) const {
  std::vector<std::uint64_t> steps = steps_in(directory, group.rank());
  // Without other ranks, nobody was told.
  if (history() == nullptr || group.size() == 1) return steps;
  ToldSteps told(fmt::format("{}/newest-of-{}.weft", directory, group.rank().value()),
                 history()->run());
  if (auto before = told.at(history()->place())) return *std::move(before);
  // If this cannot be written, no checkpoint can.
  (void)told.add(history()->place(), steps);
  return steps;
}

/// Alone: the others need not know.
Result<void> Checkpoint::State::resume_from(const std::string& directory, std::uint64_t step) {
  const std::string path = history_name(directory, step, group.rank());
  const auto stored = read_whole(path);
  if (!stored.ok()) return stored.error();
  if (auto resumed = history()->resume(*stored); !resumed.ok()) {
    return Error{resumed.error().code, fmt::format("{}: {}", path, resumed.error().message)};
  }
  return read_back(directory, step, [](const Result<void>& own) { return own; });
}

Result<std::optional<std::uint64_t>> Checkpoint::resume(const std::string& directory) {
  state_->goes_on = true;
  const auto step = state_->newest_of_this_run(directory);
  if (!step) return step;
  if (auto done = state_->resume_from(directory, *step); !done.ok()) return done.error();
  return step;
}

Result<std::optional<std::uint64_t>> Checkpoint::newest(const std::string& directory) const {
  // When something was sent before, a later life can only repeat that, and all behind it.
  const MessageHistory* const history = state_->history();
  if (history != nullptr && !history->has_begun()) {
    state_->goes_on = true;
    if (const auto step = state_->newest_of_this_run(directory)) return std::optional(*step);
  }
  Steps own;
  for (const std::uint64_t step : state_->steps_to_tell(directory)) {
    if (own.count < own.step.size()) own.step[own.count++] = step;
  }
  auto all = reduce_value(state_->group, own, Reduction<Steps>::of(Steps(), common, Grouping::any));
  if (!all.ok()) return all.error();
  if (all->count == 0) return std::optional<std::uint64_t>();
  return std::optional(all->step[0]);
}

Result<void> Checkpoint::restore(const std::string& directory, std::uint64_t step) {
  const MessageHistory* const history = state_->history();
  if (history != nullptr && !history->has_begun() && state_->goes_on &&
      state_->newest_of_this_run(directory) == step) {
    return state_->resume_from(directory, step);
  }
  return state_->read_back(directory, step,
                           [&](const Result<void>& own) { return agree(state_->group, own); });
}

/// Nothing changes before all ranks that `together` asks have found their files whole.
Result<void> Checkpoint::State::read_back(
    const std::string& directory, std::uint64_t step,
    const std::function<Result<void>(const Result<void>&)>& together) {
  const Rank rank = group.rank();
  auto file = CheckpointFile::open(file_name(directory, step, rank));
  const Result<void> checked =
      file.ok() ? file->check(containers, rank) : Result<void>(file.error());
  if (auto all = together(checked); !all.ok()) return all;
  const auto read = [&](std::span<std::byte> into) { return file->read(into); };
  return together(read_values(containers, read));
}

Result<void> Checkpoint::save_to_partner(std::uint64_t step) {
  const Group& group = state_->group;
  Image own;
  own.reserve(checkpoint_size(state_->containers, group.rank()));
  auto written = write_checkpoint(state_->containers, group.rank(), step,
                                  [&](std::span<const std::byte> bytes) -> Result<void> {
                                    own.insert(own.end(), bytes.begin(), bytes.end());
                                    return {};
                                  });
  if (!written.ok()) return written;
  Image before(checkpoint_size(state_->containers, state_->previous()));
  Operations operations(group.communicator());
  operations.receive(state_->previous(), transition_tag, before);
  operations.send(state_->next(), transition_tag, own);
  if (auto all = agree(group, operations.finish()); !all.ok()) return all;
  state_->own = std::move(own);
  state_->before = std::move(before);
  return {};
}

Result<std::uint64_t> Checkpoint::restore_from_partner(std::span<const Rank> lost) {
  const Group& group = state_->group;
  const auto is_lost = [&](Rank rank) {
    return std::find(lost.begin(), lost.end(), rank) != lost.end();
  };
  const bool am_lost = is_lost(group.rank());
  Result<void> able;
  if (am_lost && (is_lost(state_->next()) || group.size() == 1)) {
    able = make_error(ErrorCode::unavailable,
                      "ranks {} and {} are both lost, and with them what the one kept for the "
                      "other: restore from files",
                      group.rank().value(), state_->next().value());
  } else if (!am_lost && state_->own.empty()) {
    able = Error{ErrorCode::not_found, "no checkpoint was saved to a partner"};
  }
  if (auto all = agree(group, able); !all.ok()) return all.error();

  Operations operations(group.communicator());
  if (am_lost) {
    state_->own.assign(checkpoint_size(state_->containers, group.rank()), std::byte{0});
    state_->before.assign(checkpoint_size(state_->containers, state_->previous()), std::byte{0});
    operations.receive(state_->next(), transition_tag, state_->own);
    operations.receive(state_->previous(), transition_tag, state_->before);
  }
  if (is_lost(state_->previous()) && !am_lost) {
    operations.send(state_->previous(), transition_tag, state_->before);
  }
  if (is_lost(state_->next()) && !am_lost) {
    operations.send(state_->next(), transition_tag, state_->own);
  }
  Result<void> received = operations.finish();
  if (received.ok()) received = check_image(state_->own, state_->containers, group.rank());
  if (auto all = agree(group, received); !all.ok()) return all.error();
  std::span<const std::byte> left(state_->own);
  left = left.subspan(checkpoint_head(state_->containers, group.rank(), 0).size());
  const auto read = [&](std::span<std::byte> into) -> Result<void> {
    std::memcpy(into.data(), left.data(), into.size());
    left = left.subspan(into.size());
    return {};
  };
  if (auto done = read_values(state_->containers, read); !done.ok()) return done.error();
  return step_of(state_->own);
}

}  // namespace weft::spmd
