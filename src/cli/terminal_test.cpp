// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace weft::cli {
namespace {

Table a_table() {
  Table table({"schedule", "goodput", "of limit"});
  table.add({"best-effort", "98.31 MB/s", "97.0 %"});
  table.add({"dfs", "1.000 GB/s", "-"});
  return table;
}

TEST(table, aligns_the_first_column_left_and_the_others_right) {
  EXPECT_EQ(a_table().text(80),
            "schedule        goodput  of limit\n"
            "best-effort  98.31 MB/s    97.0 %\n"
            "dfs          1.000 GB/s         -\n");
}

TEST(table, moves_together_before_it_becomes_paragraphs) {
  EXPECT_EQ(a_table().text(31),
            "schedule       goodput of limit\n"
            "best-effort 98.31 MB/s   97.0 %\n"
            "dfs         1.000 GB/s        -\n");
  EXPECT_EQ(a_table().text(30),
            "best-effort\n"
            "  goodput   98.31 MB/s\n"
            "  of limit  97.0 %\n"
            "dfs\n"
            "  goodput   1.000 GB/s\n"
            "  of limit  -\n");
}

TEST(table, leaves_empty_cells_out_of_paragraphs) {
  Table table = a_table();
  table.add({"all", "", "98.0 %"});
  EXPECT_THAT(table.text(30), testing::EndsWith("all\n  of limit  98.0 %\n"));
}

TEST(table, counts_characters_not_bytes) {
  Table table({"a", "µs"});
  table.add({"é", "1"});
  EXPECT_EQ(table.text(80), "a  µs\né   1\n");
}

TEST(labelled_line, goes_on_below_its_first_part_where_the_terminal_is_narrow) {
  const std::vector<std::string> parts{"12 ms", "7 events", "3 hops"};
  EXPECT_EQ(labelled("simulated", parts, 80), "simulated    12 ms, 7 events, 3 hops\n");
  EXPECT_EQ(labelled("simulated", parts, 29),
            "simulated    12 ms, 7 events,\n"
            "             3 hops\n");
  EXPECT_EQ(labelled("simulated", parts, 5),
            "simulated    12 ms,\n"
            "             7 events,\n"
            "             3 hops\n");
}

TEST(progress, drops_its_last_parts_where_the_terminal_is_narrow) {
  const std::vector<std::string> parts{"grant", "1 s of 4 s", "", "98 MB/s"};
  EXPECT_EQ(fitting(parts, 80), "grant, 1 s of 4 s, 98 MB/s");
  EXPECT_EQ(fitting(parts, 26), "grant, 1 s of 4 s, 98 MB/s");
  EXPECT_EQ(fitting(parts, 25), "grant, 1 s of 4 s");
  EXPECT_EQ(fitting(parts, 3), "gra");
  EXPECT_EQ(fitting({"5 µs"}, 3), "5 µ");
  EXPECT_EQ(fitting({"5 µs"}, 2), "5 ");
}

TEST(progress, says_what_share_is_done_and_how_long_the_rest_takes) {
  using Seconds = std::chrono::duration<double>;
  EXPECT_EQ(share_done(0, Seconds(5)), "0 %");
  EXPECT_EQ(share_done(0.25, Seconds(4)), "25 %, 12 s left");
  EXPECT_EQ(share_done(0.01, Seconds(10)), "1 %, 16:30 min left");
  EXPECT_EQ(share_done(1, Seconds(10)), "100 %");
  EXPECT_EQ(share_done(1.2, Seconds(10)), "100 %");
}

TEST(terminal, has_its_own_width_and_a_pipe_80_columns) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_EQ(columns_of(pipe[1]), 80u);
  winsize narrow{};
  narrow.ws_col = 40;
  narrow.ws_row = 20;
  int master = -1, slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &narrow), 0);
  EXPECT_EQ(columns_of(slave), 40u);
  for (const int descriptor : {pipe[0], pipe[1], master, slave}) ::close(descriptor);
}

TEST(terminal_bar, is_as_long_however_much_is_done) {
  EXPECT_EQ(bar(0, 4), "[....]");
  EXPECT_EQ(bar(0.5, 4), "[##..]");
  EXPECT_EQ(bar(2, 4), "[####]");
}

}  // namespace
}  // namespace weft::cli
