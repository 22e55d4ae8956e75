// ListDecoder: takes a List answer apart while it arrives: every element of `items` is handed out as soon as
// its last byte is there. A list of any size needs the memory of its largest item.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flyball {

// Thread-compatible. Trusts the server to send valid JSON in as far as brackets and quotes match; the items
// themselves are checked by whoever parses them.
class ListDecoder {
 public:
  // Calls fn(std::string_view item) for each item completed by `data`; fn returns false to stop. False if it
  // did, or if the text cannot be a list.
  template <typename Fn>
  bool Feed(std::string_view data, Fn&& fn) {
    std::size_t i = 0;
    while (i < data.size()) {
      const Step step = Scan(data, i);
      if (step == Step::kError) return false;
      if (step == Step::kItem) {
        const bool go_on =
            fn(std::string_view(held_.empty() ? data.substr(start_, i - start_) : Joined(data, i)));
        held_.clear();
        inside_item_ = false;
        if (!go_on) return false;
      }
    }
    if (inside_item_ || inside_metadata_) Hold(data);
    return true;
  }

  // The whole list has been read.
  bool complete() const { return complete_; }
  // The text of `metadata`, once complete.
  const std::string& metadata() const { return metadata_; }

 private:
  enum class Step { kMore, kItem, kError };
  // Reads on from `i`, which it moves, up to the end of an item or of the data.
  Step Scan(std::string_view data, std::size_t& i);
  void SkipString(std::string_view data, std::size_t& i);
  void OpenBracket(char c, std::size_t i);
  bool CloseBracket(std::string_view data, std::size_t i, Step* step);
  std::string_view Joined(std::string_view data, std::size_t end);
  void Hold(std::string_view data);

  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
  bool reading_key_ = false;  // the string being read is a key of the list itself
  bool in_items_ = false, inside_item_ = false, inside_metadata_ = false;
  bool complete_ = false;
  std::string key_;        // the last key at the top
  std::string held_;       // the part of an item (or of metadata) that came with earlier data
  std::size_t start_ = 0;  // where it begins in this data
  std::string metadata_;
};

}  // namespace flyball
