#include "api/custom/custom_kind.h"

#include <algorithm>
#include <array>

#include "api/wire/discovery.h"
#include "json/json.h"
#include "json/parse_without.h"

namespace flyball::api {

namespace {

using json::Value;

// Upstream's order for custom kinds, which clients see in discovery.
constexpr std::string_view kVerbs = "delete,deletecollection,get,list,patch,create,update,watch";
constexpr std::string_view kSubresourceVerbs = "get,patch,update";

std::string_view WithoutDot(std::string_view path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  return path;
}

const Value* FindVersion(const Value& spec, std::string_view name) {
  if (!spec["versions"].is_array()) return nullptr;
  for (const auto& version : spec["versions"].as_array())
    if (version["name"].string_or("") == name) return &version;
  return nullptr;
}

// The version upstream tells people to use instead of a deprecated one: the best served one that is not.
std::string_view Replacement(const Value& spec, std::string_view deprecated) {
  std::string_view best;
  for (const auto& version : spec["versions"].as_array()) {
    const auto name = version["name"].string_or("");
    if (!version["served"].bool_or(false) || version["deprecated"].bool_or(false)) continue;
    // Only a version that is newer or stabler than the deprecated one is a step forward.
    if (CompareVersions(name, deprecated) < 0 && (best.empty() || CompareVersions(name, best) < 0))
      best = name;
  }
  return best;
}

std::string DeprecationWarning(const Value& spec, const Value& version) {
  if (!version["deprecated"].bool_or(false)) return "";
  if (const auto given = version["deprecationWarning"].string_or(""); !given.empty())
    return std::string(given);
  const std::string group(spec["group"].string_or("")), kind(spec["names"]["kind"].string_or(""));
  const auto name = version["name"].string_or("");
  std::string out = group + '/' + std::string(name) + ' ' + kind + " is deprecated";
  if (const auto better = Replacement(spec, name); !better.empty())
    out += "; use " + group + '/' + std::string(better) + ' ' + kind;
  return out;
}

}  // namespace

Result<std::shared_ptr<const CustomKind>> CustomKind::Build(const Value& definition,
                                                            std::string_view version_name) {
  return Build(definition, version_name, MakeBytes(json::Write(definition)));
}

Result<std::shared_ptr<const CustomKind>> CustomKind::Build(const Value& definition,
                                                            std::string_view version_name, Bytes text) {
  const auto& spec = definition["spec"];
  const Value* version = FindVersion(spec, version_name);
  if (version == nullptr)
    return Unexpected(
        Error(Reason::kNotFound, "no version " + std::string(version_name) + " in the definition"));
  std::shared_ptr<CustomKind> kind(new CustomKind);
  kind->info_.version = kind->Own(version_name);
  kind->SetNames(spec);
  kind->SetColumns(*version);
  kind->SetSubresources(*version);
  kind->storage_ = (*version)["storage"].bool_or(false);
  kind->deprecation_warning_ = DeprecationWarning(spec, *version);
  kind->info_.type_source = kind.get();
  kind->info_.custom = true;
  kind->fingerprint_ = std::string(definition["metadata"]["uid"].string_or("")) + '/' +
                       std::to_string(definition["metadata"]["generation"].int_or(0));
  kind->Keep(std::move(text));
  return std::shared_ptr<const CustomKind>(std::move(kind));
}

Result<Value> CustomKind::ParseDefinition(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kLarge = {"spec.versions[*].schema",
                                                             "metadata.managedFields"};
  return json::ParseWithout(kLarge, text);
}

void CustomKind::Keep(Bytes text) const {
  MutexLock lock(mu_);
  text_ = std::move(text);
}

Value CustomKind::OpenApiSchema() const {
  Bytes text;
  {
    MutexLock lock(mu_);
    text = text_;
  }
  auto definition = json::Parse(*text);
  if (!definition) return Value();
  const Value* version = FindVersion(std::as_const(*definition)["spec"], info_.version);
  return version == nullptr ? Value() : (*version)["schema"]["openAPIV3Schema"];
}

const CustomSchema& CustomKind::schema() const {
  std::call_once(schema_once_, [this] {
    auto built = CustomSchema::Build(OpenApiSchema());
    // Too deep, which validation does not let through: anything goes then.
    if (!built) built = CustomSchema::Build(Value());
    schema_ = std::move(*built);
  });
  return *schema_;
}

void CustomKind::SetNames(const Value& spec) {
  const auto& names = spec["names"];
  info_.group = Own(spec["group"].string_or(""));
  info_.kind = Own(names["kind"].string_or(""));
  info_.plural = Own(names["plural"].string_or(""));
  info_.singular = Own(names["singular"].string_or(""));
  info_.namespaced = spec["scope"].string_or("") == "Namespaced";
  info_.verbs = kVerbs;
  list_kind_ = names["listKind"].string_or("");
  if (list_kind_.empty()) list_kind_ = std::string(info_.kind) + "List";
  const auto keep_all = [this](const Value& list, std::vector<std::string_view>& out) {
    if (list.is_array())
      for (const auto& name : list.as_array()) out.push_back(Own(name.string_or("")));
  };
  keep_all(names["shortNames"], short_names_);
  keep_all(names["categories"], categories_);
  info_.short_names = short_names_;
  info_.categories = categories_;
}

void CustomKind::SetColumns(const Value& version) {
  if (const auto& columns = version["additionalPrinterColumns"]; columns.is_array()) {
    for (const auto& column : columns.as_array())
      columns_.push_back({Own(column["name"].string_or("")), Own(column["type"].string_or("")),
                          Own(column["format"].string_or("")), Own(column["description"].string_or("")),
                          Own(column["jsonPath"].string_or("")),
                          static_cast<int>(column["priority"].int_or(0))});
  }
  if (const auto& fields = version["selectableFields"]; fields.is_array())
    for (const auto& field : fields.as_array())
      selectable_fields_.push_back(Own(WithoutDot(field["jsonPath"].string_or(""))));
  info_.columns = columns_;
  info_.selectable_fields = selectable_fields_;
}

void CustomKind::SetSubresources(const Value& version) {
  const auto& given = version["subresources"];
  has_status_ = given["status"].is_object();
  if (has_status_) subresources_.push_back({"status", "", "", "", kSubresourceVerbs});
  if (const auto& scale = given["scale"]; scale.is_object()) {
    scale_ = ScalePaths{std::string(WithoutDot(scale["specReplicasPath"].string_or(""))),
                        std::string(WithoutDot(scale["statusReplicasPath"].string_or(""))),
                        std::string(WithoutDot(scale["labelSelectorPath"].string_or("")))};
    subresources_.push_back({"scale", "autoscaling", "v1", "Scale", kSubresourceVerbs});
  }
  info_.subresources = subresources_;
}

}  // namespace flyball::api
