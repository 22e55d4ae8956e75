#include "cel/policy/policy_compiler.h"

#include <algorithm>

#include "cel/policy/policy_variables.h"

namespace flyball::cel {
namespace {

// The type that variables.NAME is declared with: only plain types and containers of them are known (upstream:
// convertCelTypeToDeclType).
const Type* VariableType(const Type& type, TypeStore& store) {
  if (type.nullable) return &types::kDyn;
  switch (type.kind) {
    case TypeKind::kAny:
      return &types::kAny;
    case TypeKind::kBool:
      return &types::kBool;
    case TypeKind::kInt:
      return &types::kInt;
    case TypeKind::kUint:
      return &types::kUint;
    case TypeKind::kDouble:
      return &types::kDouble;
    case TypeKind::kString:
      return &types::kString;
    case TypeKind::kBytes:
      return &types::kBytes;
    case TypeKind::kDuration:
      return &types::kDuration;
    case TypeKind::kTimestamp:
      return &types::kTimestamp;
    case TypeKind::kNull:
      return &types::kNull;
    case TypeKind::kList:
      return store.List(VariableType(*type.params[0], store));
    case TypeKind::kMap:
      return store.Map(VariableType(*type.params[0], store), VariableType(*type.params[1], store));
    default:
      return &types::kDyn;
  }
}

const Environment& EnvironmentFor(const PolicyCompileOptions& options) {
  const int version = options.stored ? kNewestVersion : kDefaultCompatibilityVersion;
  return options.patch_types ? Environment::ForMutation(version) : Environment::ForVersion(version);
}

std::string WrongType(const std::vector<std::string_view>& wanted, const std::string& got) {
  std::string out = "must evaluate to ";
  if (wanted.size() == 1) {
    out += wanted[0];
  } else {
    out += "one of [";
    for (std::size_t i = 0; i < wanted.size(); ++i) out += (i ? " " : "") + std::string(wanted[i]);
    out += "]";
  }
  return out + " but got " + got;
}

}  // namespace

PolicyCompiler::PolicyCompiler(Composition composition, Types types)
    : composition_(composition),
      known_(types),
      variables_type_(types_.Struct("kubernetes.variables", &variables_)) {}

PolicyExpression PolicyCompiler::Compile(std::string_view text, const PolicyCompileOptions& options) {
  const Type* type = nullptr;
  return Compile(text, options, &type);
}

PolicyExpression PolicyCompiler::CompileVariable(std::string_view name, std::string_view text,
                                                 const PolicyCompileOptions& options) {
  const Type* type = nullptr;
  PolicyExpression compiled = Compile(text, options, &type);
  const Type* declared = type ? VariableType(*type, types_) : &types::kDyn;
  variables_.Set({std::string(name), &fields_.emplace_back(DeclType{.type = declared})});
  return compiled;
}

PolicyExpression PolicyCompiler::Compile(std::string_view text, const PolicyCompileOptions& options,
                                         const Type** type) {
  // A variable that is not declared has no name.
  const auto name = [](bool declared, const char* n) { return declared ? n : ""; };
  const bool composed = composition_ == Composition::kVariables;
  CompileResult result = cel::Compile(
      text,
      {.environment = &EnvironmentFor(options),
       .variables = {{"object", known_.object},
                     {"oldObject", known_.object},
                     {"namespaceObject", NamespaceObjectType()},
                     {"request", AdmissionRequestType()},
                     {name(composed, "variables"), variables_type_},
                     {name(options.params, "params"), known_.params},
                     {name(options.authorizer, "authorizer"), &types::kAuthorizer},
                     {name(options.authorizer && options.request_resource, "authorizer.requestResource"),
                      &types::kResourceCheck}},
       .types = &types_});
  PolicyExpression compiled{.text = std::string(text)};
  const auto fail = [&](PolicyExpression::Failure failure, std::string error) {
    compiled.failure = failure;
    compiled.error = std::move(error);
    return std::move(compiled);
  };
  if (result.phase == CompilePhase::kParse || result.phase == CompilePhase::kCheck) {
    compiled.issues = result.error;
    return fail(PolicyExpression::Failure::kInvalid, "compilation failed: " + result.error);
  }
  const auto& wanted = options.wanted;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), result.type_text) == wanted.end())
    return fail(PolicyExpression::Failure::kInvalid, WrongType(wanted, result.type_text));
  if (!result.expression)
    return fail(PolicyExpression::Failure::kInternal, "program instantiation failed: " + result.error);
  *type = result.type;
  compiled.expression = std::move(result.expression);
  return compiled;
}

}  // namespace flyball::cel
