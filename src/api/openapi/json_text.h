// JsonText: writes JSON without a tree in between. Confined to the function that makes the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "json/value.h"

namespace flyball::api {

class JsonText {
 public:
  // {"a": ..., "b": [...]}: braces are written around what the body writes.
  template <typename Body>
  void Object(Body body) {
    Open('{');
    body();
    Close('}');
  }
  template <typename Body>
  void Object(std::string_view key, Body body) {
    Key(key);
    Object(std::move(body));
  }
  template <typename Body>
  void Array(std::string_view key, Body body) {
    Key(key);
    Open('[');
    body();
    Close(']');
  }

  void String(std::string_view value) {
    Separate();
    json::AppendQuoted(value, out_);
  }
  void String(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  void Bool(std::string_view key, bool value) {
    Key(key);
    Raw(value ? "true" : "false");
  }
  void Int(std::string_view key, std::int64_t value) {
    Key(key);
    Raw(std::to_string(value));
  }
  void Value(std::string_view key, const json::Value& value) {
    Key(key);
    Separate();
    json::WriteTo(value, out_);
  }
  // JSON that is text already.
  void Raw(std::string_view json) {
    Separate();
    out_ += json;
  }
  void Raw(std::string_view key, std::string_view json) {
    Key(key);
    Raw(json);
  }
  void Key(std::string_view key) {
    String(key);
    out_ += ':';
    first_ = true;
  }

  void Reserve(std::size_t bytes) { out_.reserve(bytes); }
  std::string Take() { return std::move(out_); }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void Open(char c) {
    Separate();
    out_ += c;
    first_ = true;
  }
  void Close(char c) {
    out_ += c;
    first_ = false;
  }

  std::string out_;
  bool first_ = true;  // nothing before the next value that would need a comma
};

}  // namespace flyball::api
