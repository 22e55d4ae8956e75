// Builds a tree from YAML events, with the types of go-yaml v2 and sigs.k8s.io/yaml. Private to the module.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::json {

// Thrown through yaml-cpp's parser, which offers no other way to stop; caught by the caller of the parser.
struct YamlError : std::exception {
  explicit YamlError(std::string m) : message(std::move(m)) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

// Returns the value of a scalar. `tag` as yaml-cpp reports it: "?" for unquoted, "!" for quoted, else the
// explicit tag. Throws YamlError if the text does not match its tag.
Value ResolveTagged(std::string_view tag, const std::string& text);

// The parts of a document, with tags resolved and aliases replaced.
struct YamlEvent {
  enum class Type { kScalar, kBeginArray, kEndArray, kBeginObject, kEndObject };
  Type type;
  bool is_merge = false;  // an unquoted <<
  Value scalar;
  int line = 0;  // of a scalar, from 1 on
};

// Builds a tree from the events of one document. Confined to one thread.
class YamlTreeBuilder {
 public:
  // Says of each duplicate key where it is (see ParseYaml), if `duplicates` is given; the last value wins.
  explicit YamlTreeBuilder(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

  // Throws YamlError for keys that cannot be strings and for merges of something that is not a mapping.
  void Feed(YamlEvent event);
  Value Take() { return std::move(root_); }

 private:
  struct Container {
    Value value;
    std::string key;  // of the member whose value comes next
    bool has_key = false;
    bool merges = false;  // that key is <<
    int line = 0;         // of that key
  };

  void Deliver(Value value, bool is_merge, int line);
  void AddMember(Container& top, Value value);
  void NoteDuplicate();

  std::vector<std::string>* const duplicates_;
  std::vector<Container> open_;
  Value root_;
};

}  // namespace flyball::json
