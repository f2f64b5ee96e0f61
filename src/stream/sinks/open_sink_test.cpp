// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/rng.hpp"
#include "base/system_error.hpp"
#include "stream/sinks/built_timeslice.hpp"
#include "stream/sinks/sinks.hpp"
#include "weft/sink.hpp"
#include "wire/archive/golden.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/tools.hpp"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::TestDirectory;

std::string open_error(std::string_view uri, SinkPlace place = {}) {
  const auto sink = open_sink(uri, place);
  return sink ? "" : sink.error().message;
}

std::string text_of(const std::string& path) {
  const auto bytes = wire::read_whole(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(open_sink, names_what_is_wrong) {
  EXPECT_THAT(open_error("chekc:"), HasSubstr("'chekc:': unknown sink; known are check:, tsa:"));
  EXPECT_THAT(open_error("check"), HasSubstr("no scheme"));
  EXPECT_THAT(open_error("check:x"), HasSubstr("'check:x': takes no path; write check:"));
  EXPECT_THAT(open_error("null:?a=1"), HasSubstr("null: knows none"));
  EXPECT_THAT(open_error("tsa:"), HasSubstr("archive to write is missing"));
  EXPECT_THAT(open_error("tsa:/x.tsa?items=5"), HasSubstr("put %s"));
  EXPECT_THAT(open_error("tsa:/x.tsa", {.computes = 2}), HasSubstr("put %n"));
  EXPECT_THAT(open_error("tsa:/x.tsa?zstd=20"), HasSubstr("from 0 to 19"));
  EXPECT_THAT(open_error("tsa:/dev/null/x.tsa"), HasSubstr("'/dev/null/x.tsa'"));
  EXPECT_THAT(open_error("file:/dev/null/x"), HasSubstr("cannot write '/dev/null/x'"));
  EXPECT_THAT(open_error("exec:"), HasSubstr("program is missing"));
  EXPECT_THAT(open_error("exec:'x"), HasSubstr("quote ' is not closed"));
  EXPECT_THAT(open_error("exec:/dev/null/program -x"), HasSubstr("cannot run '/dev/null/pr"));
}

TEST(open_sinks, say_that_they_block_when_one_of_them_does) {
  const std::vector<std::string> none{"null:", "null:"};
  const std::vector<std::string> one{"null:", "check:"};
  EXPECT_FALSE((*open_sinks({}, {}))->blocks());
  EXPECT_FALSE((*open_sinks(none, {}))->blocks());
  EXPECT_TRUE((*open_sinks(one, {}))->blocks());
}

TEST(null_sink, counts) {
  auto timeslices = build_timeslices("pattern:?size=100", {}, 3);
  auto sink = open_sinks({}, {});
  for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
  EXPECT_EQ((*sink)->summary().timeslices, 3u);
  EXPECT_EQ((*sink)->summary().bytes, 3u * 2 * 3 * 132);
}

TEST(tsa_sink, writes_what_the_tsa_source_reads) {
  const TestDirectory directory;
  const StreamShape shape{.overlap = 1};
  auto timeslices = build_timeslices("pattern:?size=500&sizes=uniform", shape, 4);
  for (const char* keys : {"", "?zstd", "?zstd=3"}) {
    auto sink = open_sink("tsa:" + directory / "x_%n.tsa" + keys,
                          {.compute = 1, .computes = 2, .replaces_files = true});
    ASSERT_TRUE(sink) << sink.error().message;
    for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
    ASSERT_TRUE((*sink)->finish());
    auto again = build_timeslices("tsa:" + directory / "x_1.tsa", {});
    ASSERT_EQ(again.size(), 4u);
    auto check = open_sink("check:", {.inputs = 2, .microslices_per_timeslice = 3, .seed = 9});
    for (auto& t : again) ASSERT_TRUE((*check)->consume(t.view()));
    EXPECT_EQ((*check)->summary().errors, 0u) << (*check)->summary().first_error;
  }
}

TEST(tsa_sink, starts_a_new_file_by_items_or_bytes) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 5);
  for (const char* keys : {"?items=2", "?bytes=5000"}) {
    auto sink = open_sink("tsa:" + directory / "r%s.tsa" + keys, {.replaces_files = true});
    for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
    ASSERT_TRUE((*sink)->finish());
    EXPECT_THAT(directory.names(), ElementsAre("r0000.tsa", "r0001.tsa", "r0002.tsa")) << keys;
    EXPECT_EQ(build_timeslices("tsa:" + directory / "r%s.tsa", {.inputs = 1}).size(), 5u);
  }
}

TEST(tsa_sink, leaves_files_that_were_there_before_the_run) {
  const TestDirectory directory;
  const std::vector<std::byte> old(3);
  wire::write_whole(directory / "x.tsa", old);
  EXPECT_THAT(open_error("tsa:" + directory / "x.tsa"), HasSubstr("exists already"));
  EXPECT_EQ(wire::read_whole(directory / "x.tsa"), old);
}

TEST(tsa_sink, a_restarted_node_goes_on_behind_the_files_of_its_earlier_life) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
  for (const bool restarted : {false, true}) {
    auto sink = open_sink("tsa:" + directory / "r%s.tsa?items=2",
                          {.replaces_files = true, .restarted = restarted});
    ASSERT_TRUE(sink) << sink.error().message;
    for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
    ASSERT_TRUE((*sink)->finish());
  }
  EXPECT_THAT(directory.names(), ElementsAre("r0000.tsa", "r0001.tsa", "r0002.tsa", "r0003.tsa"));
}

/// Delivers the timeslices in a process of its own, which is then killed.
void deliver_and_die(const std::string& uri, const SinkPlace& place,
                     std::vector<BuiltTimeslice>& timeslices) {
  const pid_t life = fork();
  if (life == 0) {
    auto sink = open_sink(uri, place);
    for (auto& t : timeslices) {
      if (!sink || !(*sink)->consume(t.view())) _exit(1);
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(life, &status, 0), life);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
}

TEST(tsa_sink, a_restarted_node_keeps_what_its_killed_lives_delivered) {
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
  for (const char* name : {"x.tsa", "x.tsa?zstd", "x%s.tsa?items=100"}) {
    const TestDirectory directory;
    const std::string uri = "tsa:" + directory / name;
    SinkPlace place{.run = "1"};
    deliver_and_die(uri, place, timeslices);
    place.restarted = true;
    deliver_and_die(uri, place, timeslices);
    auto sink = open_sink(uri, place);
    ASSERT_TRUE(sink) << sink.error().message;
    for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
    EXPECT_EQ((*sink)->summary().timeslices, 3u);
    ASSERT_TRUE((*sink)->finish());
    ASSERT_EQ(directory.names().size(), 1u) << name;
    auto reader = wire::ArchiveReader::open(directory / directory.names()[0]);
    ASSERT_TRUE(reader) << reader.error().message;
    while (*reader->skip()) {
    }
    EXPECT_EQ(reader->items(), 9u) << name;
  }
}

TEST(tsa_sink, a_restarted_node_keeps_the_archive_that_its_earlier_life_finished) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
  for (const bool restarted : {false, true}) {
    auto sink = open_sink("tsa:" + directory / "x.tsa", {.restarted = restarted, .run = "1"});
    ASSERT_TRUE(sink) << sink.error().message;
    ASSERT_TRUE((*sink)->consume(timeslices[restarted ? 1 : 0].view()));
    ASSERT_TRUE((*sink)->finish());
  }
  EXPECT_EQ(build_timeslices("tsa:" + directory / "x.tsa", {.inputs = 1}).size(), 2u);
  EXPECT_THAT(directory.names(), ElementsAre("x.tsa"));
}

TEST(tsa_sink, a_restarted_node_drops_a_timeslice_that_its_killed_life_did_not_finish) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
  SinkPlace place{.run = "1"};
  deliver_and_die("tsa:" + directory / "x.tsa", place, timeslices);
  auto bytes = wire::read_whole(directory / "x.tsa.part-1");
  bytes.resize(bytes.size() - 10);
  wire::write_whole(directory / "x.tsa.part-1", bytes);
  place.restarted = true;
  auto sink = open_sink("tsa:" + directory / "x.tsa", place);
  ASSERT_TRUE(sink) << sink.error().message;
  ASSERT_TRUE((*sink)->finish());
  EXPECT_EQ(build_timeslices("tsa:" + directory / "x.tsa", {.inputs = 1}).size(), 2u);
  EXPECT_THAT(directory.names(), ElementsAre("x.tsa"));
}

/// A disk that has room for files of 1 MiB while it lives.
class SmallDisk {
 public:
  SmallDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{1 << 20, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(tsa_sink, full_disk_is_an_error_and_leaves_nothing_when_nothing_is_whole) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=512KiB", {.inputs = 2}, 1);
  const SmallDisk disk;
  auto archive = open_sink("tsa:" + directory / "x.tsa", {});
  const auto consumed = (*archive)->consume(timeslices[0].view());
  ASSERT_FALSE(consumed);
  EXPECT_EQ(consumed.error().code, ErrorCode::exhausted);
  EXPECT_THAT(consumed.error().message, HasSubstr("nothing is kept"));
  EXPECT_THAT(directory.names(), IsEmpty());
  EXPECT_EQ((*archive)->finish().error().message, consumed.error().message);
}

TEST(tsa_sink, full_disk_keeps_the_timeslices_that_were_written_before) {
  auto timeslices = build_timeslices("pattern:?size=50KiB", {.inputs = 1}, 12);
  for (const char* name : {"x.tsa", "x.tsa?zstd", "x%s.tsa?items=4"}) {
    const TestDirectory directory;
    std::uint64_t delivered = 0;
    Error error;
    {
      const SmallDisk disk;
      auto sink = open_sink("tsa:" + directory / name, {});
      // Numbered files are small: the last of them meets an object that is too large.
      const bool is_numbered = std::string_view(name).find("items") != std::string_view::npos;
      auto large = build_timeslices("pattern:?size=600KiB", {.inputs = 1}, 1);
      for (std::size_t t = 0;; ++t) {
        ASSERT_LT(t, timeslices.size());
        auto consumed =
            (*sink)->consume(is_numbered && t == 6 ? large[0].view() : timeslices[t].view());
        if (!consumed) {
          error = consumed.error();
          break;
        }
        ++delivered;
      }
    }
    EXPECT_GT(delivered, 3u) << name;
    EXPECT_EQ(error.code, ErrorCode::exhausted) << name;
    EXPECT_THAT(error.message, HasSubstr(fmt::format("the {} timeslices before", delivered)));
    std::uint64_t kept = 0;
    for (const std::string& file : directory.names()) {
      EXPECT_THAT(file, testing::EndsWith(".tsa"));
      const auto contents = wire::inspect_archive(directory / file, true);
      ASSERT_TRUE(contents) << contents.error().message;
      EXPECT_EQ(contents->crc_wrong, 0u);
      kept += contents->items;
    }
    EXPECT_EQ(kept, delivered) << name;
  }
}

TEST(tsa_sink, a_run_that_ends_with_an_error_elsewhere_keeps_whole_timeslices) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
  {
    auto sink = open_sink("tsa:" + directory / "x.tsa", {});
    for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
  }
  EXPECT_EQ(build_timeslices("tsa:" + directory / "x.tsa", {.inputs = 1}).size(), 3u);
  EXPECT_THAT(directory.names(), ElementsAre("x.tsa"));
  { auto unused = open_sink("tsa:" + directory / "y.tsa", {}); }
  EXPECT_THAT(directory.names(), ElementsAre("x.tsa"));
}

class file_sink : public ::testing::Test {
 protected:
  /// Sends `bytes` from `inputs` to `computes` in a random order; the sinks' errors together.
  std::uint64_t send(const std::vector<std::byte>& bytes, std::uint32_t inputs,
                     std::uint32_t computes, const std::string& source_keys = "",
                     std::size_t lose = SIZE_MAX) {
    wire::write_whole(directory_ / "in", bytes);
    auto timeslices = build_timeslices("file:" + directory_ / "in?cut=100" + source_keys,
                                       {.inputs = inputs, .overlap = 0});
    std::vector<std::unique_ptr<Sink>> sinks;
    for (std::uint32_t c = 0; c < computes; ++c) {
      auto sink = open_sink("file:" + directory_ / "out?cut=100", {.compute = c,
                                                                   .computes = computes,
                                                                   .inputs = inputs,
                                                                   .microslices_per_timeslice = 3,
                                                                   .replaces_files = true});
      EXPECT_TRUE(sink) << sink.error().message;
      sinks.push_back(std::move(*sink));
    }
    Rng rng(7);
    for (std::size_t n = timeslices.size(); n > 0; --n) {
      std::swap(timeslices[n - 1], timeslices[rng.below(n)]);
      if (timeslices[n - 1].index == lose) continue;
      const auto consumed = sinks[rng.below(computes)]->consume(timeslices[n - 1].view());
      EXPECT_TRUE(consumed) << consumed.error().message;
    }
    std::uint64_t errors = 0;
    for (auto& sink : sinks) {
      EXPECT_TRUE(sink->finish());
      errors += sink->summary().errors;
      if (!sink->summary().first_error.empty()) first_error_ = sink->summary().first_error;
    }
    return errors;
  }
  static std::vector<std::byte> random_bytes(std::size_t n) {
    Rng rng(n);
    std::vector<std::byte> bytes(n);
    for (auto& b : bytes) b = static_cast<std::byte>(rng.next());
    return bytes;
  }
  const TestDirectory directory_;
  std::string first_error_;
};

TEST_F(file_sink, puts_a_file_together_again_behind_several_compute_nodes) {
  for (const std::size_t size : {0, 1, 100, 600, 601, 123'456}) {
    wire::write_whole(directory_ / "out", random_bytes(200'000));  // left over from another run
    EXPECT_EQ(send(random_bytes(size), 4, 3), 0u) << first_error_;
    EXPECT_TRUE(*read_text_file(directory_ / "out") == *read_text_file(directory_ / "in")) << size;
  }
}

TEST_F(file_sink, leaves_a_file_that_was_there_before_the_run) {
  wire::write_whole(directory_ / "out", random_bytes(10));
  EXPECT_THAT(open_error("file:" + directory_ / "out"), HasSubstr("exists already"));
  EXPECT_EQ(wire::read_whole(directory_ / "out"), random_bytes(10));
}

TEST_F(file_sink, two_runs_at_the_same_time_never_write_the_same_file) {
  auto one = open_sink("file:" + directory_ / "out", {.run = "1"});
  auto other = open_sink("file:" + directory_ / "out", {.run = "2"});
  ASSERT_TRUE(one && other);
  wire::write_whole(directory_ / "in", random_bytes(5000));
  auto timeslices = build_timeslices("file:" + directory_ / "in", {.inputs = 1}, 1);
  for (auto& t : timeslices) ASSERT_TRUE((*one)->consume(t.view()));
  ASSERT_TRUE((*one)->finish());
  const auto refused = (*other)->finish();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("exists already"));
  EXPECT_NE(wire::read_whole(directory_ / "out").size(), 0u);
}

TEST_F(file_sink, a_restarted_node_keeps_what_its_earlier_life_wrote) {
  for (const bool replaces : {false, true}) {
    wire::write_whole(directory_ / "out.part", random_bytes(10));
    const auto sink =
        open_sink("file:" + directory_ / "out", {.replaces_files = replaces, .restarted = true});
    ASSERT_TRUE(sink) << sink.error().message;
    EXPECT_EQ(wire::read_whole(directory_ / "out.part"), random_bytes(10));
  }
}

TEST_F(file_sink, a_lost_timeslice_is_a_hole) {
  EXPECT_EQ(send(random_bytes(10'000), 2, 2, "", 4), 0u);
  EXPECT_FALSE(*read_text_file(directory_ / "out") == *read_text_file(directory_ / "in"));
}

TEST_F(file_sink, refuses_pieces_that_do_not_fit) {
  EXPECT_GT(send(random_bytes(1'000), 2, 1, "&stride=2"), 0u);
  EXPECT_THAT(first_error_, HasSubstr("is no piece of a source file: with cut=100"));
}

TEST_F(file_sink, a_file_with_pieces_that_do_not_fit_does_not_get_its_name) {
  wire::write_whole(directory_ / "in", random_bytes(15));
  auto sink = open_sink("file:" + directory_ / "out?cut=100", {.inputs = 2});
  auto timeslices = build_timeslices("file:" + directory_ / "in?cut=10", {.per_timeslice = 1});
  ASSERT_TRUE((*sink)->consume(timeslices.at(0).view()));
  ASSERT_TRUE((*sink)->finish());
  EXPECT_THAT((*sink)->summary().first_error,
              AllOf(HasSubstr("is no piece of a source file: with cut=100"),
                    HasSubstr("what arrived is in " + directory_ / "out.incomplete")));
  EXPECT_THAT(directory_.names(), ElementsAre("in", "out.incomplete"));
}

TEST_F(file_sink, counts_a_missing_component) {
  auto sink = open_sink("file:" + directory_ / "out", {.inputs = 1});
  BuiltTimeslice t;
  t.add_component({});
  ASSERT_TRUE((*sink)->consume(t.view()));
  EXPECT_THAT((*sink)->summary().first_error, HasSubstr("1 of 1 pieces are missing"));
}

TEST_F(file_sink, a_restarted_node_goes_on_in_a_file_that_another_one_has_spoiled) {
  wire::write_whole(directory_ / "in", random_bytes(600));
  auto timeslices =
      build_timeslices("file:" + directory_ / "in?cut=100", {.inputs = 1, .per_timeslice = 3});
  SinkPlace place{.inputs = 1, .microslices_per_timeslice = 3, .run = "7"};
  const std::string uri = "file:" + directory_ / "out?cut=100";
  auto first = open_sink(uri, place);
  ASSERT_TRUE((*first)->consume(timeslices.at(0).view()));
  BuiltTimeslice without;
  without.index = 1;
  without.add_component({});
  ASSERT_TRUE((*first)->consume(without.view()));
  place.restarted = true;
  auto later = open_sink(uri, place);
  ASSERT_TRUE((*later)->consume(timeslices.at(1).view()));
  ASSERT_TRUE((*first)->finish());
  ASSERT_TRUE((*later)->finish());
  EXPECT_THAT(directory_.names(), ElementsAre("in", "out.incomplete-7"));
  EXPECT_TRUE(*read_text_file(directory_ / "out.incomplete-7") ==
              *read_text_file(directory_ / "in"));
}

TEST_F(file_sink, a_restarted_node_fails_where_its_earlier_life_missed_something) {
  wire::write_whole(directory_ / "in", random_bytes(300));
  auto timeslices = build_timeslices("file:" + directory_ / "in?cut=100", {.inputs = 1});
  SinkPlace place{.inputs = 1, .microslices_per_timeslice = 3, .run = "7"};
  const std::string uri = "file:" + directory_ / "out?cut=100";
  BuiltTimeslice without;
  without.index = 1;
  without.add_component({});
  {
    auto first = open_sink(uri, place);
    ASSERT_TRUE((*first)->consume(without.view()));
    (*first)->leave();
  }
  place.restarted = true;
  auto later = open_sink(uri, place);
  ASSERT_TRUE((*later)->consume(timeslices.at(0).view()));
  ASSERT_TRUE((*later)->finish());
  EXPECT_EQ((*later)->summary().errors, 1u);
  EXPECT_THAT((*later)->summary().first_error,
              AllOf(HasSubstr("before this node was started anew"),
                    HasSubstr("what arrived is in " + directory_ / "out.incomplete-7")));
  EXPECT_THAT(directory_.names(), ElementsAre("in", "out.incomplete-7"));
}

TEST_F(file_sink, percent_i_makes_one_file_per_input) {
  wire::write_whole(directory_ / "in0", random_bytes(950));
  wire::write_whole(directory_ / "in1", random_bytes(1'200));
  auto sink = open_sink("file:" + directory_ / "out%i?cut=100",
                        {.inputs = 2, .microslices_per_timeslice = 3});
  auto timeslices = build_timeslices("file:" + directory_ / "in%i?cut=100", {});
  for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
  ASSERT_TRUE((*sink)->finish());
  EXPECT_EQ((*sink)->summary().errors, 0u) << (*sink)->summary().first_error;
  EXPECT_TRUE(*read_text_file(directory_ / "out0") == *read_text_file(directory_ / "in0"));
  EXPECT_TRUE(*read_text_file(directory_ / "out1") == *read_text_file(directory_ / "in1"));
}

TEST_F(file_sink, percent_i_ends_a_file_with_its_source_and_not_with_a_lost_contribution) {
  wire::write_whole(directory_ / "in", random_bytes(300));
  auto timeslices = build_timeslices("file:" + directory_ / "in?cut=100", {.inputs = 1});
  BuiltTimeslice without = {.index = 1, .num_core = 3};
  for (int i = 0; i < 2; ++i) without.add_component({});
  without.components[0].flags = bit(TimesliceFlag::missing_components) | bit(TimesliceFlag::ended);
  without.components[1].flags = bit(TimesliceFlag::missing_components);
  timeslices.at(0).data.push_back(timeslices[0].data[0]);
  timeslices[0].components.push_back(timeslices[0].components[0]);
  auto sink = open_sink("file:" + directory_ / "out%i?cut=100",
                        {.inputs = 2, .microslices_per_timeslice = 3});
  for (BuiltTimeslice* const t : {&timeslices[0], &without})
    ASSERT_TRUE((*sink)->consume(t->view()));
  ASSERT_TRUE((*sink)->finish());
  EXPECT_EQ((*sink)->summary().errors, 1u);
  EXPECT_THAT((*sink)->summary().first_error, HasSubstr("timeslice 1, component 1: 3 of 3 pieces"));
  EXPECT_THAT(directory_.names(), ElementsAre("in", "out0", "out1.incomplete"));
}

TEST_F(file_sink, a_full_device_is_reported) {
  auto sink = open_sink("file:/dev/full?cut=100", {.inputs = 1});
  wire::write_whole(directory_ / "in", random_bytes(100));
  auto timeslices =
      build_timeslices("file:" + directory_ / "in?cut=100", {.inputs = 1, .per_timeslice = 1});
  const auto consumed = (*sink)->consume(timeslices[0].view());
  EXPECT_THAT(consumed.error().message,
              HasSubstr("cannot write '/dev/full': No space left on device; free space"));
}

TEST(exec_sink, command_is_split_at_spaces_outside_of_quotes) {
  EXPECT_THAT(*split_command(R"(a  "b c" d\ e 'f"\g' "")"),
              ElementsAre("a", "b c", "d e", R"(f"\g)", ""));
  EXPECT_FALSE(split_command("a \\"));
}

TEST(exec_sink, gives_each_program_an_archive_of_one_timeslice) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=100KiB", {}, 3);
  auto sink = open_sink(
      "exec:sh -c 'cat > \"$0\"/$WEFT_COMPUTE-$WEFT_TIMESLICE.tsa' " + directory.path().string(),
      {.compute = 1, .computes = 2});
  ASSERT_TRUE(sink) << sink.error().message;
  for (auto& t : timeslices) ASSERT_TRUE((*sink)->consume(t.view()));
  EXPECT_EQ((*sink)->summary().errors, 0u) << (*sink)->summary().first_error;
  EXPECT_THAT(directory.names(), ElementsAre("1-0.tsa", "1-1.tsa", "1-2.tsa"));
  auto reader = wire::ArchiveReader::open(directory / "1-2.tsa");
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->timeslice().descriptor.index, 2u);
  EXPECT_TRUE(std::ranges::equal(reader->timeslice().components[1].data, timeslices[2].data[1]));
}

TEST(exec_sink, a_program_that_fails_or_does_not_read_kills_nobody) {
  auto timeslices = build_timeslices("pattern:?size=1MiB", {.inputs = 1}, 2);
  auto lazy = open_sink("exec:true", {});
  auto failing = open_sink("exec:sh -c 'exit 3'", {});
  auto killed = open_sink("exec:sh -c 'kill -9 $$'", {});
  for (auto& t : timeslices) {
    ASSERT_TRUE((*lazy)->consume(t.view()));
    ASSERT_TRUE((*failing)->consume(t.view()));
    ASSERT_TRUE((*killed)->consume(t.view()));
  }
  EXPECT_EQ((*lazy)->summary().errors, 0u);
  EXPECT_EQ((*failing)->summary().errors, 2u);
  EXPECT_EQ((*failing)->summary().first_error, "timeslice 0: 'sh' ended with code 3");
  EXPECT_EQ((*killed)->summary().first_error, "timeslice 0: 'sh' was ended by signal 9 (Killed)");
}

TEST(exec_sink, interrupt_ends_a_program_that_hangs) {
  auto timeslices = build_timeslices("pattern:?size=1KiB", {.inputs = 1}, 1);
  auto sink = open_sink("exec:sleep 1000", {});
  std::thread interrupter([&] { (*sink)->interrupt(); });
  const auto consumed = (*sink)->consume(timeslices[0].view());
  interrupter.join();
  ASSERT_FALSE(consumed);
  EXPECT_EQ(consumed.error().code, ErrorCode::cancelled);
}

TEST(tee_sink, hands_each_timeslice_to_all_and_adds_up) {
  const TestDirectory directory;
  auto timeslices = build_timeslices("pattern:?size=1KiB", {}, 3);
  timeslices[1].data[0].back() ^= std::byte{1};
  const std::vector<std::string> uris{"check:", "tsa:" + directory / "x.tsa", "exec:false"};
  auto sink = open_sinks(uris, {.inputs = 2, .microslices_per_timeslice = 3, .seed = 9});
  ASSERT_TRUE(sink) << sink.error().message;
  static std::atomic<int> released;
  released = 0;
  for (auto& t : timeslices) {
    HeldTimeslice held([](void*, TimesliceIndex) noexcept { ++released; }, nullptr,
                       TimesliceIndex(t.index));
    ASSERT_TRUE((*sink)->consume_held(t.view(), std::move(held)));
  }
  EXPECT_EQ(released, 3);
  ASSERT_TRUE((*sink)->finish());
  const SinkSummary summary = (*sink)->summary();
  EXPECT_EQ(summary.timeslices, 3u);
  EXPECT_EQ(summary.errors, 2u + 3u);
  EXPECT_THAT(summary.first_error, HasSubstr("CRC-32C"));
  EXPECT_FALSE(text_of(directory / "x.tsa").empty());
}

}  // namespace
}  // namespace weft
