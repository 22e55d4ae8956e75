// The schema: what every kind looks like, as plain constant tables. The build generates the tables of the
// built-in kinds from src/api/schema/groups/*.schema (see docs/schema.md); a CustomResourceDefinition makes
// the same structures at run time (custom_schema.h). Decoding, pruning, defaulting, validating, merging,
// apply, OpenAPI, protobuf and tables read nothing else, so built-in and custom kinds are one thing.
//
// Everything here is immutable after construction: thread-safe. Built-in tables live for ever; those of a
// custom kind live as long as the CustomSchema that owns them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace flyball::api {

struct TypeInfo;

enum class TypeKind : std::uint8_t {
  kString,
  kInt32,
  kInt64,
  kFloat64,
  kBool,
  kBytes,      // base64 in JSON
  kTime,       // RFC 3339, seconds
  kMicroTime,  // RFC 3339, microseconds
  kDuration,   // Go duration string ("1h0m0s")
  kQuantity,   // "100m", "1Gi"; a number is taken too
  kIntOrString,
  kObject,  // named fields
  kMap,     // string -> element
  kList,    // of element
  kRaw,     // any object, kept as it is (runtime.RawExtension)
  kAny,     // any JSON value, kept as it is
};

// How apply sees a list (x-kubernetes-list-type).
enum class ListType : std::uint8_t { kAtomic, kSet, kMap };

// How a strategic merge patch treats a field (x-kubernetes-patch-strategy); kMerge needs patch_key for lists
// of objects.
enum class PatchStrategy : std::uint8_t { kDefault, kReplace, kMerge, kRetainKeys, kMergeRetainKeys };

// One simple rule on a field's value. What these cannot say is C++ (kinds/).
struct Rule {
  enum class Kind : std::uint8_t {
    kRequired,   // must be present and not empty: "Required value"
    kEnum,       // one of values: "Unsupported value"
    kMin,        // number >= a
    kMax,        // number <= a
    kRange,      // a <= number <= b; zero too where the field is written anyway and not kRequired
    kMinLength,  // string length >= a
    kMaxLength,  // string length <= a
    kMinItems,
    kMaxItems,
    kPattern,    // RE2 in text
    kFormat,     // named format in text: see format.h
    kImmutable,  // may not change once set
    kOneOf,      // (on a type) exactly one of the members in values is set
    kAtMostOneOf,
  };
  Kind kind;
  std::int64_t a = 0, b = 0;
  std::string_view text = {};
  std::span<const std::string_view> values = {};
};

struct FieldInfo {
  std::string_view name;
  const TypeInfo* type = nullptr;
  std::string_view description = {};
  // `!` in the notation: written even when empty (Go: no omitempty), "required" in OpenAPI.
  bool always = false;
  // `*` in the notation: always is set too, but OpenAPI does not call the field required.
  bool optional = false;
  // `+` in the notation: OpenAPI calls the field required, but Go leaves its zero value out.
  bool demanded = false;
  // `?`: a pointer in Go: a zero value that was given is kept ("replicas: 0"); without it zero values are
  // dropped.
  // Without it a value that has no empty form in Go is written though nothing was given: an object as {}, a
  // time as null, a quantity as "0". With always (`!?`) an absent value is written as null.
  bool pointer = false;
  // One owner for the whole value in apply, whatever its type says (x-kubernetes-map-type: atomic on the
  // field).
  bool atomic = false;
  // Immutable simple rules are checked by ValidateUpdate, the others by Validate.
  std::span<const Rule> rules = {};
  PatchStrategy patch = PatchStrategy::kDefault;
  std::string_view patch_key = {};
  // JSON text; empty: none. `published` ones appear in OpenAPI (`=` in the notation), others do not (`~`).
  std::string_view default_json = {};
  bool default_published = false;
  // The feature gate it is behind: a number for GateEnabled(), 0 for none.
  std::uint16_t gate = 0;
  // Protobuf field numbers from the outside in: {3} or, in an embedded message, {2, 1}. Zeros end it.
  std::array<std::uint8_t, 3> proto = {};
};

struct TypeInfo {
  TypeKind kind = TypeKind::kAny;
  std::string_view name = {};  // "io.k8s.api.core.v1.PodSpec"; empty for scalars, lists and maps
  std::string_view description = {};
  // kObject: in the order they are written. A named kAny (JSONSchemaPropsOrBool, ...): the members of its
  // protobuf message, of which exactly one makes the JSON value; JSON never shows their names.
  std::span<const FieldInfo> fields = {};
  const TypeInfo* element = nullptr;       // kMap, kList
  ListType list_type = ListType::kAtomic;  // kList
  bool list_type_declared = false;  // kList: false = atomic only because nothing is said (Go: no +listType)
  std::span<const std::string_view> list_keys = {};  // kList of kMap type
  bool atomic = false;                               // kObject, kMap: one owner for the whole in apply
  std::span<const Rule> rules = {};                  // on the value as a whole
  // x-kubernetes-unions: the field that says which member is meant, and "member=Value" for each.
  std::string_view union_discriminator = {};
  std::span<const std::string_view> union_fields = {};

  // Custom resources only.
  bool nullable = false;
  bool preserve_unknown = false;         // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;        // x-kubernetes-embedded-resource
  const TypeInfo* additional = nullptr;  // kObject with fields and additionalProperties both
  const json::Value* schema =
      nullptr;  // the structural schema node, for what the tables do not hold (formats, CEL, anyOf)

  // Linear for small types, binary otherwise. Null if there is none.
  const FieldInfo* FindField(std::string_view field_name) const;
};

struct SubresourceInfo {
  std::string_view name;                  // "status"
  std::string_view group, version, kind;  // of what it takes and gives; empty kind: the parent's
  std::string_view verbs;                 // "get,patch,update"
};

// A column of kubectl's tables. Cells come from `path` (a simple JSONPath) or, when empty, from the kind's
// cell function in table.cc.
struct ColumnInfo {
  std::string_view name, type, format, description, path;
  int priority = 0;
};

// The type of a kind that is made when it is first needed: most custom kinds of a server are never written
// to, and their schemas are large. Thread-safe.
class TypeSource {
 public:
  virtual ~TypeSource() = default;
  virtual const TypeInfo& Type() const = 0;
  // The openAPIV3Schema of the kind; null if it has none.
  virtual json::Value OpenApiSchema() const = 0;
  // Changes whenever the schema does.
  virtual std::string_view Fingerprint() const = 0;
};

struct KindInfo {
  std::string_view group = {}, version = {}, kind = {};  // "apps", "v1", "Deployment"; group "" is core
  std::string_view plural = {}, singular = {};
  std::span<const std::string_view> short_names = {}, categories = {};
  bool namespaced = false;
  std::string_view verbs = {};  // comma-separated, sorted
  std::span<const SubresourceInfo> subresources = {};
  // Field labels besides metadata.name and metadata.namespace, and the path each reads ("spec.nodeName").
  std::span<const std::string_view> selectable_fields = {};
  std::span<const ColumnInfo> columns = {};
  int since = 0;                   // the minor version that first served it by default
  const TypeInfo* type = nullptr;  // of a built-in kind; see Type()
  bool custom = false;             // from a CustomResourceDefinition: no strategic merge, no protobuf
  const TypeSource* type_source = nullptr;  // of a custom kind

  // apiVersion, kind, metadata and the rest.
  const TypeInfo& Type() const { return type != nullptr ? *type : type_source->Type(); }

  std::string ApiVersion() const;     // "apps/v1", "v1"
  std::string GroupResource() const;  // "deployments.apps", "pods"
  bool HasSubresource(std::string_view name) const;
  const SubresourceInfo* FindSubresource(std::string_view name) const;
};

// Every built-in kind that is a resource, in discovery order (group, then as upstream lists them).
std::span<const KindInfo> BuiltinKinds();
const KindInfo* FindBuiltinKind(std::string_view group, std::string_view version, std::string_view kind);
// Kinds that are bodies but not stored resources too: DeleteOptions, Scale, Eviction, Binding, TokenRequest,
// Status, ... By OpenAPI name, e.g. "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions". Null if unknown.
const TypeInfo* FindType(std::string_view name);
// The type of anything that is sent as a whole, resource or not: ("autoscaling", "v1", "Scale"). Null if
// unknown.
const TypeInfo* FindKindType(std::string_view group, std::string_view version, std::string_view kind);
// All named built-in types, lists of kinds ("...PodList") among them, sorted by name.
std::span<const TypeInfo* const> BuiltinTypes();

const TypeInfo& ObjectMetaType();
const TypeInfo& ListMetaType();
const TypeInfo& DeleteOptionsType();

}  // namespace flyball::api
