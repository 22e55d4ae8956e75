#include "cel/library/environment.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "base/run/mutex.h"
#include "cel/library/library_builder.h"

namespace flyball::cel {
namespace {

void CollectParams(const Type* type, std::vector<const Type*>& params) {
  if (type->kind == TypeKind::kTypeParam && std::find(params.begin(), params.end(), type) == params.end())
    params.push_back(type);
  for (const Type* param : type->params) CollectParams(param, params);
}

}  // namespace

FunctionDecl& LibraryBuilder::Function(std::string_view name) {
  auto& function = environment_.functions_[std::string(name)];
  if (!function) {
    function = std::make_unique<FunctionDecl>();
    function->name = name;
  }
  return *function;
}

Overload& LibraryBuilder::Add(std::string_view name, Overload overload) {
  CollectParams(overload.result, overload.params);
  for (const Type* arg : overload.args) CollectParams(arg, overload.params);
  overload.stops_at_error = overload.args.size() > 2;
  return Function(name).overloads.emplace_back(std::move(overload));
}

Overload& LibraryBuilder::Global(std::string_view name, std::string id, std::vector<const Type*> args,
                                 const Type* result, NativeFunction call, CostRule cost) {
  return Add(name, {.id = std::move(id),
                    .member = false,
                    .args = std::move(args),
                    .result = result,
                    .call = call,
                    .cost = cost});
}

Overload& LibraryBuilder::Member(std::string_view name, std::string id, std::vector<const Type*> args,
                                 const Type* result, NativeFunction call, CostRule cost) {
  return Add(name, {.id = std::move(id),
                    .member = true,
                    .args = std::move(args),
                    .result = result,
                    .call = call,
                    .cost = cost});
}

void LibraryBuilder::Singleton(std::string_view name, NativeFunction call, Trait trait) {
  FunctionDecl& function = Function(name);
  function.singleton = call;
  function.trait = trait;
}

const Type* LibraryBuilder::param(std::string_view name) {
  const Type*& type = params_[std::string(name)];
  if (!type) type = types().Param(std::string(name));
  return type;
}

Environment::Environment(int minor, bool mutation) : mutation_(mutation) {
  parser_ = {.optional_syntax = minor >= 28, .two_variable_macros = minor >= 32, .sort_by = minor >= 34};
  checks_literals_ = minor >= 29;
  LibraryBuilder library(*this);
  DeclareStandardLibrary(library, minor >= 28);
  DeclareConversions(library);
  DeclareTimeFunctions(library);
  DeclareUrls(library);
  DeclareRegex(library);
  if (minor < 37) DeclareKubernetesLists(library, false);
  if (minor >= 27) DeclareAuthorizer(library);
  if (minor >= 28) DeclareOptionals(library);
  if (minor >= 28) DeclareQuantities(library);
  DeclareStrings(library, minor >= 29);
  if (minor >= 29) DeclareSets(library);
  if (minor >= 30) DeclareIps(library);
  if (minor >= 30) DeclareCidrs(library);
  if (minor >= 31) DeclareFormats(library);
  if (minor >= 31) DeclareAuthorizerSelectors(library);
  if (minor >= 32) DeclareTwoVariableFunctions(library);
  if (minor >= 33) DeclareSemvers(library);
  if (minor >= 34) DeclareExtendedLists(library);
  if (minor >= 37) DeclareKubernetesLists(library, true);
  if (mutation) DeclareJsonPatch(library);
  // A call whose overload is known only at run time is charged by the function's name where upstream does so.
  for (auto& [name, function] : functions_) {
    const auto& overloads = function->overloads;
    const CostRule first = overloads.empty() ? CostRule::kOne : overloads.front().cost;
    switch (first) {
      case CostRule::kScanFirst:
      case CostRule::kScanFirstTwice:
      case CostRule::kTraversal:
      case CostRule::kJoin:
      case CostRule::kAuthorizerCheck:
      case CostRule::kSelector:
      case CostRule::kContainsIp:
      case CostRule::kContainsCidr:
      case CostRule::kValidateFormat:
        if (name != "bytes" && name != "string" && name != "strings.quote" && name != "format")
          function->cost = first;
        break;
      case CostRule::kRegex:
        if (name != "matches") function->cost = first;
        break;
      default:
        break;
    }
  }
}

const Environment& Environment::Shared(int minor, bool mutation) {
  static Mutex mutex;
  static std::map<std::pair<int, bool>, std::unique_ptr<const Environment>> environments;
  const int version = std::clamp(minor, 0, kNewestVersion);
  const MutexLock lock(mutex);
  auto& environment = environments[{version, mutation}];
  if (!environment) environment.reset(new Environment(version, mutation));
  return *environment;
}

const Environment& Environment::ForVersion(int minor) {
  return Shared(minor, false);
}

const Environment& Environment::Stored() {
  return ForVersion(kNewestVersion);
}

const Environment& Environment::ForMutation(int minor) {
  return Shared(minor, true);
}

const Environment& Environment::StoredForMutation() {
  return ForMutation(kNewestVersion);
}

const FunctionDecl* Environment::FindFunction(std::string_view name) const {
  const auto it = functions_.find(std::string(name));
  return it == functions_.end() ? nullptr : it->second.get();
}

const Type* Environment::FindType(std::string_view name) const {
  const auto it = named_types_.find(name);
  return it == named_types_.end() ? nullptr : it->second;
}

const Type* Environment::FindMessage(std::string_view name) const {
  const auto it = messages_.find(name);
  return it == messages_.end() ? nullptr : it->second;
}

const Type* Environment::FindMessageField(std::string_view message, std::string_view field) const {
  static const Type kListOfDyn{TypeKind::kList, "list", {&types::kDyn}, false, -1, nullptr};
  static const Type kMapOfDyn{TypeKind::kMap, "map", {&types::kString, &types::kDyn}, false, -1, nullptr};
  const Type* type = FindMessage(message);
  if (!type) return nullptr;
  if (message == "google.protobuf.Duration" || message == "google.protobuf.Timestamp")
    return field == "seconds" || field == "nanos" ? &types::kInt : nullptr;
  if (message == "google.protobuf.Struct") return field == "fields" ? &kMapOfDyn : nullptr;
  if (message == "google.protobuf.ListValue") return field == "values" ? &kListOfDyn : nullptr;
  if (message == "google.protobuf.Any") {
    if (field == "type_url") return &types::kString;
    return field == "value" ? &types::kBytes : nullptr;
  }
  if (message == "google.protobuf.Value") {
    if (field == "null_value") return &types::kInt;
    if (field == "number_value") return &types::kDouble;
    if (field == "string_value") return &types::kString;
    if (field == "bool_value") return &types::kBool;
    if (field == "struct_value") return &kMapOfDyn;
    return field == "list_value" ? &kListOfDyn : nullptr;
  }
  if (!type->nullable || field != "value") return nullptr;
  switch (type->kind) {
    case TypeKind::kBool:
      return &types::kBool;
    case TypeKind::kBytes:
      return &types::kBytes;
    case TypeKind::kDouble:
      return &types::kDouble;
    case TypeKind::kInt:
      return &types::kInt;
    case TypeKind::kString:
      return &types::kString;
    case TypeKind::kUint:
      return &types::kUint;
    default:
      return nullptr;
  }
}

}  // namespace flyball::cel
