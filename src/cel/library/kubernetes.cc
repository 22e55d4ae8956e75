// Kubernetes' own libraries: URLs, addresses, quantities, versions, formats, the authorizer (upstream:
// apiserver cel/library).
#include <algorithm>
#include <string>

#include "cel/formats/named_format.h"
#include "cel/library/library_builder.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

template <typename T>
const T& As(const Value& value) {
  return *static_cast<const T*>(value.opaque());
}
bool IsOpaqueOf(const Value& value, OpaqueKind kind) {
  return value.Is(ValueKind::kOpaque) && value.opaque()->kind == kind;
}
Value NewText(Arena& arena, const std::string& text) {
  return Value::String(arena.Copy(text));
}

Value ToUrl(Arena& arena, const Value* v, std::size_t) {
  std::string problem;
  if (IsRequestUri(v[0].text(), &problem))
    if (auto url = ParseUrl(v[0].text(), &problem))
      return Value::Opaque(arena.New<UrlValue>(std::move(*url)));
  return Value::Error(arena, "URL parse error during conversion from string: " + problem);
}
Value IsUrl(Arena&, const Value* v, std::size_t) {
  std::string problem;
  return Value::Bool(IsRequestUri(v[0].text(), &problem));
}
Value UrlScheme(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<UrlValue>(v[0]).url.scheme);
}
Value UrlHost(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<UrlValue>(v[0]).url.host);
}
Value UrlHostname(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<UrlValue>(v[0]).url.Hostname());
}
Value UrlPort(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<UrlValue>(v[0]).url.Port());
}
Value UrlPath(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<UrlValue>(v[0]).url.EscapedPath());
}
Value UrlQuery(Arena& arena, const Value* v, std::size_t) {
  auto* table = arena.New<MapTable>(arena);
  for (const auto& [key, values] : As<UrlValue>(v[0]).url.Query()) {
    GrowingList list(arena);
    for (const std::string& value : values) list.Append(NewText(arena, value));
    table->Set(NewText(arena, key), Value::List(list.elements, list.size));
  }
  return Value::Map(table);
}

Value MakeIp(Arena& arena, std::string_view text) {
  std::string problem;
  const auto ip = ParseIpAddr(text, &problem);
  return ip ? Value::Opaque(arena.New<IpValue>(*ip)) : Value::Error(arena, problem);
}
Value ToIp(Arena& arena, const Value* v, std::size_t) {
  return MakeIp(arena, v[0].text());
}
Value IsIp(Arena&, const Value* v, std::size_t) {
  std::string problem;
  return Value::Bool(ParseIpAddr(v[0].text(), &problem).has_value());
}
Value IpIsCanonical(Arena& arena, const Value* v, std::size_t) {
  std::string problem;
  const auto ip = ParseIpAddr(v[0].text(), &problem);
  return ip ? Value::Bool(ip->ToString() == v[0].text()) : Value::Error(arena, problem);
}
Value IpToText(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<IpValue>(v[0]).address.ToString());
}
Value IpFamily(Arena&, const Value* v, std::size_t) {
  return Value::Int(As<IpValue>(v[0]).address.v4 ? 4 : 6);
}
template <bool (IpAddr::*kTest)() const>
Value TestIp(Arena&, const Value* v, std::size_t) {
  return Value::Bool((As<IpValue>(v[0]).address.*kTest)());
}

Value MakeCidr(Arena& arena, std::string_view text) {
  std::string problem;
  const auto prefix = ParseIpPrefix(text, &problem);
  if (prefix) return Value::Opaque(arena.New<CidrValue>(*prefix));
  return Value::Error(arena, "network address parse error during conversion from string: " + problem);
}
Value ToCidr(Arena& arena, const Value* v, std::size_t) {
  return MakeCidr(arena, v[0].text());
}
Value IsCidr(Arena&, const Value* v, std::size_t) {
  std::string problem;
  return Value::Bool(ParseIpPrefix(v[0].text(), &problem).has_value());
}
Value CidrContainsIp(Arena& arena, const Value* v, std::size_t) {
  const Value ip = v[1].Is(ValueKind::kString) ? MakeIp(arena, v[1].text()) : v[1];
  if (!IsOpaqueOf(ip, OpaqueKind::kIp)) return NoSuchOverload();
  return Value::Bool(As<CidrValue>(v[0]).prefix.Contains(As<IpValue>(ip).address));
}
Value CidrContainsCidr(Arena& arena, const Value* v, std::size_t) {
  const Value other = v[1].Is(ValueKind::kString) ? MakeCidr(arena, v[1].text()) : v[1];
  if (other.IsError()) return other;
  const IpPrefix &a = As<CidrValue>(v[0]).prefix, &b = As<CidrValue>(other).prefix;
  return Value::Bool(a.Overlaps(b) && a.bits <= b.bits);
}
Value CidrIp(Arena& arena, const Value* v, std::size_t) {
  return Value::Opaque(arena.New<IpValue>(As<CidrValue>(v[0]).prefix.address));
}
Value CidrLength(Arena&, const Value* v, std::size_t) {
  return Value::Int(As<CidrValue>(v[0]).prefix.bits);
}
Value CidrMasked(Arena& arena, const Value* v, std::size_t) {
  return Value::Opaque(arena.New<CidrValue>(As<CidrValue>(v[0]).prefix.Masked()));
}
Value CidrToText(Arena& arena, const Value* v, std::size_t) {
  return NewText(arena, As<CidrValue>(v[0]).prefix.ToString());
}

Value ToQuantity(Arena& arena, const Value* v, std::size_t) {
  std::string problem;
  auto quantity = Quantity::Parse(v[0].text(), &problem);
  return quantity ? Value::Opaque(arena.New<QuantityValue>(std::move(*quantity)))
                  : Value::Error(arena, problem);
}
Value IsQuantity(Arena&, const Value* v, std::size_t) {
  std::string problem;
  return Value::Bool(Quantity::Parse(v[0].text(), &problem).has_value());
}
Value QuantitySign(Arena&, const Value* v, std::size_t) {
  return Value::Int(As<QuantityValue>(v[0]).quantity.Sign());
}
Value QuantityCompare(Arena&, const Value* v, std::size_t) {
  return Value::Int(As<QuantityValue>(v[0]).quantity.Compare(As<QuantityValue>(v[1]).quantity));
}
Value QuantityGreater(Arena& arena, const Value* v, std::size_t n) {
  return Value::Bool(QuantityCompare(arena, v, n).as_int() > 0);
}
Value QuantityLess(Arena& arena, const Value* v, std::size_t n) {
  return Value::Bool(QuantityCompare(arena, v, n).as_int() < 0);
}
Value QuantityFloat(Arena&, const Value* v, std::size_t) {
  return Value::Double(As<QuantityValue>(v[0]).quantity.AsDouble());
}
Value QuantityInteger(Arena& arena, const Value* v, std::size_t) {
  const auto integer = As<QuantityValue>(v[0]).quantity.AsInteger();
  return integer ? Value::Int(*integer) : Value::Error(arena, "cannot convert value to integer");
}
Value QuantityIsInteger(Arena&, const Value* v, std::size_t) {
  return Value::Bool(As<QuantityValue>(v[0]).quantity.AsInteger().has_value());
}
template <bool kSubtract>
Value QuantityAdd(Arena& arena, const Value* v, std::size_t) {
  const Quantity& a = As<QuantityValue>(v[0]).quantity;
  auto sum = v[1].Is(ValueKind::kInt) ? a.Add(Quantity::OfInteger(v[1].as_int()), kSubtract)
                                      : a.Add(As<QuantityValue>(v[1]).quantity, kSubtract);
  return sum ? Value::Opaque(arena.New<QuantityValue>(std::move(*sum)))
             : Value::Error(arena, "quantity out of range");
}

bool Normalizes(const Value* v, std::size_t count) {
  return count == 2 && v[1].as_bool();
}
Value ToSemver(Arena& arena, const Value* v, std::size_t count) {
  std::string problem;
  auto version = ParseSemver(v[0].text(), Normalizes(v, count), &problem);
  return version ? Value::Opaque(arena.New<SemverValue>(std::move(*version))) : Value::Error(arena, problem);
}
Value IsSemver(Arena&, const Value* v, std::size_t count) {
  std::string problem;
  return Value::Bool(ParseSemver(v[0].text(), Normalizes(v, count), &problem).has_value());
}
Value SemverCompare(Arena&, const Value* v, std::size_t) {
  return Value::Int(As<SemverValue>(v[0]).version.Compare(As<SemverValue>(v[1]).version));
}
Value SemverGreater(Arena& arena, const Value* v, std::size_t n) {
  return Value::Bool(SemverCompare(arena, v, n).as_int() > 0);
}
Value SemverLess(Arena& arena, const Value* v, std::size_t n) {
  return Value::Bool(SemverCompare(arena, v, n).as_int() < 0);
}
template <std::uint64_t Semver::*kNumber>
Value SemverNumber(Arena&, const Value* v, std::size_t) {
  return Value::Int(static_cast<std::int64_t>(As<SemverValue>(v[0]).version.*kNumber));
}

template <std::size_t kIndex>
Value NamedFormatValue(Arena& arena, const Value*, std::size_t) {
  return Value::Opaque(arena.New<FormatValue>(&NamedFormats()[kIndex]));
}
template <std::size_t... kIndices>
void DeclareNamedFormats(LibraryBuilder& library, std::index_sequence<kIndices...>) {
  const auto declare = [&](const NamedFormat& format, NativeFunction call) {
    const std::string name = "format." + std::string(format.name);
    library.Global(name, name, {}, &types::kNamedFormat, call);
  };
  (declare(NamedFormats()[kIndices], NamedFormatValue<kIndices>), ...);
}
Value FormatNamed(Arena& arena, const Value* v, std::size_t) {
  const NamedFormat* format = FindNamedFormat(v[0].text());
  return format ? Value::Some(arena, Value::Opaque(arena.New<FormatValue>(format))) : Value::None();
}
Value FormatValidate(Arena& arena, const Value* v, std::size_t) {
  const auto problems = As<FormatValue>(v[0]).format->validate(v[1].text());
  if (problems.empty()) return Value::None();
  GrowingList list(arena);
  for (const std::string& problem : problems) list.Append(NewText(arena, problem));
  return Value::Some(arena, Value::List(list.elements, list.size));
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}
// A copy of what was asked so far, as the next step's type.
AuthorizerValue* NextStep(Arena& arena, const Value& from, OpaqueKind kind, const Type* type) {
  const auto& previous = As<AuthorizerValue>(from);
  auto* next = arena.New<AuthorizerValue>(kind, type, previous.authorizer);
  next->query = previous.query;
  return next;
}
Value AuthorizerPath(Arena& arena, const Value* v, std::size_t) {
  if (IsBlank(v[1].text())) return Value::Error(arena, "path must not be empty");
  auto* check = NextStep(arena, v[0], OpaqueKind::kPathCheck, &types::kPathCheck);
  check->query.path = v[1].text();
  return Value::Opaque(check);
}
Value AuthorizerGroup(Arena& arena, const Value* v, std::size_t) {
  auto* check = NextStep(arena, v[0], OpaqueKind::kGroupCheck, &types::kGroupCheck);
  check->query.group = v[1].text();
  return Value::Opaque(check);
}
Value AuthorizerServiceAccount(Arena& arena, const Value* v, std::size_t) {
  if (!IsServiceAccountName(v[2].text())) return Value::Error(arena, "Invalid service account name");
  if (!IsNamespaceName(v[1].text())) return Value::Error(arena, "Invalid service account namespace");
  auto* authorizer = NextStep(arena, v[0], OpaqueKind::kAuthorizer, &types::kAuthorizer);
  authorizer->query.service_account_namespace = v[1].text();
  authorizer->query.service_account_name = v[2].text();
  return Value::Opaque(authorizer);
}
Value GroupResource(Arena& arena, const Value* v, std::size_t) {
  if (IsBlank(v[1].text())) return Value::Error(arena, "resource must not be empty");
  auto* check = NextStep(arena, v[0], OpaqueKind::kResourceCheck, &types::kResourceCheck);
  check->query.resource = v[1].text();
  return Value::Opaque(check);
}
template <std::string AuthorizerQuery::*kMember>
Value ResourceDetail(Arena& arena, const Value* v, std::size_t) {
  auto* check = NextStep(arena, v[0], OpaqueKind::kResourceCheck, &types::kResourceCheck);
  check->query.*kMember = v[1].text();
  return Value::Opaque(check);
}
Value Check(Arena& arena, const Value* v, std::size_t) {
  const auto& check = As<AuthorizerValue>(v[0]);
  AuthorizerQuery query = check.query;
  query.verb = v[1].text();
  return Value::Opaque(arena.New<DecisionValue>(check.authorizer->Check(query)));
}
Value DecisionErrored(Arena&, const Value* v, std::size_t) {
  return Value::Bool(!As<DecisionValue>(v[0]).decision.error.empty());
}
Value DecisionError(Arena&, const Value* v, std::size_t) {
  return Value::String(As<DecisionValue>(v[0]).decision.error);
}
Value DecisionAllowed(Arena&, const Value* v, std::size_t) {
  return Value::Bool(As<DecisionValue>(v[0]).decision.allowed);
}
Value DecisionReason(Arena&, const Value* v, std::size_t) {
  return Value::String(As<DecisionValue>(v[0]).decision.reason);
}

Value EscapePatchKey(Arena& arena, const Value* v, std::size_t) {
  std::string out;
  for (char c : v[0].text()) {
    if (c == '/')
      out += "~1";
    else if (c == '~')
      out += "~0";
    else
      out += c;
  }
  return NewText(arena, out);
}

}  // namespace

void DeclareUrls(LibraryBuilder& library) {
  const Type *text = &types::kString, *url = &types::kUrl;
  library.Global("url", "string_to_url", {text}, url, ToUrl, CostRule::kScanFirst);
  library.Member("getScheme", "url_get_scheme", {url}, text, UrlScheme);
  library.Member("getHost", "url_get_host", {url}, text, UrlHost);
  library.Member("getHostname", "url_get_hostname", {url}, text, UrlHostname);
  library.Member("getPort", "url_get_port", {url}, text, UrlPort);
  library.Member("getEscapedPath", "url_get_escaped_path", {url}, text, UrlPath);
  library.Member("getQuery", "url_get_query", {url}, library.map(text, library.list(text)), UrlQuery);
  library.Global("isURL", "is_url_string", {text}, &types::kBool, IsUrl);
}

void DeclareIps(LibraryBuilder& library) {
  const Type *text = &types::kString, *ip = &types::kIp, *boolean = &types::kBool;
  library.NameType(ip);
  library.Global("ip", "string_to_ip", {text}, ip, ToIp, CostRule::kScanFirst);
  library.Member("family", "ip_family", {ip}, &types::kInt, IpFamily);
  library.Global("ip.isCanonical", "ip_is_canonical", {text}, boolean, IpIsCanonical,
                 CostRule::kScanFirstTwice);
  library.Member("isUnspecified", "ip_is_unspecified", {ip}, boolean, TestIp<&IpAddr::IsUnspecified>);
  library.Member("isLoopback", "ip_is_loopback", {ip}, boolean, TestIp<&IpAddr::IsLoopback>);
  library.Member("isLinkLocalMulticast", "ip_is_link_local_multicast", {ip}, boolean,
                 TestIp<&IpAddr::IsLinkLocalMulticast>);
  library.Member("isLinkLocalUnicast", "ip_is_link_local_unicast", {ip}, boolean,
                 TestIp<&IpAddr::IsLinkLocalUnicast>);
  library.Member("isGlobalUnicast", "ip_is_global_unicast", {ip}, boolean, TestIp<&IpAddr::IsGlobalUnicast>);
  library.Global("isIP", "is_ip", {text}, boolean, IsIp, CostRule::kScanFirst);
  library.Global("string", "ip_to_string", {ip}, text, IpToText);
}

void DeclareCidrs(LibraryBuilder& library) {
  const Type *text = &types::kString, *cidr = &types::kCidr, *ip = &types::kIp, *boolean = &types::kBool;
  library.NameType(cidr);
  library.Global("cidr", "string_to_cidr", {text}, cidr, ToCidr, CostRule::kScanFirst);
  library.Member("containsIP", "cidr_contains_ip_string", {cidr, text}, boolean, CidrContainsIp,
                 CostRule::kContainsIp);
  library.Member("containsIP", "cidr_contains_ip_ip", {cidr, ip}, boolean, CidrContainsIp,
                 CostRule::kContainsIp);
  library.Member("containsCIDR", "cidr_contains_cidr_string", {cidr, text}, boolean, CidrContainsCidr,
                 CostRule::kContainsCidr);
  library.Member("containsCIDR", "cidr_contains_cidr", {cidr, cidr}, boolean, CidrContainsCidr,
                 CostRule::kContainsCidr);
  library.Member("ip", "cidr_ip", {cidr}, ip, CidrIp);
  library.Member("prefixLength", "cidr_prefix_length", {cidr}, &types::kInt, CidrLength);
  library.Member("masked", "cidr_masked", {cidr}, cidr, CidrMasked);
  library.Global("isCIDR", "is_cidr", {text}, boolean, IsCidr, CostRule::kScanFirst);
  library.Global("string", "cidr_to_string", {cidr}, text, CidrToText);
}

void DeclareQuantities(LibraryBuilder& library) {
  const Type *text = &types::kString, *quantity = &types::kQuantity, *boolean = &types::kBool,
             *i = &types::kInt;
  library.Global("quantity", "string_to_quantity", {text}, quantity, ToQuantity, CostRule::kScanFirst);
  library.Global("isQuantity", "is_quantity_string", {text}, boolean, IsQuantity, CostRule::kScanFirst);
  library.Global("sign", "quantity_sign", {quantity}, i, QuantitySign);
  library.Member("isGreaterThan", "quantity_is_greater_than", {quantity, quantity}, boolean, QuantityGreater);
  library.Member("isLessThan", "quantity_is_less_than", {quantity, quantity}, boolean, QuantityLess);
  library.Member("compareTo", "quantity_compare_to", {quantity, quantity}, i, QuantityCompare);
  library.Member("asApproximateFloat", "quantity_get_float", {quantity}, &types::kDouble, QuantityFloat);
  library.Member("asInteger", "quantity_get_int", {quantity}, i, QuantityInteger);
  library.Member("isInteger", "quantity_is_integer", {quantity}, boolean, QuantityIsInteger);
  library.Member("add", "quantity_add", {quantity, quantity}, quantity, QuantityAdd<false>);
  library.Member("add", "quantity_add_int", {quantity, i}, quantity, QuantityAdd<false>);
  library.Member("sub", "quantity_sub", {quantity, quantity}, quantity, QuantityAdd<true>);
  library.Member("sub", "quantity_sub_int", {quantity, i}, quantity, QuantityAdd<true>);
}

void DeclareSemvers(LibraryBuilder& library) {
  const Type *text = &types::kString, *semver = &types::kSemver, *boolean = &types::kBool, *i = &types::kInt;
  library.Global("semver", "string_to_semver", {text}, semver, ToSemver, CostRule::kScanFirst);
  library.Global("semver", "string_bool_to_semver", {text, boolean}, semver, ToSemver, CostRule::kScanFirst);
  library.Global("isSemver", "is_semver_string", {text}, boolean, IsSemver, CostRule::kScanFirst);
  library.Global("isSemver", "is_semver_string_bool", {text, boolean}, boolean, IsSemver,
                 CostRule::kScanFirst);
  library.Member("isGreaterThan", "semver_is_greater_than", {semver, semver}, boolean, SemverGreater);
  library.Member("isLessThan", "semver_is_less_than", {semver, semver}, boolean, SemverLess);
  library.Member("compareTo", "semver_compare_to", {semver, semver}, i, SemverCompare);
  library.Member("major", "semver_major", {semver}, i, SemverNumber<&Semver::major>);
  library.Member("minor", "semver_minor", {semver}, i, SemverNumber<&Semver::minor>);
  library.Member("patch", "semver_patch", {semver}, i, SemverNumber<&Semver::patch>);
}

void DeclareFormats(LibraryBuilder& library) {
  const Type *text = &types::kString, *format = &types::kNamedFormat;
  library.Member("validate", "format-validate", {format, text}, library.optional(library.list(text)),
                 FormatValidate, CostRule::kValidateFormat);
  library.Global("format.named", "format-named", {text}, library.optional(format), FormatNamed);
  DeclareNamedFormats(library, std::make_index_sequence<13>());
}

void DeclareAuthorizer(LibraryBuilder& library) {
  const Type *text = &types::kString, *boolean = &types::kBool, *authorizer = &types::kAuthorizer,
             *path = &types::kPathCheck, *group = &types::kGroupCheck, *resource = &types::kResourceCheck,
             *decision = &types::kDecision;
  library.Member("path", "authorizer_path", {authorizer, text}, path, AuthorizerPath);
  library.Member("group", "authorizer_group", {authorizer, text}, group, AuthorizerGroup);
  library.Member("serviceAccount", "authorizer_serviceaccount", {authorizer, text, text}, authorizer,
                 AuthorizerServiceAccount);
  library.Member("resource", "groupcheck_resource", {group, text}, resource, GroupResource);
  library.Member("subresource", "resourcecheck_subresource", {resource, text}, resource,
                 ResourceDetail<&AuthorizerQuery::subresource>);
  library.Member("namespace", "resourcecheck_namespace", {resource, text}, resource,
                 ResourceDetail<&AuthorizerQuery::name_space>);
  library.Member("name", "resourcecheck_name", {resource, text}, resource,
                 ResourceDetail<&AuthorizerQuery::name>);
  library.Member("check", "pathcheck_check", {path, text}, decision, Check, CostRule::kAuthorizerCheck);
  library.Member("check", "resourcecheck_check", {resource, text}, decision, Check,
                 CostRule::kAuthorizerCheck);
  library.Member("errored", "decision_errored", {decision}, boolean, DecisionErrored);
  library.Member("error", "decision_error", {decision}, text, DecisionError);
  library.Member("allowed", "decision_allowed", {decision}, boolean, DecisionAllowed);
  library.Member("reason", "decision_reason", {decision}, text, DecisionReason);
}

void DeclareAuthorizerSelectors(LibraryBuilder& library) {
  const Type *text = &types::kString, *resource = &types::kResourceCheck;
  library.Member("fieldSelector", "authorizer_fieldselector", {resource, text}, resource,
                 ResourceDetail<&AuthorizerQuery::field_selector>, CostRule::kSelector);
  library.Member("labelSelector", "authorizer_labelselector", {resource, text}, resource,
                 ResourceDetail<&AuthorizerQuery::label_selector>, CostRule::kSelector);
}

void DeclareJsonPatch(LibraryBuilder& library) {
  library.Global("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", {&types::kString},
                 &types::kString, EscapePatchKey, CostRule::kScanFirst);
  library.NameMessage("JSONPatch", library.types().Struct("JSONPatch", nullptr));
}

}  // namespace flyball::cel
