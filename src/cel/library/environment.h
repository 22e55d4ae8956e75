// Environment: the functions, types and macros of one compatibility version (upstream: cel/environment).
// Immutable; thread-safe. Environments live for ever.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/functions/function.h"
#include "cel/syntax/parser.h"
#include "cel/types/type.h"

namespace flyball::cel {

// The minor version of Kubernetes this dialect is of, and the one that new expressions may use by default, so
// that a server one version older still understands them.
inline constexpr int kNewestVersion = 37;
inline constexpr int kDefaultCompatibilityVersion = 36;

class Environment {
 public:
  // What new expressions may use at version 1.`minor`.
  static const Environment& ForVersion(int minor);
  // What expressions that are stored already may use: everything.
  static const Environment& Stored();
  // The same two with the types and functions of mutating admission policies.
  static const Environment& ForMutation(int minor);
  static const Environment& StoredForMutation();

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Null if there is none.
  const FunctionDecl* FindFunction(std::string_view name) const;
  // The type that an identifier names ("int", "google.protobuf.Timestamp").
  const Type* FindType(std::string_view name) const;
  // The type that a message literal makes, and that of its fields; null if there is none.
  const Type* FindMessage(std::string_view name) const;
  const Type* FindMessageField(std::string_view message, std::string_view field) const;

  const ParserOptions& parser() const { return parser_; }
  // Literal arguments of duration(), timestamp() and matches() are checked when an expression is compiled.
  bool checks_literals() const { return checks_literals_; }
  bool mutation() const { return mutation_; }

 private:
  friend class LibraryBuilder;
  Environment(int minor, bool mutation);
  static const Environment& Shared(int minor, bool mutation);

  TypeStore types_;
  std::unordered_map<std::string, std::unique_ptr<FunctionDecl>> functions_;
  std::unordered_map<std::string_view, const Type*> named_types_, messages_;
  ParserOptions parser_;
  bool checks_literals_ = true;
  bool mutation_ = false;
};

}  // namespace flyball::cel
