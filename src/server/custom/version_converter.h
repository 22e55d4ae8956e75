// How objects of one custom kind become objects of another of its versions: by their apiVersion alone
// (strategy None), or by a webhook (strategy Webhook; upstream: apiextensions-apiserver
// pkg/apiserver/conversion).
#pragma once

#include <memory>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/catalog/catalog.h"
#include "server/webhook/webhook_caller.h"

namespace flyball::server {

// What converters share. All outlive them.
struct ConverterContext {
  WebhookCaller& webhooks;
  Random& random;
  Metrics& metrics;
  const Clock& clock;
};

// Null if the definition has one version only. Requires a definition that passed validation, and the kinds of
// all its versions.
std::shared_ptr<const VersionConverter> NewVersionConverter(
    const json::Value& definition, const std::vector<std::shared_ptr<const api::CustomKind>>& kinds,
    ConverterContext context);

}  // namespace flyball::server
