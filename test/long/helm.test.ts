import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { environmentSchema } from "../../src/config.ts";
import { taskQueues } from "../../src/temporal/ids.ts";
import { installGoTool } from "../support/go-tool.ts";

const chart = fileURLToPath(new URL("../../deploy/helm/millrace", import.meta.url));
const operation = readFileSync(new URL("../../docs/operation.md", import.meta.url), "utf8");
const helm = installGoTool("helm.sh/helm/v3/cmd/helm", "v3.18.6");
if ("skipped" in helm) process.stderr.write(`helm is skipped: ${helm.skipped}\n`);

// Documents of Kubernetes have every shape.
// oxlint-disable-next-line typescript/no-explicit-any
type Document = any;

function run(...args: string[]) {
  return spawnSync("program" in helm ? helm.program : "", args, { encoding: "utf8" });
}

/** What an installation with these settings would make. */
function template(...settings: string[]): Document[] {
  const { status, stdout, stderr } = run(
    "template",
    "acme",
    chart,
    "--kube-version",
    "1.30.0",
    ...settings.flatMap((each) => ["--set", each]),
  );
  expect([status, stderr]).toEqual([0, ""]);
  return parseAllDocuments(stdout).flatMap((each) => each.toJS() ?? []);
}

const EVERYTHING = [
  "api.ingress.enabled=true",
  "api.ingress.host=millrace.example.com",
  "api.ingress.tlsSecretName=tls",
  "blobs.existingClaim=blobs",
  "temporalTls.secretName=temporal",
  "databaseFiles.secretName=database",
  "temporalTls.serverName=temporal.internal",
  "podMonitor.enabled=true",
  "workers.flows.keda.enabled=true",
  "workers.flows.keda.authenticationRef=temporal",
];
const podsOf = (documents: readonly Document[]): Document[] =>
  documents.flatMap(({ kind, spec }) => (["Deployment", "Job"].includes(kind) ? [spec.template] : []));
const environmentOf = (pod: Document): Record<string, string> =>
  Object.fromEntries(pod.spec.containers[0].env.map(({ name, value }: Document) => [name, value]));

describe.skipIf("skipped" in helm)("the chart", () => {
  it("passes helm's own checks", () => {
    for (const settings of [[], EVERYTHING]) {
      const { status, stdout } = run(
        "lint",
        "--strict",
        "--kube-version",
        "1.30.0",
        chart,
        ...settings.flatMap((each) => ["--set", each]),
      );
      expect([status, stdout]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
    }
  });

  it("sets only what the processes read, and nothing twice", () => {
    for (const pod of podsOf(template(...EVERYTHING))) {
      const names = pod.spec.containers[0].env.map(({ name }: Document) => name);
      expect(Object.keys(environmentSchema.shape)).toEqual(expect.arrayContaining(names));
      expect(new Set(names).size).toBe(names.length);
      // Or Kubernetes adds MILLRACE_..._PORT for each service of the namespace.
      expect(pod.spec.enableServiceLinks).toBe(false);
    }
  });

  it("starts the processes that the image has, with probes of what they serve", () => {
    const pods = podsOf(template());
    expect(pods.map((pod) => pod.spec.containers[0].command.join(" "))).toEqual(
      expect.arrayContaining([
        "node dist/src/api-main.js",
        "node dist/src/worker-main.js",
        "node dist/src/migrate-main.js",
      ]),
    );
    for (const pod of pods) {
      const { ports = [], livenessProbe, readinessProbe, command } = pod.spec.containers[0];
      if (command.at(-1).includes("migrate")) continue;
      expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(["/healthz", "/readyz"]);
      const env = environmentOf(pod);
      const named = Object.fromEntries(ports.map(({ name, containerPort }: Document) => [name, String(containerPort)]));
      expect(named[livenessProbe.httpGet.port]).toBe(env["PORT"] ?? env["MILLRACE_WORKER_PORT"]);
      expect(named["metrics"]).toBe(env["MILLRACE_METRICS_PORT"] ?? env["MILLRACE_WORKER_PORT"]);
    }
  });

  it("has pods that are nobody, and cannot write outside of their volumes", () => {
    for (const pod of podsOf(template(...EVERYTHING))) {
      expect(pod.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      const { securityContext, volumeMounts } = pod.spec.containers[0];
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      const volumes = pod.spec.volumes.map(({ name }: Document) => name);
      expect(volumeMounts.map(({ name }: Document) => name)).toEqual(volumes);
      expect(volumeMounts).toContainEqual({ name: "tmp", mountPath: "/tmp" });
    }
  });

  it("selects with every selector the pods that are meant, and no others", () => {
    const documents = template();
    const pods = podsOf(documents);
    const selected = (labels: Record<string, string>) =>
      pods.filter(({ metadata }) => Object.entries(labels).every(([name, value]) => metadata.labels[name] === value));
    for (const { kind, spec, metadata } of documents) {
      if (["Deployment", "PodDisruptionBudget"].includes(kind))
        expect([kind, metadata.name, selected(spec.selector.matchLabels).length]).toEqual([kind, metadata.name, 1]);
      if (kind === "Service") expect(selected(spec.selector)).toHaveLength(1);
      if (kind === "NetworkPolicy") expect(selected(spec.podSelector.matchLabels)).toEqual(pods);
    }
  });

  it("scales a group with the backlog of its own queues", () => {
    const documents = template(...EVERYTHING, "config.MILLRACE_TASK_QUEUE=acme");
    const scaled = documents.filter(({ kind }) => kind === "ScaledObject");
    expect(scaled).toHaveLength(1);
    const [{ spec }] = scaled;
    const names = spec.triggers.map(({ metadata }: Document) => metadata.taskQueue);
    expect(names).toEqual([taskQueues("acme").runs, taskQueues("acme").nodes]);
    const target = documents.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === spec.scaleTargetRef.name,
    );
    // Who scales has the last word on the number of pods.
    expect(target?.spec).not.toHaveProperty("replicas");
    expect(environmentOf(target?.spec.template)["MILLRACE_WORKER_QUEUES"]).toBe("runs,nodes");
  });

  it("gives the service account that api and workers run as the role that the documentation sets", () => {
    const [setting = ""] = /(?<=--set ')serviceAccount\.annotations[^']+/.exec(operation) ?? [];
    const documents = template(setting);
    const accounts = documents.filter(({ kind }) => kind === "ServiceAccount");
    expect(accounts.map(({ metadata }) => metadata.annotations)).toEqual([
      { "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/millrace" },
    ]);
    const deployments = documents.filter(({ kind }) => kind === "Deployment");
    expect(deployments.length).toBeGreaterThan(1);
    for (const { spec } of deployments) expect(spec.template.spec.serviceAccountName).toBe(accounts[0]?.metadata.name);
    const [plain] = template().filter(({ kind }) => kind === "ServiceAccount");
    expect(plain?.metadata).not.toHaveProperty("annotations");
  });

  it("refuses secrets among the settings, queues that are none, and queues without a worker", () => {
    for (const [setting, message] of [
      ["config.DATABASE_URL=postgres://x", "config"],
      ["workers.jobs.queues={ingest,elsewhere}", "queues"],
      ["workers.jobs.queues={ingest,webhooks}", "queue background"],
    ] as const) {
      const { status, stderr } = run("template", "acme", chart, "--kube-version", "1.30.0", "--set", setting);
      expect([setting, status]).toEqual([setting, 1]);
      expect(stderr).toContain(message);
    }
  });
});
