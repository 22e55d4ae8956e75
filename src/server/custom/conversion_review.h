// ConversionReview: what a conversion webhook is asked, and what it may answer. Pure functions: answers come
// from other people's programs and are trusted in nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::server {

// "v1" or "v1beta1": the first that both sides know; "" if there is none.
std::string_view ReviewVersionOf(const json::Value& conversion_review_versions);

// The text of a review of these objects.
std::string ConversionRequest(std::string_view review_version, std::string_view uid,
                              std::string_view api_version, const std::vector<json::Value>& objects);

// The objects of the answer to a review of `objects`, as many and in the same order, each of `api_version`
// and otherwise the same object: kind, name, namespace, uid and metadata are the original's, except for
// labels and annotations, which are checked. On failure `failure` is what upstream's metrics call it.
Result<std::vector<json::Value>> ReadConversionAnswer(std::string_view answer,
                                                      std::string_view review_version, std::string_view uid,
                                                      std::string_view api_version,
                                                      const std::vector<json::Value>& objects,
                                                      std::string& failure);

// What upstream's metrics call a webhook that could not be asked.
inline constexpr char kConversionCallFailure[] = "conversion_webhook_call_failure";

}  // namespace flyball::server
