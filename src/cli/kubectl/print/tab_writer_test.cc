#include "cli/kubectl/print/tab_writer.h"

#include <gtest/gtest.h>

namespace flyball::cli {
namespace {

TEST(TabWriter, AlignsCellsOfNeighbouringLines) {
  TabWriter writer = TableWriter();
  writer.Write("NAME\tAGE\nweb\t5s\na-long-name\t1m\n");
  EXPECT_EQ(writer.Take(), "NAME          AGE\nweb           5s\na-long-name   1m\n");
}

TEST(TabWriter, ALineWithoutACellEndsTheColumn) {
  TabWriter writer = DescriptionWriter();
  writer.Write("a:\t1\nlong title:\t2\nHead:\n  x:\t3\n");
  EXPECT_EQ(writer.Take(), "a:           1\nlong title:  2\nHead:\n  x:  3\n");
}

TEST(TabWriter, RemembersWidthsForLaterRows) {
  TabWriter writer = TableWriter();
  writer.RememberWidths();
  writer.Write("NAME\tAGE\na-long-name\t1m\n");
  writer.Take();
  writer.Write("web\t5s\n");
  EXPECT_EQ(writer.Take(), "web           5s\n");
}

TEST(TabWriter, CountsCharactersNotBytes) {
  TabWriter writer = DescriptionWriter();
  writer.Write("\xc3\xa4\t1\nbc\t2\n");
  EXPECT_EQ(writer.Take(), "\xc3\xa4   1\nbc  2\n");
}

}  // namespace
}  // namespace flyball::cli
