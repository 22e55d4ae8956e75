#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct ExplainFlags {
  std::vector<std::string> args;
  std::string api_version;
  bool recursive = false;
};

constexpr std::size_t kTextWidth = 76;

// The schemas of one group and version, as the server publishes them (OpenAPI v3).
class Schemas {
 public:
  static Result<Schemas> Load(Session& session, const KindRef& kind) {
    RestRequest request;
    request.path = "/openapi/v3/" + (kind.group.empty() ? "api/v1" : "apis/" + kind.ApiVersion());
    FLYBALL_ASSIGN(json::Value document, session.Call(std::move(request)));
    return Schemas(std::move(document));
  }

  const json::Value* Of(const KindRef& kind) const {
    for (const auto& member : all().as_object())
      for (const json::Value& gvk : Elements(member.second["x-kubernetes-group-version-kind"]))
        if (gvk["group"].string_or("") == kind.group && gvk["version"].string_or("") == kind.version &&
            gvk["kind"].string_or("") == kind.kind)
          return &member.second;
    return nullptr;
  }

  // The schema that describes the members: follows references, and takes the element of lists and maps.
  const json::Value& Resolve(const json::Value& schema) const {
    if (const std::string name = ReferredName(schema); !name.empty()) return Resolve(all()[name]);
    if (schema["items"].is_object()) return Resolve(schema["items"]);
    if (schema["additionalProperties"].is_object()) return Resolve(schema["additionalProperties"]);
    return schema;
  }

  // "string", "[]Container", "map[string]string", "ObjectMeta".
  std::string TypeText(const json::Value& schema) const {
    if (const std::string name = ReferredName(schema); !name.empty()) {
      // A time is a string to the reader.
      if (all()[name]["type"].string_or("") == "string") return "string";
      return name.substr(name.rfind('.') + 1);
    }
    if (schema["items"].is_object()) return "[]" + TypeText(schema["items"]);
    if (schema["additionalProperties"].is_object())
      return "map[string]" + TypeText(schema["additionalProperties"]);
    if (!schema["type"].is_string()) return "Object";
    const std::string type(schema["type"].as_string());
    return type == "object" ? "Object" : type;
  }

 private:
  explicit Schemas(json::Value document) : document_(std::move(document)) {}
  const json::Value& all() const { return std::as_const(document_)["components"]["schemas"]; }

  static std::string ReferredName(const json::Value& schema) {
    const auto& alternatives = Elements(schema["allOf"]);
    const json::Value& ref = alternatives.size() == 1 ? alternatives[0]["$ref"] : schema["$ref"];
    const std::string text(ref.string_or(""));
    return text.empty() ? "" : text.substr(text.rfind('/') + 1);
  }

  json::Value document_;
};

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

bool IsRequired(const json::Value& owner, std::string_view field) {
  const auto& required = Elements(owner["required"]);
  return std::any_of(required.begin(), required.end(),
                     [&](const json::Value& name) { return name.string_or("") == field; });
}

std::string Joined(const json::Value& values, const std::string& before, const std::string& between) {
  std::vector<std::string> texts;
  for (const json::Value& value : Elements(values)) texts.emplace_back(value.string_or(""));
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? before : between) + text;
  return out;
}

void PrintFields(Session& session, const Schemas& schemas, const json::Value& owner, bool recursive,
                 const std::string& indent) {
  if (!owner["properties"].is_object()) return;
  json::Object fields = owner["properties"].as_object();
  fields.SortKeys();
  for (const auto& [name, field] : fields) {
    session.out() << indent << name << "\t<" << schemas.TypeText(field) << ">"
                  << (IsRequired(owner, name) ? " -required-" : "") << "\n";
    const json::Value& resolved = schemas.Resolve(field);
    json::Array sorted = Elements(field["enum"]);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.string_or("") < b.string_or(""); });
    if (!sorted.empty()) session.out() << indent << Joined(sorted, "enum: ", ", ") << "\n";
    if (recursive) {
      // A schema that contains itself is printed once.
      if (&resolved != &owner && indent.size() < 60)
        PrintFields(session, schemas, resolved, true, indent + "  ");
      continue;
    }
    session.out() << Wrapped(field["description"].string_or("<no description>"), indent + "  ") << "\n";
  }
}

void PrintHeader(Session& session, const KindRef& kind) {
  if (!kind.group.empty()) session.out() << "GROUP:      " << kind.group << "\n";
  session.out() << "KIND:       " << kind.kind << "\nVERSION:    " << kind.version << "\n\n";
}

void PrintDescription(Session& session, const json::Value& field, const json::Value& resolved) {
  session.out() << "DESCRIPTION:\n";
  const std::string_view own = field["description"].string_or("");
  const std::string_view type = resolved["description"].string_or("");
  if (own.empty() && type.empty()) session.out() << "    <empty>\n";
  if (!own.empty()) session.out() << Wrapped(own, "    ");
  if (!type.empty() && &field != &resolved) session.out() << Wrapped(type, "    ");
  session.out() << "    \n";
}

Status RunExplain(Session& session, const ExplainFlags& flags) {
  if (flags.args.size() != 1)
    return Unexpected(
        LocalError("You must specify the type of resource to explain. Use \"kubectl "
                   "api-resources\" for a complete list of supported resources."));
  std::vector<std::string> path = SplitText(flags.args[0], '.');
  const auto resources = ParseResourceArgs(session, {path[0]});
  if (!resources) return Unexpected(PlainError(resources.error().message()));
  KindRef kind = (*resources)[0].kind;
  if (!flags.api_version.empty()) {
    const auto [group, version] = SplitApiVersion(flags.api_version);
    FLYBALL_ASSIGN(kind, session.mapper().ForKind(group, version, kind.kind));
  }
  FLYBALL_ASSIGN(const Schemas schemas, Schemas::Load(session, kind));
  const json::Value* field = schemas.Of(kind);
  if (!field)
    return Unexpected(
        LocalError("couldn't find resource for \"" + kind.ApiVersion() + ", Kind=" + kind.kind + "\""));
  PrintHeader(session, kind);
  for (std::size_t i = 1; i < path.size(); ++i) {
    field = &schemas.Resolve(*field)["properties"][path[i]];
    if (field->is_null()) return Unexpected(LocalError("field \"" + path[i] + "\" does not exist"));
  }
  const json::Value& resolved = schemas.Resolve(*field);
  if (path.size() > 1) {
    session.out() << "FIELD: " << path.back() << " <" << schemas.TypeText(*field) << ">\n";
    const std::string values = Joined((*field)["enum"], "ENUM:\n    ", "\n    ");
    session.out() << (values.empty() ? "\n" : values + "\n") << "\n";
  }
  PrintDescription(session, *field, resolved);
  if (!resolved["properties"].is_object()) {
    session.out() << "\n";
    return {};
  }
  session.out() << "FIELDS:\n";
  PrintFields(session, schemas, resolved, flags.recursive, "  ");
  session.out() << "\n";
  return {};
}

}  // namespace

void AddExplainCommand(const Command& root) {
  auto flags = std::make_shared<ExplainFlags>();
  const Command command = root.Sub("explain", "Say what the fields of a kind mean",
                                   "flyball explain deploy\n  flyball explain pod.spec.containers.env");
  command.Args("TYPE[.FIELD...]", &flags->args, "A kind, or a field of it");
  command.Option("--api-version", &flags->api_version, "Of which group and version: apps/v1");
  command.Flag("--recursive", &flags->recursive, "All fields below, without their descriptions");
  RunVerb(command, [flags](Session& session) { return RunExplain(session, *flags); });
}

}  // namespace flyball::cli
