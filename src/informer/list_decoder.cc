#include "informer/list_decoder.h"

namespace flyball {

std::string_view ListDecoder::Joined(std::string_view data, std::size_t end) {
  held_.append(data.substr(start_, end - start_));
  return held_;
}

void ListDecoder::Hold(std::string_view data) {
  held_.append(data.substr(start_));
  start_ = 0;
}

// Moves past the closing quote, or to the end of the data.
void ListDecoder::SkipString(std::string_view data, std::size_t& i) {
  while (i < data.size()) {
    const char c = data[i++];
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return;
    }
    if (reading_key_) key_ += c;
  }
}

ListDecoder::Step ListDecoder::Scan(std::string_view data, std::size_t& i) {
  while (i < data.size()) {
    if (in_string_) {
      SkipString(data, i);
      continue;
    }
    const char c = data[i++];
    if (c == '"') {
      in_string_ = true;
      reading_key_ = depth_ == 1;
      if (reading_key_) key_.clear();
    } else if (c == '{' || c == '[') {
      if (complete_) return Step::kError;
      OpenBracket(c, i - 1);
    } else if (c == '}' || c == ']') {
      Step step = Step::kMore;
      if (!CloseBracket(data, i, &step)) return Step::kError;
      if (step == Step::kItem) return step;
    }
  }
  return Step::kMore;
}

void ListDecoder::OpenBracket(char c, std::size_t i) {
  if (depth_ == 1 && c == '[' && key_ == "items") in_items_ = true;
  if (depth_ == 1 && c == '{' && key_ == "metadata") {
    inside_metadata_ = true;
    start_ = i;
  }
  if (depth_ == 2 && in_items_) {
    inside_item_ = true;
    start_ = i;
  }
  ++depth_;
}

bool ListDecoder::CloseBracket(std::string_view data, std::size_t i, Step* step) {
  if (--depth_ < 0) return false;
  if (depth_ == 0) complete_ = true;
  if (depth_ == 2 && inside_item_) *step = Step::kItem;
  if (depth_ != 1) return true;
  in_items_ = false;
  if (inside_metadata_) {
    metadata_ = Joined(data, i);
    held_.clear();
    inside_metadata_ = false;
  }
  return true;
}

}  // namespace flyball
