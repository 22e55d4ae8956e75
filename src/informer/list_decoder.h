// ListDecoder: splits a List response while it arrives. Each element of `items` is passed on as soon as its
// last byte has arrived, so a list of any size needs only the memory of its largest item.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flyball {

// Thread-compatible. Trusts the server to send JSON with matching brackets and quotes; whoever parses the
// items checks them.
class ListDecoder {
 public:
  // Calls fn(std::string_view item) for each item that `data` completes; fn returns false to stop. Returns
  // false if fn stopped, or if the text cannot be a list.
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

  // True if the whole list has been read.
  bool complete() const { return complete_; }
  // The text of `metadata`, once complete.
  const std::string& metadata() const { return metadata_; }

 private:
  enum class Step { kMore, kItem, kError };
  // Reads on from `i` and advances it, up to the end of an item or of the data.
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
  std::string key_;        // the last top-level key
  std::string held_;       // the part of an item (or of metadata) that arrived with earlier data
  std::size_t start_ = 0;  // where it starts in this data
  std::string metadata_;
};

}  // namespace flyball
