#include "server/encryption/encryption_reload.h"

#include "base/files/durable_file.h"
#include "base/observe/log.h"

namespace flyball::server {

EncryptionReload::EncryptionReload(std::string path, std::string text, ValueEncryption& encryption,
                                   Executor& executor, Metrics& metrics)
    : path_(std::move(path)),
      text_(std::move(text)),
      encryption_(encryption),
      executor_(executor),
      metrics_(metrics),
      alarm_(executor, [this] { Look(); }) {
  alarm_.Set(executor_.clock().Steady() + kInterval);
}

void EncryptionReload::Look() {
  auto text = ReadFile(path_);
  if (!text) {
    Report(Unexpected(text.error()));
  } else if (*text != text_) {
    auto config = ParseEncryptionConfig(*text, path_);
    const Status used = config ? encryption_.UseIfHealthy(*config) : Status(Unexpected(config.error()));
    if (used) text_ = std::move(*text);
    Report(used);
  }
  alarm_.Set(executor_.clock().Steady() + kInterval);
}

void EncryptionReload::Report(const Status& status) {
  const MetricLabels labels = {{"status", status ? "success" : "failure"}};
  metrics_
      .GetCounter("apiserver_encryption_config_controller_automatic_reloads_total",
                  "Total number of reload successes and failures of encryption configuration.", labels)
      .Add();
  metrics_
      .GetGauge("apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
                "Timestamp of the last successful or failed automatic reload of encryption configuration.",
                labels)
      .Set(std::chrono::duration<double>(executor_.clock().Now().time_since_epoch()).count());
  if (status)
    log::Info("took up the changed encryption configuration", {{"path", path_}});
  else
    log::Error("cannot take up the changed encryption configuration; the last one stays in use",
               {{"path", path_}, {"error", status.error().message()}});
}

}  // namespace flyball::server
