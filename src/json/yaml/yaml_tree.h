// From YAML's events to a tree, typed as go-yaml v2 and sigs.k8s.io/yaml type it. Private to the module.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::json {

// Thrown through yaml-cpp's parser, which knows no other way to stop; caught where that is called.
struct YamlError : std::exception {
  explicit YamlError(std::string m) : message(std::move(m)) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

// The value of a scalar. `tag` as yaml-cpp gives it: "?" unquoted, "!" quoted, else the tag written out.
// Throws YamlError if the text is not what its tag says.
Value ResolveTagged(std::string_view tag, const std::string& text);

// What a document consists of, tags resolved and aliases replaced.
struct YamlEvent {
  enum class Type { kScalar, kBeginArray, kEndArray, kBeginObject, kEndObject };
  Type type;
  bool is_merge = false;  // an unquoted <<
  Value scalar;
};

// Makes a tree of one document's events. Confined to one thread.
class YamlTreeBuilder {
 public:
  // Notes paths of keys that come twice in `duplicates`, if there is one; the last value wins.
  explicit YamlTreeBuilder(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

  // Throws YamlError for keys that cannot be strings and merges of what is no mapping.
  void Feed(YamlEvent event);
  Value Take() { return std::move(root_); }

 private:
  struct Container {
    Value value;
    std::string key;  // of the member whose value comes next
    bool has_key = false;
    bool merges = false;  // that key is <<
  };

  void Deliver(Value value, bool is_merge);
  void AddMember(Container& top, Value value);
  void NoteDuplicate();

  std::vector<std::string>* const duplicates_;
  std::vector<Container> open_;
  Value root_;
};

}  // namespace flyball::json
