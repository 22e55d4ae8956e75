// TabWriter: text with tabs into aligned columns, as Go's text/tabwriter lays it out, which kubectl's output
// comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyball::cli {

// A cell ends with a tab; the text after a line's last tab takes no part in alignment. A column is as wide as
// its widest cell among neighbouring lines that have it. Thread-compatible.
class TabWriter {
 public:
  TabWriter(std::size_t min_width, std::size_t padding) : min_width_(min_width), padding_(padding) {}

  void Write(std::string_view text) { text_.append(text); }
  // The text laid out; begins anew.
  std::string Take();
  // From now on columns are at least as wide as they were in the last Take, so that rows that come later
  // align.
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

// kubectl's tables, and its descriptions.
inline TabWriter TableWriter() {
  return TabWriter(6, 3);
}
inline TabWriter DescriptionWriter() {
  return TabWriter(0, 2);
}

}  // namespace flyball::cli
