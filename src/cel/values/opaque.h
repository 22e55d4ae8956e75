// Values of Kubernetes' libraries: addresses, quantities, versions and the like. Owned by an Arena.
// Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/formats/net_address.h"
#include "cel/formats/quantity.h"
#include "cel/formats/semver.h"
#include "cel/formats/url.h"
#include "cel/types/type.h"
#include "cel/values/authorizer.h"

namespace flyball::cel {

struct NamedFormat;
class Value;
class MapTable;

enum class OpaqueKind : std::uint8_t {
  kIp,
  kCidr,
  kUrl,
  kQuantity,
  kSemver,
  kFormat,
  kAuthorizer,
  kPathCheck,
  kGroupCheck,
  kResourceCheck,
  kDecision,
  kLazyFields,
  kObject,
  kJsonPatch,
};

struct OpaqueValue {
  explicit OpaqueValue(OpaqueKind k, const Type* t) : kind(k), type(t) {}
  OpaqueKind kind;
  const Type* type;
};

struct IpValue : OpaqueValue {
  explicit IpValue(IpAddr a) : OpaqueValue(OpaqueKind::kIp, &types::kIp), address(a) {}
  IpAddr address;
};
struct CidrValue : OpaqueValue {
  explicit CidrValue(IpPrefix p) : OpaqueValue(OpaqueKind::kCidr, &types::kCidr), prefix(p) {}
  IpPrefix prefix;
};
struct UrlValue : OpaqueValue {
  explicit UrlValue(Url u) : OpaqueValue(OpaqueKind::kUrl, &types::kUrl), url(std::move(u)) {}
  Url url;
};
struct QuantityValue : OpaqueValue {
  explicit QuantityValue(Quantity q)
      : OpaqueValue(OpaqueKind::kQuantity, &types::kQuantity), quantity(std::move(q)) {}
  Quantity quantity;
};
struct SemverValue : OpaqueValue {
  explicit SemverValue(Semver v) : OpaqueValue(OpaqueKind::kSemver, &types::kSemver), version(std::move(v)) {}
  Semver version;
};
struct FormatValue : OpaqueValue {
  explicit FormatValue(const NamedFormat* f)
      : OpaqueValue(OpaqueKind::kFormat, &types::kNamedFormat), format(f) {}
  const NamedFormat* format;
};
// authorizer, and what is made of it step by step.
struct AuthorizerValue : OpaqueValue {
  AuthorizerValue(OpaqueKind k, const Type* t, Authorizer* a) : OpaqueValue(k, t), authorizer(a) {}
  Authorizer* authorizer;
  AuthorizerQuery query;
};
struct DecisionValue : OpaqueValue {
  explicit DecisionValue(AuthorizerDecision d)
      : OpaqueValue(OpaqueKind::kDecision, &types::kDecision), decision(std::move(d)) {}
  AuthorizerDecision decision;
};

// A map whose entries are made when they are first asked for: the variables of admission policies (upstream:
// cel/lazy).
struct LazyFields : OpaqueValue {
  explicit LazyFields(const Type* t) : OpaqueValue(OpaqueKind::kLazyFields, t) {}
  // False if there is no such entry. May give an error value.
  virtual bool Find(std::string_view name, Value* value) = 0;

 protected:
  ~LazyFields() = default;
};
// What Object{}, Object.spec{} and JSONPatch{} make in mutating admission policies (upstream: cel/mutation).
struct PatchValue : OpaqueValue {
  PatchValue(OpaqueKind k, const Type* t, const MapTable* f) : OpaqueValue(k, t), fields(f) {}
  const MapTable* fields;
};

}  // namespace flyball::cel
