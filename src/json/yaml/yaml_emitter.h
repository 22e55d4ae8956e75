// YamlEmitter: lays out YAML as libyaml's emitter does, because kubectl's output has that layout. Private to
// the module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyball::json {

// Block style, two spaces per level, lines folded after column 80. The calls describe a document in order: a
// scalar or a collection for the root; within a collection, items, or keys and values. Confined to one
// thread.
class YamlEmitter {
 public:
  enum class Style { kPlain, kDoubleQuoted, kLiteral };

  explicit YamlEmitter(std::string& out) : out_(out) {}

  // Call before every item of a sequence, and before the key and the value of every member of a mapping.
  void BeginItem();
  void BeginKey(std::string_view key);
  void BeginValue();

  // `style` is a preference: text that it cannot represent is quoted.
  void Scalar(std::string_view text, Style style);
  // Writes an empty collection.
  void Flow(std::string_view brackets);

  // For collections that are not empty.
  void BeginMapping();
  void BeginSequence();
  void EndCollection();

  // Ends the document with a line break.
  void Finish();

 private:
  // Which styles a text allows.
  struct Analysis {
    bool multiline = false;
    bool plain = true, single_quoted = true, block = true;
  };
  // The position of the next node.
  enum class Context { kRoot, kItem, kKey, kSimpleKey, kValue };

  static Analysis Analyze(std::string_view text);

  void Put(char c);
  void PutBreak();
  void Copy(std::string_view text, std::size_t& i);
  void CopyBreak(std::string_view text, std::size_t& i);
  void WriteIndent();
  void WriteIndicator(std::string_view indicator, bool need_space, bool is_indention);
  void IncreaseIndent(bool flow, bool indentless);
  void DecreaseIndent();

  void WritePlain(std::string_view text, bool allow_breaks);
  void WriteSingleQuoted(std::string_view text, bool allow_breaks);
  void WriteDoubleQuoted(std::string_view text, bool allow_breaks);
  void WriteEscape(unsigned code);
  void WriteLiteral(std::string_view text);

  std::string& out_;
  Context context_ = Context::kRoot;
  int column_ = 0;
  int indent_ = -1;
  std::vector<int> outer_indents_;
  bool whitespace_ = true;  // the last thing written was a separator
  bool indention_ = true;   // only indentation and indicators on this line so far
  bool simple_key_ = true;  // the last key was written without "? "
};

}  // namespace flyball::json
