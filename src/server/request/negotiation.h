// Content negotiation: in which form the client wants its answer.
#pragma once

#include <string_view>

#include "base/values/result.h"

namespace flyball::server {

enum class AnswerForm : std::uint8_t { kObject, kTable, kPartialMetadata, kAggregatedDiscovery };

struct AnswerFormat {
  AnswerForm form = AnswerForm::kObject;
  bool yaml = false;
  bool protobuf = false;
  // Of tables and metadata: "v1" or "v1beta1".
  std::string_view version = "v1";
  // Metadata was asked for as a list: PartialObjectMetadataList.
  bool list = false;
};

// The first of the Accept header's media types, by quality and then as the client lists them, that this
// server can give. NotAcceptable if nothing fits. `tables` is false for answers that have no table form.
// `watchable`: the same path can be watched, and the refusal names what events can be sent as.
Result<AnswerFormat> NegotiateObject(std::string_view accept, bool tables, bool watchable = false);
// The same for what has no protobuf message: custom resources.
Result<AnswerFormat> NegotiateText(std::string_view accept, bool tables);
// For /api and /apis: aggregated discovery if asked for, else kObject.
Result<AnswerFormat> NegotiateDiscovery(std::string_view accept);

}  // namespace flyball::server
