// How libraries declare their functions. Internal to building an Environment.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cel/library/environment.h"

namespace flyball::cel {

class LibraryBuilder {
 public:
  explicit LibraryBuilder(Environment& environment) : environment_(environment) {}

  FunctionDecl& Function(std::string_view name);
  // Adds an overload; args of a member begin with its target.
  Overload& Global(std::string_view name, std::string id, std::vector<const Type*> args, const Type* result,
                   NativeFunction call, CostRule cost = CostRule::kOne);
  Overload& Member(std::string_view name, std::string id, std::vector<const Type*> args, const Type* result,
                   NativeFunction call, CostRule cost = CostRule::kOne);
  // One implementation for all overloads of a function.
  void Singleton(std::string_view name, NativeFunction call, Trait trait);
  void NameType(const Type* type) { environment_.named_types_[type->name] = type; }
  void NameMessage(std::string_view name, const Type* type) { environment_.messages_[name] = type; }

  TypeStore& types() { return environment_.types_; }
  const Type* param(std::string_view name);
  const Type* list(const Type* element) { return types().List(element); }
  const Type* map(const Type* key, const Type* value) { return types().Map(key, value); }
  const Type* optional(const Type* value) { return types().Optional(value); }

 private:
  Overload& Add(std::string_view name, Overload overload);
  Environment& environment_;
  std::unordered_map<std::string, const Type*> params_;
};

// Each library, in upstream's order.
void DeclareStandardLibrary(LibraryBuilder& library, bool cross_type_comparisons);
void DeclareTimeFunctions(LibraryBuilder& library);
void DeclareConversions(LibraryBuilder& library);
void DeclareUrls(LibraryBuilder& library);
void DeclareRegex(LibraryBuilder& library);
void DeclareKubernetesLists(LibraryBuilder& library, bool with_includes);
void DeclareAuthorizer(LibraryBuilder& library);
void DeclareAuthorizerSelectors(LibraryBuilder& library);
void DeclareOptionals(LibraryBuilder& library);
void DeclareQuantities(LibraryBuilder& library);
void DeclareStrings(LibraryBuilder& library, bool version_two);
void DeclareSets(LibraryBuilder& library);
void DeclareIps(LibraryBuilder& library);
void DeclareCidrs(LibraryBuilder& library);
void DeclareFormats(LibraryBuilder& library);
void DeclareTwoVariableFunctions(LibraryBuilder& library);
void DeclareSemvers(LibraryBuilder& library);
void DeclareExtendedLists(LibraryBuilder& library);
void DeclareJsonPatch(LibraryBuilder& library);

}  // namespace flyball::cel
