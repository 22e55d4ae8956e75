// --output=plaintext-openapiv2: as kubectl showed fields before OpenAPI v3.
#include <set>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/explain/field_schemas.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kWidth = 80, kFieldIndent = 3, kTextIndent = 5, kDescriptionIndent = 2;

bool IsListItem(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (line.starts_with("- ") || line.starts_with("* ")) return true;
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::size_t mark = line[digits] == '.' ? digits + 1 : digits;
  return mark < line.size() && line[mark] == ' ';
}

// Paragraphs as lines of at most `width` columns. Code, lists and what follows a colon keep their lines.
class Wrapper {
 public:
  explicit Wrapper(std::size_t width) : width_(width) {}

  std::vector<std::string> Wrap(std::string_view text) {
    for (const std::string& line : SplitText(text, '\n')) Take(line);
    Flush();
    return std::move(lines_);
  }

 private:
  void Take(const std::string& line) {
    const std::string_view bare = Trimmed(line);
    const bool code = line.starts_with("    ");
    const bool blank = bare.empty() && !lines_.empty();
    if (last_.ends_with(':') || code || bare.empty() || IsListItem(bare)) Flush();
    if (code || blank) {
      lines_.push_back(code ? line : "");
      return;
    }
    for (const std::string& word : SplitWords(bare)) Add(word);
  }
  void Add(const std::string& word) {
    if (!line_.empty() && line_.size() + 1 + word.size() > width_) Flush();
    line_ += (line_.empty() ? "" : " ") + word;
    last_ = word;
  }
  void Flush() {
    if (!line_.empty()) lines_.push_back(std::exchange(line_, {}));
    last_.clear();
  }

  const std::size_t width_;
  std::string line_, last_;
  std::vector<std::string> lines_;
};

class FieldTextV2 {
 public:
  FieldTextV2(const FieldSchemas& schemas, const Explanation& what, std::string* out)
      : schemas_(schemas), what_(what), out_(*out) {}

  Status Write() {
    const json::Value* schema = schemas_.Of(what_.kind);
    const KindRef& kind = what_.kind;
    if (!schema)
      return Unexpected(
          LocalError("couldn't find resource for \"" + kind.ApiVersion() + ", Kind=" + kind.kind + "\""));
    FLYBALL_ASSIGN(const json::Value* const field, schemas_.Follow(*schema, what_.path));
    const json::Value& resolved = schemas_.Resolve(*field);
    const bool has_fields = resolved["properties"].is_object();
    out_ += "KIND:     " + kind.kind + "\nVERSION:  " + kind.ApiVersion() + "\n\n";
    if (!what_.path.empty())
      out_ +=
          (has_fields ? "RESOURCE: " : "FIELD:    ") + what_.path.back() + " <" + TypeText(*field) + ">\n\n";
    WriteDescription(*field, resolved);
    if (!has_fields) return {};
    out_ += "\nFIELDS:\n";
    WriteFields(resolved, 1, kFieldIndent);
    return {};
  }

 private:
  void WriteWrapped(std::string_view text, std::size_t indent) {
    for (const std::string& line : Wrapper(kWidth - indent).Wrap(text))
      out_ += line.empty() ? "\n" : std::string(indent, ' ') + line + "\n";
  }
  void WriteDescription(const json::Value& field, const json::Value& resolved) {
    out_ += "DESCRIPTION:\n";
    const std::string_view own = field["description"].string_or("");
    const std::string_view type = &field == &resolved ? "" : resolved["description"].string_or("");
    if (!own.empty()) WriteWrapped(own, kTextIndent);
    if (!type.empty()) {
      out_ += "\n";
      WriteWrapped(type, kTextIndent);
    }
    if (own.empty() && type.empty()) WriteWrapped("<empty>", kTextIndent);
  }
  void WriteFields(const json::Value& owner, int level, std::size_t indent) {
    if (!owner["properties"].is_object()) return;
    json::Object fields = owner["properties"].as_object();
    fields.SortKeys();
    for (const auto& [name, field] : fields) {
      out_ += std::string(indent, ' ') + name + "\t<" + TypeText(field) + ">";
      if (what_.recursive) {
        out_ += "\n";
        if (what_.max_depth == 0 || level < what_.max_depth) WriteFieldsOf(field, level + 1, indent);
        continue;
      }
      out_ += std::string(IsRequiredField(owner, name) ? " -required-" : "") + "\n";
      WriteWrapped(field["description"].string_or(""), indent + kDescriptionIndent);
      out_ += "\n";
    }
  }
  void WriteFieldsOf(const json::Value& field, int level, std::size_t indent) {
    const json::Value& resolved = schemas_.Resolve(field);
    if (!open_.insert(&resolved).second) return;
    WriteFields(resolved, level, indent + kFieldIndent);
    open_.erase(&resolved);
  }
  // "Object" for everything that has fields.
  std::string TypeText(const json::Value& schema) const {
    if (const std::string name = FieldSchemas::ReferredName(schema); !name.empty())
      return TypeText(schemas_.Definition(name));
    if (schema["items"].is_object()) return "[]" + TypeText(schema["items"]);
    if (schema["additionalProperties"].is_object())
      return "map[string]" + TypeText(schema["additionalProperties"]);
    const std::string_view type = schema["type"].string_or("");
    if (type == "object") return schema["properties"].is_object() ? "Object" : "map[string]";
    return std::string(type);
  }

  const FieldSchemas& schemas_;
  const Explanation& what_;
  std::set<const json::Value*> open_;
  std::string& out_;
};

}  // namespace

Status ExplainFieldAsV2(const FieldSchemas& schemas, const Explanation& what, std::string* out) {
  return FieldTextV2(schemas, what, out).Write();
}

}  // namespace flyball::cli
