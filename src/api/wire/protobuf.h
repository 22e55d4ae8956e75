// Kubernetes' protobuf: the four bytes "k8s\0", then an Unknown message that names the type and holds the
// object's own message. Both directions follow the schema's field numbers; there is no generated code.
//
// Functions only; thread-safe. Malformed input is an error, never a crash; nesting is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct ProtobufEnvelope {
  std::string api_version, kind;
  std::string_view raw;  // the object's message, inside the body that was read
  std::string content_encoding, content_type;
};

// BadRequest if `body` does not begin with the magic bytes or its Unknown is malformed.
Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view body);

// The object in a request body, in canonical form (decode.h), with the envelope's apiVersion and kind.
Result<json::Value> DecodeProtobuf(std::string_view body, const TypeInfo& type);
// The message alone, without envelope.
Result<json::Value> DecodeProtobufMessage(std::string_view message, const TypeInfo& type);

// The body for an object in canonical form: what Kubernetes would send.
std::string EncodeProtobuf(const json::Value& object, const TypeInfo& type);
std::string EncodeProtobufMessage(const json::Value& value, const TypeInfo& type);
// A message in its envelope.
std::string ProtobufEnvelopeOf(std::string_view api_version, std::string_view kind, std::string_view message);

// A whole answer by its own apiVersion and kind: an object, a list, a Status, metadata alone. Nothing if the
// kind has no message (custom ones, tables).
std::optional<std::string> EncodeProtobufAnswer(const json::Value& answer);
// One frame of a watch: the message's length in four bytes, then a WatchEvent of this type ("ADDED") and
// object. Nothing if the object's kind has no message.
std::optional<std::string> EncodeProtobufWatchFrame(std::string_view type, const json::Value& object);

// A list, item by item: all the items' values are never there at the same time. Confined to one thread.
class ProtobufListWriter {
 public:
  // Nothing if the kind of the items has no message.
  static std::optional<ProtobufListWriter> Make(std::string api_version, std::string_view item_kind,
                                                const json::Value& metadata);
  void Add(const json::Value& item);
  // The whole answer, in its envelope.
  std::string Finish() &&;

 private:
  ProtobufListWriter(std::string api_version, std::string item_kind, const TypeInfo& item_type)
      : api_version_(std::move(api_version)), item_kind_(std::move(item_kind)), item_type_(&item_type) {}

  std::string api_version_, item_kind_;
  const TypeInfo* item_type_;
  std::string message_;
};

}  // namespace flyball::api
