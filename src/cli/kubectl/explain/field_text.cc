// --output=plaintext.
#include <algorithm>
#include <set>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/explain/field_schemas.h"
#include "cli/kubectl/session/elements.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kTextWidth = 76;
constexpr std::size_t kShownValues = 4;  // of an enumeration, in a list of fields

// Wraps text to at most kTextWidth columns, between words, with each line indented.
std::string Wrapped(std::string_view text, const std::string& indent) {
  std::string out;
  for (const std::string& paragraph : SplitText(text, '\n')) {
    std::string line;
    for (const std::string& word : SplitText(paragraph, ' ')) {
      if (!line.empty() && line.size() + 1 + word.size() > kTextWidth) {
        out += indent + line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    out += indent + line + "\n";
  }
  return out;
}

std::vector<std::string> ValuesOf(const json::Value& field) {
  std::vector<std::string> values;
  for (const json::Value& value : Elements(field["enum"])) {
    const std::string_view text = value.string_or("");
    values.emplace_back(text.empty() ? "\"\"" : text);
  }
  return values;
}

// One explanation. Confined to it.
class FieldText {
 public:
  FieldText(const FieldSchemas& schemas, const Explanation& what, std::string* out)
      : schemas_(schemas), what_(what), out_(*out) {}

  Status Write() {
    const json::Value* schema = schemas_.Of(what_.kind);
    if (!schema)
      return Unexpected(LocalError("GVR (" + what_.kind.ApiVersion() + ", Resource=" + what_.kind.plural +
                                   ") not found in OpenAPI schema"));
    WriteKind();
    FLYBALL_ASSIGN(const json::Value* const field, schemas_.Follow(*schema, what_.path));
    if (!what_.path.empty()) WriteField(*field);
    const json::Value& resolved = schemas_.Resolve(*field);
    WriteDescription(*field, resolved);
    if (resolved["properties"].is_object()) {
      out_ += "FIELDS:\n";
      WriteFields(resolved, 1);
    }
    out_ += "\n";
    return {};
  }

 private:
  void WriteKind() {
    if (!what_.kind.group.empty()) out_ += "GROUP:      " + what_.kind.group + "\n";
    out_ += "KIND:       " + what_.kind.kind + "\nVERSION:    " + what_.kind.version + "\n\n";
  }
  void WriteField(const json::Value& field) {
    out_ += "FIELD: " + what_.path.back() + " <" + TypeText(field) + ">\n";
    const auto values = ValuesOf(field);
    if (!values.empty()) out_ += "ENUM:";
    for (const std::string& value : values) out_ += "\n    " + value;
    out_ += "\n\n";
  }
  void WriteDescription(const json::Value& field, const json::Value& resolved) {
    out_ += "DESCRIPTION:\n";
    const std::string_view own = field["description"].string_or("");
    const std::string_view type = resolved["description"].string_or("");
    if (own.empty() && type.empty()) out_ += "    <empty>\n";
    if (!own.empty()) out_ += Wrapped(own, "    ");
    if (!type.empty() && &field != &resolved) out_ += Wrapped(type, "    ");
    out_ += "    \n";
  }
  void WriteFields(const json::Value& owner, int level) {
    if (!owner["properties"].is_object()) return;
    const std::string indent(static_cast<std::size_t>(level) * 2, ' ');
    json::Object fields = owner["properties"].as_object();
    fields.SortKeys();
    for (const auto& [name, field] : fields) {
      out_ += indent + name + "\t<" + TypeText(field) + ">" +
              (IsRequiredField(owner, name) ? " -required-" : "") + "\n" + ShownValues(field, indent);
      if (!what_.recursive)
        out_ += Wrapped(field["description"].string_or("<no description>"), indent + "  ") + "\n";
      else if (what_.max_depth == 0 || level < what_.max_depth)
        WriteFieldsOf(field, level + 1);
    }
  }
  // A definition that contains itself is shown once.
  void WriteFieldsOf(const json::Value& field, int level) {
    const json::Value& resolved = schemas_.Resolve(field);
    if (!open_.insert(&resolved).second) return;
    WriteFields(resolved, level);
    open_.erase(&resolved);
  }
  static std::string ShownValues(const json::Value& field, const std::string& indent) {
    const auto values = ValuesOf(field);
    std::string out;
    for (std::size_t i = 0; i < std::min(values.size(), kShownValues); ++i)
      out += (out.empty() ? indent + "enum: " : ", ") + values[i];
    if (values.size() > kShownValues) out += ", ....";
    return out.empty() ? out : out + "\n";
  }
  // "string", "[]Container", "map[string]string", "ObjectMeta".
  std::string TypeText(const json::Value& schema) const {
    if (const std::string name = FieldSchemas::ReferredName(schema); !name.empty()) {
      // A time is a string to the reader.
      const std::string_view type = schemas_.Definition(name)["type"].string_or("object");
      return type == "object" ? name.substr(name.rfind('.') + 1) : std::string(type);
    }
    if (schema["items"].is_object()) return "[]" + TypeText(schema["items"]);
    if (schema["additionalProperties"].is_object())
      return "map[string]" + TypeText(schema["additionalProperties"]);
    const std::string_view type = schema["type"].string_or("object");
    return type == "object" ? "Object" : std::string(type);
  }

  const FieldSchemas& schemas_;
  const Explanation& what_;
  std::set<const json::Value*> open_;  // what is being shown
  std::string& out_;
};

}  // namespace

Status ExplainField(const FieldSchemas& schemas, const Explanation& what, std::string* out) {
  return FieldText(schemas, what, out).Write();
}

}  // namespace flyball::cli
