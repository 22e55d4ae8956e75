#include "cli/foreign_flags/kube_proxy_flags.h"

namespace flyball::cli {
namespace {

constexpr ForeignFlag kKubeProxyFlags[] = {
    {"", "bind-address", "ip", "0.0.0.0"},
    {"", "bind-address-hard-fail", "bool", ""},
    {"", "cleanup", "bool", ""},
    {"", "cluster-cidr", "string", ""},
    {"", "config", "string", ""},
    {"", "config-sync-period", "duration", "15m0s"},
    {"", "conntrack-max-per-core", "int32", "32768"},
    {"", "conntrack-min", "int32", "131072"},
    {"", "conntrack-tcp-be-liberal", "bool", ""},
    {"", "conntrack-tcp-timeout-close-wait", "duration", "1h0m0s"},
    {"", "conntrack-tcp-timeout-established", "duration", "24h0m0s"},
    {"", "conntrack-udp-timeout", "duration", ""},
    {"", "conntrack-udp-timeout-stream", "duration", ""},
    {"", "detect-local-mode", "LocalMode", ""},
    {"", "feature-gates", "mapStringBool", ""},
    {"", "healthz-bind-address", "ipport", "0.0.0.0:10256"},
    {"", "healthz-port", "int32", "10256"},
    {"", "hostname-override", "string", ""},
    {"", "init-only", "bool", ""},
    {"", "iptables-localhost-nodeports", "bool", "true"},
    {"", "iptables-masquerade-bit", "int32", "14"},
    {"", "iptables-min-sync-period", "duration", "1s"},
    {"", "iptables-sync-period", "duration", "30s"},
    {"", "ipvs-exclude-cidrs", "strings", ""},
    {"", "ipvs-min-sync-period", "duration", "1s"},
    {"", "ipvs-scheduler", "string", ""},
    {"", "ipvs-strict-arp", "bool", ""},
    {"", "ipvs-sync-period", "duration", "30s"},
    {"", "ipvs-tcp-timeout", "duration", ""},
    {"", "ipvs-tcpfin-timeout", "duration", ""},
    {"", "ipvs-udp-timeout", "duration", ""},
    {"", "kube-api-burst", "int32", "10"},
    {"", "kube-api-content-type", "string", "application/vnd.kubernetes.protobuf"},
    {"", "kube-api-qps", "float32", "5"},
    {"", "kubeconfig", "string", ""},
    {"", "masquerade-all", "bool", ""},
    {"", "master", "string", ""},
    {"", "metrics-bind-address", "ipport", "127.0.0.1:10249"},
    {"", "metrics-port", "int32", "10249"},
    {"", "nodeport-addresses", "strings", ""},
    {"", "oom-score-adj", "int32", "-999"},
    {"", "pod-bridge-interface", "string", ""},
    {"", "pod-interface-name-prefix", "string", ""},
    {"", "profiling", "bool", ""},
    {"", "proxy-mode", "ProxyMode", ""},
    {"", "show-hidden-metrics-for-version", "string", ""},
    {"", "version", "version", "false"},
    {"", "write-config-to", "string", ""},
};

}  // namespace

std::span<const ForeignFlag> KubeProxyFlags() {
  return kKubeProxyFlags;
}

}  // namespace flyball::cli
