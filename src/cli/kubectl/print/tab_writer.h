// TabWriter: aligns text with tabs in columns, with the layout of Go's text/tabwriter, which kubectl uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyball::cli {

// A tab ends a cell; the text after a line's last tab is not aligned. A column is as wide as its widest cell
// among adjacent lines that have it. Thread-compatible.
class TabWriter {
 public:
  TabWriter(std::size_t min_width, std::size_t padding) : min_width_(min_width), padding_(padding) {}

  void Write(std::string_view text) { text_.append(text); }
  // Returns the aligned text and starts over.
  std::string Take();
  // From now on columns are at least as wide as in the last Take, so that later rows align.
  void RememberWidths() { remember_ = true; }

 private:
  using Line = std::vector<std::string_view>;
  void Format(const std::vector<Line>& lines, std::size_t begin, std::size_t end, std::string& out);
  void WriteLines(const std::vector<Line>& lines, std::size_t begin, std::size_t end, std::string& out) const;

  const std::size_t min_width_, padding_;
  bool remember_ = false;
  std::string text_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> remembered_;
};

// Writers for kubectl's tables and descriptions.
inline TabWriter TableWriter() {
  return TabWriter(6, 3);
}
inline TabWriter DescriptionWriter() {
  return TabWriter(0, 2);
}

}  // namespace flyball::cli
