#include "server/forward/html_links.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

// In pieces of that many bytes.
std::string Rewritten(std::string_view page, std::size_t piece = 1000000) {
  HtmlLinks links([](std::string_view link) {
    return link[0] == '/' ? "/proxy" + std::string(link) : std::string(link);
  });
  std::string out;
  for (std::size_t at = 0; at < page.size(); at += piece) out += links.Next(page.substr(at, piece));
  return out + links.End();
}

TEST(HtmlLinksTest, RewritesAttributesThatAreLinks) {
  EXPECT_EQ(Rewritten("<a href=\"/rewriteme\">test</a>"), "<a href=\"/proxy/rewriteme\">test</a>");
  EXPECT_EQ(Rewritten("<A class=x HREF = '/a>b' id=y>"), "<A class=x HREF = '/proxy/a>b' id=y>");
  EXPECT_EQ(Rewritten("<img src=/i.png alt=\"/no\"/><br/>"), "<img src=/proxy/i.png alt=\"/no\"/><br/>");
  EXPECT_EQ(Rewritten("<form action=\"/go\" disabled><input formaction='/x'>"),
            "<form action=\"/proxy/go\" disabled><input formaction='/proxy/x'>");
  EXPECT_EQ(Rewritten("<a href=\"other\"><a href=\"\"><a href>"), "<a href=\"other\"><a href=\"\"><a href>");
}

TEST(HtmlLinksTest, LeavesAllElseAsItIs) {
  for (const char* page :
       {"plain text, 1 < 2, href=\"/a\"", "<!-- <a href=\"/a\"> -->",
        "<style>a { x: '<a href=\"/a\">' }</style>", "<script>var x = '<a href=\"/a\">';</script>",
        "</a href=\"/a\">", "<", "<a href=\"/unfinished", "<!doctype html>", "<!--", "<script>endless"})
    for (const std::size_t piece : {1u, 3u, 1000u}) EXPECT_EQ(Rewritten(page, piece), page);
  EXPECT_EQ(Rewritten("<SCRIPT src=\"/s.js\"><b href=\"/a\"></Script><a href=\"/a\">"),
            "<SCRIPT src=\"/proxy/s.js\"><b href=\"/a\"></Script><a href=\"/proxy/a\">");
}

TEST(HtmlLinksTest, ReadsAPageInPiecesOfAnySize) {
  const std::string page = "<p>x<a href=\"/one\">y</a><!-- z --><img src='/two'>\n";
  for (std::size_t piece = 1; piece < 10; ++piece)
    EXPECT_EQ(Rewritten(page, piece), "<p>x<a href=\"/proxy/one\">y</a><!-- z --><img src='/proxy/two'>\n");
}

TEST(HtmlLinksTest, PassesOnTagsThatAreTooLong) {
  const std::string page =
      "<a href=\"/a\" title=\"" + std::string(HtmlLinks::kMaxTag, 'x') + "\"><a href=\"/b\">";
  std::string wanted = page;
  wanted.insert(wanted.find("/b"), "/proxy");
  EXPECT_EQ(Rewritten(page, 4096), page.substr(0, 0) + wanted);
}

}  // namespace
}  // namespace flyball::server
