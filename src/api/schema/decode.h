// Decoding: what Go's JSON decoder and encoder do to an object of a given type, done to the JSON value
// itself. After Decode an object is what Kubernetes would write back: unknown fields gone, zero values that
// Go leaves out gone, those it always writes there, quantities and times canonical, members in the table's
// order, map keys sorted.
//
// Types made from a CustomResourceDefinition (TypeInfo::schema set) are left as they are, except the built-in
// types inside them (metadata).
//
// Functions only; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// What strict decoding found, for fieldValidation.
struct DecodeContext {
  // `unknown field "spec.foo"`, in document order, each once, at most 100 (upstream's limit).
  std::vector<std::string> strict_errors;
  // Whether a field was given whose feature gate is off (see schema/disabled_fields.h).
  bool disabled_fields = false;

  // Adds `<problem>"<path>"`, unless it is there or there are 100.
  void Add(std::string_view problem, std::string_view path);
  // Adds `duplicate field "x"` for what the parser reported (json::ParseOptions::duplicates).
  void AddDuplicates(const std::vector<std::string>& paths);
};

// Makes `object` canonical. If it is not of the type, BadRequest with Go's text, e.g. `json: cannot unmarshal
// number into Go struct field ConfigMap.data of type string`; the object is then in no particular state.
Status Decode(const TypeInfo& type, json::Value& object, DecodeContext& context);

// The same for a value known to be of the type, as after a hook has changed it. Wrong values stay as they
// are. Fast when there is nothing to do.
void Canonicalize(const TypeInfo& type, json::Value& value);
// The same, as an object comes back from upstream's storage, which is protobuf: empty lists and maps are gone
// (null where Go writes them always).
void CanonicalizeStored(const TypeInfo& type, json::Value& value);

// `Pod in version "v1" cannot be handled as a Pod: <cause>`: the server's words around a Decode error.
Error CannotBeHandled(std::string_view kind, std::string_view version, std::string_view as_kind,
                      std::string_view cause);
// `strict decoding error: unknown field "a", duplicate field "b"`. Requires !strict_errors.empty().
std::string StrictErrorText(const DecodeContext& context);

}  // namespace flyball::api
