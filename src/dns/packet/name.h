// Name: a domain name in its wire form, without compression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::dns {

inline constexpr std::size_t kMaxNameBytes = 255;  // RFC 1035, 2.3.4; with the root's byte
inline constexpr std::size_t kMaxLabelBytes = 63;

// A value; thread-compatible. Always valid: labels of 1 to 63 bytes, 255 bytes in total. Spelling is kept;
// all comparisons ignore the case of ASCII letters (RFC 4343).
class Name {
 public:
  Name() : wire_(1, '\0') {}  // the root

  // "a.example." or "a.example"; both are absolute. Null if a label or the whole is too long, or a label
  // empty.
  // "\." and "\046" are bytes of a label.
  static std::optional<Name> FromText(std::string_view text);
  // Requires a valid wire form.
  static Name FromWire(std::string wire) { return Name(std::move(wire)); }

  // With a final dot; unprintable bytes are escaped.
  std::string ToText() const;
  const std::string& wire() const { return wire_; }
  // The lower-case wire form: equal for equal names. Lengths are at most 63, so that lower-casing all bytes
  // changes letters alone.
  std::string Key() const;

  bool IsRoot() const { return wire_.size() == 1; }
  // Leftmost first. The views live as long as this.
  std::vector<std::string_view> Labels() const;
  bool operator==(const Name& other) const;
  // True for the name itself, too.
  bool IsWithin(const Name& ancestor) const;
  // "label.this"; null if that is too long or the label is no label.
  std::optional<Name> Child(std::string_view label) const;

 private:
  explicit Name(std::string wire) : wire_(std::move(wire)) {}
  std::string wire_;
};

// Whether two texts are the same but for the case of ASCII letters.
bool SameLetters(std::string_view a, std::string_view b);

}  // namespace flyball::dns
