// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "emulate/calibration.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;

class calibration_file : public ::testing::Test {
 protected:
  Result<Calibration> load(const std::string& latency, const std::string& bandwidth,
                           const std::string& overhead) const {
    std::ofstream(path_) << R"({"layers": {"ucx-mpich": {"latency_ns": )" << latency
                         << R"(, "bandwidth_bytes_per_s": )" << bandwidth << R"(, "overhead_ns": )"
                         << overhead << "}}}";
    return load_calibration(path_);
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  // Tests run beside each other: each process has a file of its own.
  const std::string path_ = ::testing::TempDir() + std::to_string(::getpid()) + "-calibration.json";
};

TEST_F(calibration_file, has_the_figures_of_a_machine) {
  const auto calibration = load("250", "3e9", "-20");
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_DOUBLE_EQ(calibration->at("ucx-mpich").latency_ns, 250);
  EXPECT_DOUBLE_EQ(calibration->at("ucx-mpich").overhead_ns, -20);
}

TEST_F(calibration_file, with_figures_that_no_machine_has_is_refused) {
  for (const auto& [latency, bandwidth, overhead] : {std::array{"-1", "3e9", "0"},
                                                     {"1.1e10", "3e9", "0"},
                                                     {"250", "0", "0"},
                                                     {"250", "-3e9", "0"},
                                                     {"250", "2e13", "0"},
                                                     {"250", "3e9", "1.1e6"},
                                                     {"250", "3e9", "-1e300"},
                                                     {"null", "3e9", "0"}}) {
    const auto calibration = load(latency, bandwidth, overhead);
    ASSERT_FALSE(calibration) << latency << ' ' << bandwidth << ' ' << overhead;
    EXPECT_EQ(calibration.error().code, ErrorCode::corrupt);
    EXPECT_NE(calibration.error().message.find(path_), std::string::npos);
    EXPECT_NE(calibration.error().message.find("anew by weft calibrate"), std::string::npos);
  }
}

TEST_F(calibration_file, that_is_a_directory_is_refused) {
  const auto calibration = load_calibration(::testing::TempDir());
  ASSERT_FALSE(calibration);
  EXPECT_NE(calibration.error().message.find("is a directory"), std::string::npos);
}

TEST_F(calibration_file, of_another_kind_is_a_wrong_input) {
  for (const char* text : {"", "\x01\x02random", "[1, 2]", "{\"layers\": 5}"}) {
    std::ofstream(path_) << text;
    const auto calibration = load_calibration(path_);
    ASSERT_FALSE(calibration) << text;
    EXPECT_EQ(calibration.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_NE(calibration.error().message.find("is no calibration"), std::string::npos);
  }
}

TEST_F(calibration_file, that_is_there_and_cannot_be_opened_is_an_error_of_the_system) {
  std::filesystem::remove(path_);
  EXPECT_TRUE(load_calibration(path_));  // none
  std::filesystem::create_symlink(path_, path_);
  const auto calibration = load_calibration(path_);
  ASSERT_FALSE(calibration);
  EXPECT_EQ(calibration.error().code, ErrorCode::io);
  EXPECT_NE(calibration.error().message.find(path_), std::string::npos);
}

TEST_F(calibration_file, is_replaced_only_by_a_whole_one) {
  ASSERT_TRUE(load("250", "3e9", "-20"));
  {
    const auto abandoned = CalibrationFile::create(path_);
    ASSERT_TRUE(abandoned) << abandoned.error().message;
  }
  EXPECT_DOUBLE_EQ(load_calibration(path_)->at("ucx-mpich").latency_ns, 250);
  auto file = CalibrationFile::create(path_);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->store({{"ucx-mpich", {300, 4e9, 10}}}));
  EXPECT_DOUBLE_EQ(load_calibration(path_)->at("ucx-mpich").latency_ns, 300);
}

TEST_F(calibration_file, that_a_killed_process_was_writing_leaves_nothing) {
  const fs::path directory = path_ + ".d";
  fs::create_directories(directory);
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto file = CalibrationFile::create(directory / "calibration.json");
    ::_exit(file.ok() ? 0 : 1);  // no destructor runs, as when it is killed
  }
  int status = 1;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(directory));
  fs::remove_all(directory);
}

TEST_F(calibration_file, that_cannot_be_written_is_refused_before_anything_is_measured) {
  std::ofstream(path_) << "a file";
  const auto file = CalibrationFile::create(path_ + "/calibration.json");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("--out or WEFT_CALIBRATION"), std::string::npos);
}

/// Sets or (nullptr) removes a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* text = std::getenv(name)) before_ = text;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(calibration, that_a_signal_stops_is_none) {
  Result<Calibrated> calibrated = Calibrated{};
  {
    const StopSignals signals;
    ::raise(SIGINT);
    calibrated = calibrate([](const std::string&, int, int) {});
  }
  const StopSignals forgets_it;
  ASSERT_FALSE(calibrated);
  EXPECT_EQ(calibrated.error().code, ErrorCode::cancelled);
}

TEST(calibration_path, without_home_is_the_one_that_the_system_knows) {
  const Variable file("WEFT_CALIBRATION", nullptr), cache("XDG_CACHE_HOME", nullptr);
  const passwd* user = ::getpwuid(::getuid());
  if (user == nullptr) GTEST_SKIP() << "the system does not know this user";
  for (const char* home : {static_cast<const char*>(nullptr), ""}) {
    const Variable unset("HOME", home);
    const auto path = calibration_path();
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_TRUE(path->starts_with((fs::path(user->pw_dir) / ".cache/weft/calibration-").string()))
        << *path;
  }
}

TEST(calibration_path, of_a_user_without_home_is_refused) {
  if (::getuid() != 0) GTEST_SKIP() << "only root becomes a user that nobody knows";
  const pid_t child = ::fork();
  if (child == 0) {
    for (const char* name : {"WEFT_CALIBRATION", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(name);
    if (::setuid(4'000'000'000U) != 0) ::_exit(2);
    const auto path = calibration_path();
    const bool refused = !path && path.error().message.find("XDG_CACHE_HOME") != std::string::npos;
    ::_exit(refused && load_calibration() && load_calibration()->empty() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weft::emulate
