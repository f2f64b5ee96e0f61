// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "spmd/threads_for_test.hpp"

namespace weft::spmd {
namespace {

class Directory {
 public:
  Directory() {
    std::string pattern = testing::TempDir() + "weft-checkpoint-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(path_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::string path_;
};

/// Two containers, one with a halo, and their checkpoint.
struct Model {
  explicit Model(Communicator& world, std::int64_t side = 9)
      : group(world), plane(group, Space(side, 6)), line(group, Space(17)), checkpoint(group) {
    EXPECT_TRUE(plane.initialise(halo(bisection(plane.space(), group.size())), 0).ok());
    EXPECT_TRUE(line.initialise(block(line.space(), group.size(), {.cycles = 2}), 0).ok());
    checkpoint.add(plane);
    checkpoint.add(line);
  }
  void write(std::int64_t salt) {
    for (std::size_t k = 0; k < plane.slices().size(); ++k) {
      plane.view(k).for_each(
          [&](Index i, double& value) { value = static_cast<double>(salt * 100 + i.x() + i.y()); });
    }
    for (std::size_t k = 0; k < line.slices().size(); ++k) {
      line.view(k).for_each(
          [&](Index i, std::int32_t& value) { value = static_cast<std::int32_t>(salt + i.x()); });
    }
  }
  void expect(std::int64_t salt) const {
    for (std::size_t k = 0; k < plane.slices().size(); ++k) {
      plane.view(k).for_each([&](Index i, double& value) {
        ASSERT_EQ(value, static_cast<double>(salt * 100 + i.x() + i.y()));
      });
    }
    for (std::size_t k = 0; k < line.slices().size(); ++k) {
      line.view(k).for_each([&](Index i, std::int32_t& value) { ASSERT_EQ(value, salt + i.x()); });
    }
  }
  Group group;
  Container<double> plane;
  Container<std::int32_t> line;
  Checkpoint checkpoint;
};

class checkpoints : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(ranks, checkpoints, testing::ValuesIn(tested_ranks));

TEST_P(checkpoints, in_files_give_back_what_was_saved) {
  const Directory directory;
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    EXPECT_FALSE(model.checkpoint.newest(directory.path())->has_value());
    for (const std::uint64_t step : {10, 20, 30}) {
      model.write(static_cast<std::int64_t>(step));
      ASSERT_TRUE(model.checkpoint.save(directory.path(), step).ok());
    }
  });
  EXPECT_EQ(directory.files(), 2 * GetParam());  // the last, and the one before
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);  // another life
    EXPECT_EQ(model.checkpoint.newest(directory.path()).value(), 30u);
    ASSERT_TRUE(model.checkpoint.restore(directory.path(), 30).ok());
    model.expect(30);
    ASSERT_TRUE(model.checkpoint.restore(directory.path(), 20).ok());
    model.expect(20);
  });
}

TEST_P(checkpoints, newest_is_the_one_that_all_ranks_have) {
  const Directory directory;
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    ASSERT_TRUE(model.checkpoint.save(directory.path(), 1).ok());
    ASSERT_TRUE(model.checkpoint.save(directory.path(), 2).ok());
  });
  std::filesystem::remove(directory.path() + "/checkpoint-2-of-0.weft");
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    EXPECT_EQ(model.checkpoint.newest(directory.path()).value(), 1u);
  });
}

TEST_P(checkpoints, damaged_on_one_rank_are_refused_by_all_and_change_nothing) {
  const Directory directory;
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    model.write(1);
    ASSERT_TRUE(model.checkpoint.save(directory.path(), 1).ok());
  });
  const std::string path =
      directory.path() + "/checkpoint-1-of-" + std::to_string(GetParam() - 1) + ".weft";
  const auto length = static_cast<std::streamoff>(std::filesystem::file_size(path));
  const auto expect_refused = [&](const std::string& what) {
    run_threads(GetParam(), [&](Communicator& world) {
      Model model(world);
      model.write(5);
      const auto done = model.checkpoint.restore(directory.path(), 1);
      ASSERT_FALSE(done.ok());
      EXPECT_THAT(done.error().message, testing::HasSubstr(path + what));
      model.expect(5);
    });
  };
  const std::string damaged = ": damaged: its length or checksum is wrong; restore an older one";
  const auto flip = [&](std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  };
  for (const std::streamoff at : {std::streamoff{9}, length - 20, length - 1}) {
    flip(at);
    expect_refused(damaged);
    flip(at);
  }
  flip(0);
  expect_refused(": not a checkpoint, or a damaged one");
  flip(0);
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(length - 3));
  expect_refused(damaged);
  std::filesystem::resize_file(path, 5);
  expect_refused(": not a checkpoint, or a damaged one");
  std::filesystem::remove(path);
  expect_refused("': No such file or directory");
}

TEST_P(checkpoints, of_another_shape_are_refused) {
  const Directory directory;
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world, 9);
    ASSERT_TRUE(model.checkpoint.save(directory.path(), 1).ok());
  });
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world, 10);
    const auto done = model.checkpoint.restore(directory.path(), 1);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().message, directory.path() +
                                        "/checkpoint-1-of-0.weft: of other containers, "
                                        "partitionings or ranks: restore with those that it was "
                                        "saved with");
  });
}

TEST_P(checkpoints, cannot_be_written_where_there_is_no_directory) {
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    const auto done = model.checkpoint.save("/nonexistent/weft", 1);
    ASSERT_FALSE(done.ok());
    EXPECT_THAT(done.error().message, testing::HasSubstr("/nonexistent/weft"));
  });
}

TEST_P(checkpoints, with_partners_bring_back_any_rank_that_was_lost) {
  run_threads(GetParam(), [&](Communicator& world) {
    if (world.size() == 1) return;
    for (std::uint32_t lost = 0; lost < world.size(); ++lost) {
      Model model(world);
      model.write(3);
      ASSERT_TRUE(model.checkpoint.save_to_partner(33).ok());
      model.write(4);
      // A restarted rank: all that it had is gone.
      std::optional<Model> restarted;
      Model* mine = &model;
      if (world.rank() == Rank(lost)) mine = &restarted.emplace(world);
      const Rank ranks[] = {Rank(lost)};
      for (int time = 0; time < 2; ++time) {
        const auto step = mine->checkpoint.restore_from_partner(ranks);
        ASSERT_TRUE(step.ok()) << step.error().message;
        EXPECT_EQ(*step, 33u);
        mine->expect(3);
      }
    }
  });
}

TEST_P(checkpoints, with_partners_are_refused_when_neighbours_are_lost) {
  run_threads(GetParam(), [&](Communicator& world) {
    Model model(world);
    ASSERT_FALSE(model.checkpoint.restore_from_partner({}).ok());  // nothing saved
    ASSERT_TRUE(model.checkpoint.save_to_partner(1).ok());
    EXPECT_TRUE(model.checkpoint.restore_from_partner({}).ok());
    const Rank lost[] = {Rank(0), Rank(1 % world.size())};
    const auto done = model.checkpoint.restore_from_partner(lost);
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message.find("are both lost"), std::string::npos);
  });
}

}  // namespace
}  // namespace weft::spmd
