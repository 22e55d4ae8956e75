// ElementText: the text of a path element. Names of fields of built-in types, which are most of them, live in
// the schema tables for ever and are only pointed to; anything else is a copy of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace flyball::api {

// A value of 16 bytes. Thread-compatible.
class ElementText {
 public:
  ElementText() = default;
  explicit ElementText(std::string_view text);
  // Text that is never freed.
  static ElementText Static(std::string_view text) {
    ElementText out;
    out.data_ = text.data();
    out.size_ = static_cast<std::uint32_t>(text.size());
    return out;
  }

  ElementText(const ElementText& other)
      : ElementText(other.owned_ ? ElementText(other.view()) : Static(other.view())) {}
  ElementText(ElementText&& other) noexcept
      : data_(other.data_), size_(other.size_), owned_(std::exchange(other.owned_, false)) {}
  ElementText& operator=(ElementText other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~ElementText() {
    if (owned_) delete[] data_;
  }

  std::string_view view() const { return {data_, size_}; }

 private:
  const char* data_ = "";
  std::uint32_t size_ = 0;
  bool owned_ = false;
};

}  // namespace flyball::api
