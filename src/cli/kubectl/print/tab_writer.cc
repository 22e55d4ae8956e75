#include "cli/kubectl/print/tab_writer.h"

#include <algorithm>

namespace flyball::cli {
namespace {

// Width in characters, not bytes.
std::size_t WidthOf(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string_view> CellsOf(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t tab; (tab = line.find('\t')) != std::string_view::npos; line.remove_prefix(tab + 1))
    cells.push_back(line.substr(0, tab));
  cells.push_back(line);
  return cells;
}

}  // namespace

std::string TabWriter::Take() {
  std::vector<Line> lines;
  std::string_view rest = text_;
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1))
    lines.push_back(CellsOf(rest.substr(0, end)));
  const bool ends_open = !rest.empty();
  if (ends_open) lines.push_back(CellsOf(rest));
  std::string out;
  Format(lines, 0, lines.size(), out);
  if (ends_open) out.pop_back();
  text_.clear();
  return out;
}

void TabWriter::Format(const std::vector<Line>& lines, std::size_t begin, std::size_t end, std::string& out) {
  const std::size_t column = widths_.size();
  const auto has_cell = [&](std::size_t i) { return column + 1 < lines[i].size(); };
  for (std::size_t i = begin; i < end; ++i) {
    if (!has_cell(i)) continue;
    WriteLines(lines, begin, i, out);
    begin = i;
    std::size_t width = min_width_;
    if (column < remembered_.size()) width = std::max(width, remembered_[column]);
    for (; i < end && has_cell(i); ++i) width = std::max(width, WidthOf(lines[i][column]) + padding_);
    if (remember_) {
      if (remembered_.size() <= column) remembered_.resize(column + 1);
      remembered_[column] = width;
    }
    widths_.push_back(width);
    Format(lines, begin, i, out);
    widths_.pop_back();
    begin = i;
  }
  WriteLines(lines, begin, end, out);
}

void TabWriter::WriteLines(const std::vector<Line>& lines, std::size_t begin, std::size_t end,
                           std::string& out) const {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t column = 0; column < lines[i].size(); ++column) {
      const std::string_view cell = lines[i][column];
      out.append(cell);
      if (column < widths_.size() && column + 1 < lines[i].size())
        out.append(widths_[column] - WidthOf(cell), ' ');
    }
    out.push_back('\n');
  }
}

}  // namespace flyball::cli
