#include <algorithm>
#include <memory>

#include "api/values/quantity.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/observe/observe_commands.h"

namespace flyball::cli {
namespace {

const KindRef kTopNodes{"", "v1", "Node", "nodes", false};

struct TopFlags {
  std::vector<std::string> args;
  std::string label_selector, field_selector, sort_by;
  bool no_headers = false, show_capacity = false, all_namespaces = false, containers = false;
  bool sum = false, protobuf = true;
};

// What the metrics server says of one object.
struct Usage {
  std::string ns, name, container;
  double cpu = 0, memory = 0;  // in cores and bytes
};

double AmountOf(const json::Value& quantity) {
  const auto parsed = api::Quantity::Parse(quantity.string_or("0"));
  return parsed ? parsed->ToDouble() : 0;
}

std::string Millicores(double cores) {
  return std::to_string(static_cast<long long>(cores * 1000 + 0.5)) + "m";
}
std::string Mebibytes(double bytes) {
  return std::to_string(static_cast<long long>(bytes / (1024 * 1024))) + "Mi";
}
std::string Percent(double used, double of) {
  return of > 0 ? std::to_string(static_cast<long long>(used / of * 100)) + "%" : "<unknown>";
}

// The server has metrics only if somebody registered them.
Status RequireMetrics(Session& session) {
  FLYBALL_ASSIGN(const auto resources, session.mapper().Resources());
  for (const ApiResource& resource : resources)
    if (resource.ref.group == "metrics.k8s.io") return {};
  return Unexpected(LocalError("Metrics API not available"));
}

Result<std::vector<json::Value>> MetricsOf(Session& session, const TopFlags& flags, const std::string& path) {
  RestRequest request;
  request.path = "/apis/metrics.k8s.io/v1beta1" + path;
  request.Query("labelSelector", flags.label_selector).Query("fieldSelector", flags.field_selector);
  FLYBALL_ASSIGN(const json::Value answer, session.Call(std::move(request)));
  if (answer["items"].is_array()) {
    const json::Array& items = answer["items"].as_array();
    return std::vector<json::Value>(items.begin(), items.end());
  }
  return std::vector<json::Value>{answer};
}

void SortUsages(const TopFlags& flags, std::vector<Usage>& usages) {
  std::stable_sort(usages.begin(), usages.end(), [&](const Usage& a, const Usage& b) {
    if (flags.sort_by == "cpu") return a.cpu > b.cpu;
    if (flags.sort_by == "memory") return a.memory > b.memory;
    return std::pair(a.ns, a.name) < std::pair(b.ns, b.name);
  });
}

Status CheckSortBy(const TopFlags& flags) {
  if (flags.sort_by.empty() || flags.sort_by == "cpu" || flags.sort_by == "memory") return {};
  return Unexpected(LocalError("--sort-by accepts only cpu or memory"));
}

Status TopNode(Session& session, const TopFlags& flags) {
  FLYBALL_TRY(CheckSortBy(flags));
  if (flags.args.size() > 1) return Unexpected(session.UsageError("one name is expected"));
  FLYBALL_TRY(RequireMetrics(session));
  FLYBALL_ASSIGN(const auto metrics,
                 MetricsOf(session, flags, "/nodes" + (flags.args.empty() ? "" : "/" + flags.args[0])));
  if (metrics.empty()) return Unexpected(LocalError("metrics not available yet"));
  FLYBALL_ASSIGN(const auto nodes, ListObjects(session, kTopNodes, ""));
  std::vector<Usage> usages;
  for (const json::Value& item : metrics)
    usages.push_back({"", std::string(item["metadata"]["name"].string_or("")), "",
                      AmountOf(item["usage"]["cpu"]), AmountOf(item["usage"]["memory"])});
  SortUsages(flags, usages);
  TabWriter writer = TableWriter();
  if (!flags.no_headers) writer.Write("NAME\tCPU(cores)\tCPU(%)\tMEMORY(bytes)\tMEMORY(%)\n");
  for (const Usage& usage : usages) {
    double cpu = 0, memory = 0;
    for (const json::Value& node : nodes) {
      if (node["metadata"]["name"].string_or("") != usage.name) continue;
      const json::Value& of = node["status"][flags.show_capacity ? "capacity" : "allocatable"];
      cpu = AmountOf(of["cpu"]);
      memory = AmountOf(of["memory"]);
    }
    writer.Write(usage.name + "\t" + Millicores(usage.cpu) + "\t" + Percent(usage.cpu, cpu) + "\t" +
                 Mebibytes(usage.memory) + "\t" + Percent(usage.memory, memory) + "\n");
  }
  session.out() << writer.Take();
  return {};
}

std::vector<Usage> PodUsages(const json::Value& item, bool containers) {
  Usage pod{std::string(item["metadata"]["namespace"].string_or("")),
            std::string(item["metadata"]["name"].string_or("")), "", 0, 0};
  std::vector<Usage> out;
  for (const json::Value& container : Elements(item["containers"])) {
    Usage one = pod;
    one.container = container["name"].string_or("");
    one.cpu = AmountOf(container["usage"]["cpu"]);
    one.memory = AmountOf(container["usage"]["memory"]);
    out.push_back(std::move(one));
  }
  if (containers) return out;
  for (const Usage& one : out) {
    pod.cpu += one.cpu;
    pod.memory += one.memory;
  }
  return {pod};
}

// --sum: a line below the table.
void WriteSum(const TopFlags& flags, const std::vector<Usage>& usages, TabWriter& writer) {
  const int names = 1 + (flags.all_namespaces ? 1 : 0) + (flags.containers ? 1 : 0);
  const std::string indent(static_cast<std::size_t>(names), '\t');
  double cpu = 0, memory = 0;
  for (const Usage& usage : usages) {
    cpu += usage.cpu;
    memory += usage.memory;
  }
  writer.Write(indent + "________\t________\n" + indent + Millicores(cpu) + "\t" + Mebibytes(memory) + "\n");
}

Status TopPod(Session& session, const TopFlags& flags) {
  FLYBALL_TRY(CheckSortBy(flags));
  FLYBALL_TRY(RequireMetrics(session));
  const std::string path = (flags.all_namespaces ? "" : "/namespaces/" + session.ns()) +
                           std::string("/pods") + (flags.args.empty() ? "" : "/" + flags.args[0]);
  FLYBALL_ASSIGN(const auto metrics, MetricsOf(session, flags, path));
  std::vector<Usage> usages;
  for (const json::Value& item : metrics)
    for (Usage& usage : PodUsages(item, flags.containers)) usages.push_back(std::move(usage));
  if (usages.empty()) {
    session.err() << (flags.all_namespaces ? "No resources found\n"
                                           : "No resources found in " + session.ns() + " namespace.\n");
    return {};
  }
  SortUsages(flags, usages);
  TabWriter writer = TableWriter();
  const std::string first = flags.all_namespaces ? "NAMESPACE\t" : "";
  const std::string second = flags.containers ? "POD\tNAME\t" : "NAME\t";
  if (!flags.no_headers) writer.Write(first + second + "CPU(cores)\tMEMORY(bytes)\n");
  for (const Usage& usage : usages)
    writer.Write((flags.all_namespaces ? usage.ns + "\t" : "") + usage.name + "\t" +
                 (flags.containers ? usage.container + "\t" : "") + Millicores(usage.cpu) + "\t" +
                 Mebibytes(usage.memory) + "\n");
  if (flags.sum) WriteSum(flags, usages, writer);
  session.out() << writer.Take();
  return {};
}

void AddTop(const Command& top, const std::string& names, const std::string& summary, bool pods,
            Status (*verb)(Session&, const TopFlags&)) {
  auto flags = std::make_shared<TopFlags>();
  const Command command = top.Sub(names, summary, "flyball top " + names.substr(0, names.find(',')));
  command.Args("[NAME]", &flags->args, "Which one; all if absent");
  command.Option("-l,--selector", &flags->label_selector, "Those with these labels");
  command.Option("--sort-by", &flags->sort_by, "cpu or memory");
  command.Flag("--no-headers", &flags->no_headers, "Leave out the line of headers");
  command.Flag("--use-protocol-buffers", &flags->protobuf, "Accepted; metrics are read as JSON");
  if (pods) {
    command.Option("--field-selector", &flags->field_selector, "Those with these field values");
    command.Flag("-A,--all-namespaces", &flags->all_namespaces, "In every namespace");
    command.Flag("--containers", &flags->containers, "Each container by itself");
    command.Flag("--sum", &flags->sum, "The sum in a last line");
  } else {
    command.Flag("--show-capacity", &flags->show_capacity,
                 "In percent of the capacity, not of what pods may have");
  }
  RunVerb(command, [flags, verb](Session& session) { return verb(session, *flags); });
}

}  // namespace

void AddTopCommand(const Command& root) {
  const bool own = root.invocation().program == "flyball";
  const Command top =
      root.Sub("top",
               own ? "Watch what the cluster does; or the CPU and memory that nodes and pods use"
                   : "Show the CPU and memory that nodes and pods use",
               "flyball top node");
  top.SuggestedFor({"stats"});
  top.RequireSub();
  if (own) AddLiveView(top);
  AddTop(top, "node,nodes,no", "Of nodes", false, &TopNode);
  AddTop(top, "pod,pods,po", "Of pods", true, &TopPod);
}

}  // namespace flyball::cli
