#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "json/json.h"
#include "json/utf8.h"
#include "json/yaml/yaml.h"
#include "json/yaml/yaml_core.h"
#include "json/yaml/yaml_tree.h"

namespace flyball::json {
namespace {

// Which unquoted words are booleans: many in YAML 1.1, true and false in the core schema of 1.2.
enum class YamlTypes { kVersion11, kCore };

// Returns "line 3: " for the line of index 2, and nothing for the first line, as go-yaml does. `shift` is -1
// where go-yaml counts from 0.
std::string LineOf(const YAML::Mark& mark, int shift = 0) {
  return mark.line > 0 ? "line " + std::to_string(mark.line + 1 + shift) + ": " : "";
}

// yaml-cpp turns the escapes \N and \_ into the single bytes 85 and A0 instead of their UTF-8 encoding. The
// input is known to be UTF-8, so no other invalid bytes occur.
std::string WithRepairedEscapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text, i);
    if (length == 0) out += '\xc2';
    const std::size_t count = std::max<std::size_t>(length, 1);
    out.append(text, i, count);
    i += count;
  }
  return out;
}

// Rejects documents that consist mostly of repetition, with go-yaml's numbers: 99 % of a document of up to
// 400,000 nodes may come from aliases, 10 % from 4,000,000 nodes on, and in between a proportional share.
class AliasBudget {
 public:
  void Count(bool from_alias) {
    ++nodes_;
    if (from_alias) ++aliased_;
    if (aliased_ > 100 && nodes_ > 1000 && aliased_ / nodes_ > Allowed())
      throw YamlError("yaml: document contains excessive aliasing");
  }

 private:
  double Allowed() const {
    constexpr double kLow = 400000, kHigh = 4000000;
    return 0.99 - 0.89 * (std::clamp(nodes_, kLow, kHigh) - kLow) / (kHigh - kLow);
  }
  double nodes_ = 0, aliased_ = 0;
};

// Receives one document from yaml-cpp. The content of an anchor is kept as events and replayed for every
// alias.
class DocumentHandler : public YAML::EventHandler {
 public:
  // `text` is the whole stream. Its first document may start without "---".
  DocumentHandler(std::string_view text, bool is_first, std::vector<std::string>* duplicates, YamlTypes types)
      : text_(text), is_first_(is_first), types_(types), builder_(duplicates) {}

  Value Take() { return builder_.Take(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const auto at = std::min(static_cast<std::size_t>(mark.pos), text_.size());
    if (!is_first_ && !text_.substr(at).starts_with("---"))
      throw YamlError("yaml: " + LineOf(mark, -1) + "did not find expected <document start>");
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string& name) override { anchor_name_ = name; }

  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override {
    Scalar({YamlEvent::Type::kScalar, false, {}}, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& raw) override {
    const std::string text = WithRepairedEscapes(raw);
    Value value = ResolveTagged(tag, text);
    // "yes", "n", "on": the booleans that are not spelled true or false.
    if (types_ == YamlTypes::kCore && tag == "?" && value.is_bool() && !IsTrueOrFalse(text)) value = text;
    if (value.is_double() && !std::isfinite(value.as_double())) {
      const double d = value.as_double();
      throw YamlError(std::string("json: unsupported value: ") + (std::isnan(d) ? "NaN"
                                                                  : d > 0       ? "+Inf"
                                                                                : "-Inf"));
    }
    const bool is_merge = text == "<<" && (tag == "?" || tag == "tag:yaml.org,2002:merge");
    Scalar({YamlEvent::Type::kScalar, is_merge, std::move(value), mark.line + 1}, anchor);
  }

  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(YamlEvent::Type::kBeginArray, anchor);
  }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(YamlEvent::Type::kBeginObject, anchor);
  }
  void OnSequenceEnd() override { End(YamlEvent::Type::kEndArray); }
  void OnMapEnd() override { End(YamlEvent::Type::kEndObject); }

  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const Range range = anchored_[anchor];
    if (range.end == kOpen) throw YamlError("yaml: anchor '" + range.name + "' value contains itself");
    for (std::size_t i = range.begin; i < range.end; ++i) Emit(YamlEvent(events_[i]), true);
  }

 private:
  static constexpr std::size_t kOpen = 0;
  struct Range {
    std::size_t begin = 0, end = kOpen;
    std::string name;
  };

  void Scalar(YamlEvent event, YAML::anchor_t anchor) {
    BeginAnchor(anchor);
    Emit(std::move(event), false);
    EndAnchor(anchor);
  }

  void Begin(YamlEvent::Type type, YAML::anchor_t anchor) {
    BeginAnchor(anchor);
    open_anchors_.push_back(anchor);
    Emit({type, false, {}}, false);
  }

  void End(YamlEvent::Type type) {
    Emit({type, false, {}}, false);
    EndAnchor(open_anchors_.back());
    open_anchors_.pop_back();
  }

  void BeginAnchor(YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchored_[anchor] = Range{events_.size(), kOpen, anchor_name_};
  }
  void EndAnchor(YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchored_[anchor].end = events_.size();
  }

  void Emit(YamlEvent event, bool from_alias) {
    if (event.type != YamlEvent::Type::kEndArray && event.type != YamlEvent::Type::kEndObject)
      budget_.Count(from_alias);
    if (!anchored_.empty()) events_.push_back(event);
    builder_.Feed(std::move(event));
  }

  static bool IsTrueOrFalse(std::string_view text) { return text.size() > 3 && (text.back() | 0x20) == 'e'; }

  const std::string_view text_;
  const bool is_first_;
  const YamlTypes types_;
  AliasBudget budget_;
  YamlTreeBuilder builder_;
  std::string anchor_name_;
  std::unordered_map<YAML::anchor_t, Range> anchored_;
  std::vector<YAML::anchor_t> open_anchors_;  // one per open container; NullAnchor for most
  std::vector<YamlEvent> events_;             // all events since the first anchor, with aliases replaced
};

// Checks that the next document starts correctly, and reads no further.
class NextDocumentProbe : public DocumentHandler {
 public:
  struct Stop {};
  explicit NextDocumentProbe(std::string_view text)
      : DocumentHandler(text, false, nullptr, YamlTypes::kVersion11) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    DocumentHandler::OnDocumentStart(mark);
    throw Stop();
  }
};

constexpr std::string_view kEndMarker = "...\n";

// Translates yaml-cpp's messages to those of libyaml, which people know from Kubernetes.
struct Wording {
  std::string_view theirs, known;
  bool from_parser;  // libyaml counts lines from 0 in these messages
};
constexpr Wording kWordings[] = {
    {"illegal map value", "mapping values are not allowed in this context", false},
    {"illegal map key", "mapping keys are not allowed in this context", false},
    {"illegal block entry", "block sequence entries are not allowed in this context", false},
    {"illegal tab when looking for indentation", "found a tab character that violates indentation", false},
    {"illegal EOF in scalar", "found unexpected end of stream", false},
    {"unknown token", "found character that cannot start any token", false},
    {"unknown escape character", "found unknown escape character", false},
    {"invalid unicode", "found invalid Unicode character escape code", false},
    {"end of sequence flow not found", "did not find expected ',' or ']'", true},
    {"end of map flow not found", "did not find expected ',' or '}'", true},
    {"end of map not found", "did not find expected key", true},
    {"illegal flow end", "did not find expected key", true},
    {"end of sequence not found", "did not find expected '-' indicator", true},
};

std::string AnchorAt(std::string_view text, const YAML::Mark& mark) {
  text.remove_prefix(std::min(static_cast<std::size_t>(mark.pos), text.size()));
  if (text.starts_with('*')) text.remove_prefix(1);
  return std::string(text.substr(0, text.find_first_of(" \t\r\n,[]{}")));
}

std::string Describe(const YAML::Exception& e, std::string_view text) {
  if (e.msg.starts_with("the referenced anchor is not defined"))
    return "yaml: unknown anchor '" + AnchorAt(text, e.mark) + "' referenced";
  // The end marker we added is only reached inside a quoted scalar that is not closed.
  if (e.msg.starts_with("illegal document indicator in scalar") &&
      static_cast<std::size_t>(e.mark.pos) + kEndMarker.size() >= text.size())
    return "yaml: " + LineOf(e.mark) + "found unexpected end of stream";
  for (const auto& [theirs, known, from_parser] : kWordings) {
    if (e.msg.starts_with(theirs))
      return "yaml: " + LineOf(e.mark, from_parser ? -1 : 0) + std::string(known);
  }
  return "yaml: " + LineOf(e.mark) + e.msg;
}

// Checks what libyaml's reader rejects before parsing.
Status CheckCharacters(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return Unexpected(
          BadRequest("error converting YAML to JSON: yaml: control characters are not allowed"));
    const std::size_t length = Utf8Length(text, i);
    if (length == 0)
      return Unexpected(BadRequest("error converting YAML to JSON: yaml: invalid leading UTF-8 octet"));
    i += length;
  }
  return {};
}

// Returns the text with an explicit end marker. Without it, yaml-cpp takes the end of the input as the end of
// a quoted scalar if a line break precedes it.
std::string WithEnd(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t");
  if (end == std::string_view::npos || text[end] != '\n') return std::string(text);
  return std::string(text.substr(0, end + 1)).append(kEndMarker);
}

// Passes every document to `each`, until it returns false.
template <typename Each>
Status ForEachDocument(std::string_view text, std::vector<std::string>* duplicates, YamlTypes types,
                       Each each) {
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);  // a byte order mark, which positions do not count
  FLYBALL_TRY(CheckCharacters(text));
  const std::string input = WithEnd(text);
  std::string problem;
  try {
    std::istringstream stream(input);
    YAML::Parser parser(stream);
    for (bool is_first = true;; is_first = false) {
      DocumentHandler handler(input, is_first, duplicates, types);
      if (!parser.HandleNextDocument(handler)) return {};
      if (each(handler.Take())) continue;
      NextDocumentProbe probe(input);
      parser.HandleNextDocument(probe);
      return {};
    }
  } catch (const NextDocumentProbe::Stop&) {
    return {};
  } catch (const YAML::Exception& e) {
    problem = Describe(e, input);
  } catch (const std::bad_alloc&) {
    return Unexpected(OutOfMemory());  // not the sender's fault
  } catch (const std::exception& e) {
    problem = e.what();
  } catch (...) {
    problem = "yaml: unknown problem parsing YAML content";
  }
  return Unexpected(BadRequest("error converting YAML to JSON: " + problem));
}

// Most input sent as YAML is JSON, which the JSON parser reads a hundred times faster.
std::optional<Value> ParseAsJson(std::string_view text, std::vector<std::string>* duplicates) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return std::nullopt;
  std::vector<std::string> paths;
  auto json = Parse(text, {.duplicates = duplicates ? &paths : nullptr});
  // Where duplicates are only the other parser knows.
  return json && paths.empty() ? std::optional(std::move(*json)) : std::nullopt;
}

Result<Value> ParseDocument(std::string_view text, std::vector<std::string>* duplicates, YamlTypes types) {
  if (auto json = ParseAsJson(text, duplicates)) return *std::move(json);
  Value value;
  FLYBALL_TRY(ForEachDocument(text, duplicates, types, [&](Value document) {
    value = std::move(document);
    return false;
  }));
  return value;
}

}  // namespace

Result<Value> ParseYaml(std::string_view text, std::vector<std::string>* duplicates) {
  return ParseDocument(text, duplicates, YamlTypes::kVersion11);
}

Result<Value> ParseYamlCore(std::string_view text) {
  return ParseDocument(text, nullptr, YamlTypes::kCore);
}

std::string YamlErrorsText(const std::vector<std::string>& errors) {
  std::string text = "yaml: unmarshal errors:";
  for (const std::string& error : errors) text += "\n  " + error;
  return text;
}

Result<std::vector<Value>> ParseYamlStream(std::string_view text) {
  std::vector<Value> documents;
  if (auto json = ParseAsJson(text, nullptr)) {
    documents.push_back(*std::move(json));
    return documents;
  }
  FLYBALL_TRY(ForEachDocument(text, nullptr, YamlTypes::kVersion11, [&](Value document) {
    if (!document.is_null()) documents.push_back(std::move(document));
    return true;
  }));
  return documents;
}

}  // namespace flyball::json
