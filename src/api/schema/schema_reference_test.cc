// Compares the tables, line by line, with the facts collected from Kubernetes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "api/schema/schema.h"
#include "test_data/test_data.h"

namespace flyball::api {
namespace {

std::filesystem::path Reference(const char* name) {
  return ReferenceFolder() / name;
}

// "apps.v1.Deployment" as OpenAPI calls it.
std::string OpenApiName(const std::string& name) {
  const bool full = name.starts_with("apimachinery.") || name.starts_with("apiextensions-apiserver.") ||
                    name.starts_with("kube-aggregator.");
  return (full ? "io.k8s." : "io.k8s.api.") + name;
}

std::string TypeText(const TypeInfo& type, std::string_view package) {
  switch (type.kind) {
    case TypeKind::kString:
      return "s";
    case TypeKind::kInt32:
      return "i32";
    case TypeKind::kInt64:
      return "i64";
    case TypeKind::kFloat64:
      return "f64";
    case TypeKind::kBool:
      return "b";
    case TypeKind::kBytes:
      return "bytes";
    case TypeKind::kTime:
      return "time";
    case TypeKind::kMicroTime:
      return "utime";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kQuantity:
      return "qty";
    case TypeKind::kIntOrString:
      return "intstr";
    case TypeKind::kList:
      return "[" + TypeText(*type.element, package) + "]";
    case TypeKind::kMap:
      return "{" + TypeText(*type.element, package) + "}";
    default:
      break;
  }
  if (type.name.empty()) return type.kind == TypeKind::kRaw ? "raw" : "any";
  const std::string_view name = type.name;
  const std::string_view short_name = name.substr(name.rfind('.') + 1);
  if (name.substr(0, name.rfind('.')) == package) return std::string(short_name);
  if (name.find(".meta.") != std::string_view::npos) return "meta." + std::string(short_name);
  constexpr std::string_view kApi = "io.k8s.api.";
  const std::string_view group = name.substr(kApi.size(), name.rfind('.') - kApi.size());
  return (group == "core.v1" ? "core" : std::string(group)) + "." + std::string(short_name);
}

std::string StrategyText(const FieldInfo& field) {
  static const std::map<PatchStrategy, std::string> names = {
      {PatchStrategy::kReplace, "replace"},
      {PatchStrategy::kMerge, "merge"},
      {PatchStrategy::kRetainKeys, "retainKeys"},
      {PatchStrategy::kMergeRetainKeys, "merge,retainKeys"}};
  if (field.patch == PatchStrategy::kDefault) return "";
  std::string text = " smp:" + names.at(field.patch);
  return field.patch_key.empty() ? text : text.append(":").append(field.patch_key);
}

std::string ListText(const TypeInfo& type) {
  if (type.kind != TypeKind::kList) return "";
  if (!type.list_type_declared) return " nolt";
  if (type.list_type == ListType::kAtomic) return "";
  if (type.list_type == ListType::kSet) return " set";
  std::string text = " map:";
  for (const std::string_view key : type.list_keys) text.append(key).append(",");
  text.pop_back();
  return text;
}

// A field in the words of the reference.
std::string FieldText(const FieldInfo& field, std::string_view package) {
  std::string text(field.name);
  text.append(" ").append(TypeText(*field.type, package));
  if ((field.always && !field.optional) || field.demanded) text.append("!");
  // APIResource.verbs: a list that is a message of its own; the reference does not show that.
  const bool named_list = field.name == "verbs" && field.proto[0] == 4;
  for (std::size_t i = 0; i < (named_list ? 1 : field.proto.size()) && field.proto[i] != 0; ++i)
    text.append(i == 0 ? " " : ".").append(std::to_string(field.proto[i]));
  if (field.default_published) text.append(" =").append(field.default_json);
  text += ListText(*field.type) + StrategyText(field);
  return field.atomic ? text + " atomic" : text;
}

class FieldsReference : public testing::Test {
 protected:
  void StartType(const std::string& line) {
    std::istringstream words(line);
    std::string keyword, name, attribute;
    words >> keyword >> name >> attribute;
    type_ = FindType(OpenApiName(name));
    ASSERT_NE(type_, nullptr) << line;
    package_ = type_->name.substr(0, type_->name.rfind('.'));
    EXPECT_EQ(type_->atomic, attribute == "atomic") << line;
    EXPECT_EQ(!type_->union_fields.empty(), attribute.starts_with("union=")) << line;
    ++types_;
  }

  void CheckField(const std::string& line) {
    const FieldInfo* field = type_->FindField(line.substr(0, line.find(' ')));
    ASSERT_NE(field, nullptr) << type_->name << ": " << line;
    EXPECT_EQ(FieldText(*field, package_), line) << type_->name;
    ++fields_;
  }

  const TypeInfo* type_ = nullptr;
  std::string_view package_;
  int types_ = 0, fields_ = 0;
};

TEST_F(FieldsReference, EveryTypeAndFieldIsAsRecorded) {
  std::ifstream file(Reference("api-fields.txt"));
  ASSERT_TRUE(file) << "no reference: " << Reference("api-fields.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == ' ') {
      CheckField(line.substr(1));
    } else {
      StartType(line);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(types_, 400);
  EXPECT_GT(fields_, 1900);
}

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ",").append(word);
  return text;
}

// A kind as a line of api-resources.tsv.
std::string ResourceText(const KindInfo& kind) {
  std::string subresources;
  for (const SubresourceInfo& sub : kind.subresources)
    subresources.append(subresources.empty() ? "" : ",").append(sub.name);
  std::string text = kind.ApiVersion();
  for (const std::string& part :
       {std::string(kind.kind), std::string(kind.plural), std::string(kind.namespaced ? "ns" : "cluster"),
        Joined(kind.short_names), subresources, std::string(kind.verbs), Joined(kind.categories)})
    text.append("\t").append(part);
  return text;
}

TEST(ResourcesReference, EveryResourceOfAStableGroupIsAsRecorded) {
  std::ifstream file(Reference("api-resources.tsv"));
  ASSERT_TRUE(file) << "no reference: " << Reference("api-resources.tsv");
  std::map<std::string, std::string> ours;
  for (const KindInfo& kind : BuiltinKinds())
    ours[kind.ApiVersion() + " " + std::string(kind.kind)] = ResourceText(kind);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string version, kind;
    std::getline(std::getline(words, version, '\t'), kind, '\t');
    if (version.find("alpha") != std::string::npos || version.find("beta") != std::string::npos) continue;
    EXPECT_EQ(ours[version + " " + kind], line);
    ours.erase(version + " " + kind);
  }
  for (const auto& [key, text] : ours) ADD_FAILURE() << "not in the reference: " << key;
}

}  // namespace
}  // namespace flyball::api
