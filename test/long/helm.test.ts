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

/** The manifests that these settings produce. */
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
  "api.ingress.trustedProxies={10.244.0.0/16,fd00::/8}",
  "files[0].name=oidc",
  "files[0].secretName=millrace-oidc",
  "files[1].name=authorities",
  "files[1].configMapName=authorities",
  "config.MILLRACE_OIDC_PROVIDERS=/etc/millrace/files/oidc/providers.json",
  "backup.enabled=true",
  "backup.place=/var/backups/millrace",
  "backup.existingClaim=backups",
];
const podsOf = (documents: readonly Document[]): Document[] =>
  documents.flatMap(({ kind, spec }) => {
    if (kind === "CronJob") return [spec.jobTemplate.spec.template];
    return ["Deployment", "Job"].includes(kind) ? [spec.template] : [];
  });
const only = (documents: readonly Document[], kind: string): Document => {
  const found = documents.filter((each) => each.kind === kind);
  expect([kind, found.length]).toEqual([kind, 1]);
  return found[0];
};
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

  it("sets only variables that the processes read, each once", () => {
    for (const pod of podsOf(template(...EVERYTHING))) {
      const names = pod.spec.containers[0].env.map(({ name }: Document) => name);
      expect(Object.keys(environmentSchema.shape)).toEqual(expect.arrayContaining(names));
      expect(new Set(names).size).toBe(names.length);
      // Otherwise Kubernetes adds a variable MILLRACE_..._PORT for each service of the namespace.
      expect(pod.spec.enableServiceLinks).toBe(false);
    }
  });

  it("starts processes that the image contains, with probes of their endpoints", () => {
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

  it("has pods that run as an unprivileged user and write only to their volumes", () => {
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

  it("has selectors that match exactly the intended pods", () => {
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

  it("scales each worker group by the backlog of its queues", () => {
    const documents = template(...EVERYTHING, "config.MILLRACE_TASK_QUEUE=acme");
    const scaled = documents.filter(({ kind }) => kind === "ScaledObject");
    expect(scaled).toHaveLength(1);
    const [{ spec }] = scaled;
    const names = spec.triggers.map(({ metadata }: Document) => metadata.taskQueue);
    expect(names).toEqual([taskQueues("acme").runs, taskQueues("acme").nodes]);
    const target = documents.find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === spec.scaleTargetRef.name,
    );
    // The autoscaler alone decides the number of pods.
    expect(target?.spec).not.toHaveProperty("replicas");
    expect(environmentOf(target?.spec.template)["MILLRACE_WORKER_QUEUES"]).toBe("runs,nodes");
  });

  it("gives the role from the documentation to the service account of api and workers", () => {
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

  it("mounts the files that settings name in every pod, with size limits", () => {
    const pods = podsOf(template(...EVERYTHING));
    expect(pods).toHaveLength(5);
    for (const { spec } of pods) {
      expect(spec.containers[0].volumeMounts).toEqual(
        expect.arrayContaining(
          ["oidc", "authorities"].map((name) => ({
            name: `files-${name}`,
            mountPath: `/etc/millrace/files/${name}`,
            readOnly: true,
          })),
        ),
      );
      expect(spec.volumes).toEqual(
        expect.arrayContaining([
          { name: "files-oidc", secret: { secretName: "millrace-oidc" } },
          { name: "files-authorities", configMap: { name: "authorities" } },
          { name: "tmp", emptyDir: { sizeLimit: "2Gi" } },
        ]),
      );
      expect(spec.containers[0].resources.limits.memory).toMatch(/^\d+[MG]i$/);
    }
  });

  it("spreads the pods of api and workers across nodes and zones", () => {
    const deployments = template().filter(({ kind }) => kind === "Deployment");
    for (const { spec } of deployments)
      expect(spec.template.spec.topologySpreadConstraints).toEqual(
        ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: spec.selector,
        })),
      );
  });

  it("lets Prometheus scrape metrics with the token from the Secret", () => {
    const metrics = (documents: readonly Document[]) =>
      only(documents, "NetworkPolicy").spec.ingress.find(({ ports }: Document) => ports[0].port === "metrics");
    expect(metrics(template())).toBeUndefined();
    const monitored = template("podMonitor.enabled=true");
    expect(metrics(monitored)).toEqual({ ports: [{ port: "metrics" }], from: [{ namespaceSelector: {} }] });
    expect(only(monitored, "PodMonitor").spec.podMetricsEndpoints).toEqual([
      { port: "metrics", authorization: { credentials: { name: "millrace", key: "MILLRACE_METRICS_TOKEN" } } },
    ]);
    const from = { "kubernetes.io/metadata.name": "monitoring" };
    const narrow = template(
      "podMonitor.enabled=true",
      "podMonitor.tokenKey=",
      "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring",
    );
    expect(metrics(narrow).from).toEqual([{ namespaceSelector: { matchLabels: from } }]);
    expect(only(narrow, "PodMonitor").spec.podMetricsEndpoints).toEqual([{ port: "metrics" }]);
  });

  it("takes the public URL and the trusted proxies from the ingress, unless they are set", () => {
    const environment = (...settings: string[]) => {
      const { MILLRACE_PUBLIC_URL, MILLRACE_TRUSTED_PROXIES } = environmentOf(podsOf(template(...settings))[0]);
      return [MILLRACE_PUBLIC_URL, MILLRACE_TRUSTED_PROXIES];
    };
    const host = ["api.ingress.enabled=true", "api.ingress.host=m.example.com"];
    expect(environment()).toEqual([undefined, undefined]);
    expect(environment(...host)).toEqual(["http://m.example.com", undefined]);
    expect(environment(...EVERYTHING)).toEqual(["https://millrace.example.com", "10.244.0.0/16,fd00::/8"]);
    const own = ["config.MILLRACE_PUBLIC_URL=https://own.example", "config.MILLRACE_TRUSTED_PROXIES=10.0.0.1"];
    expect(environment(...EVERYTHING, ...own)).toEqual(["https://own.example", "10.0.0.1"]);
  });

  it("has one Ingress per host even with one release per build, and routes it to the named release", () => {
    const build = ["api.ingress.enabled=true", "api.ingress.host=m.example.com", "config.MILLRACE_BUILD_ID=v2"];
    const ofRelease = (release: string, ...more: string[]) => {
      const settings = [...build, ...more].flatMap((each) => ["--set", each]);
      const { status, stdout } = run("template", release, chart, "--kube-version", "1.30.0", ...settings);
      expect(status).toBe(0);
      return only(
        parseAllDocuments(stdout)
          .map((each) => each.toJS())
          .filter(Boolean),
        "Ingress",
      );
    };
    const [one, two] = [ofRelease("v1"), ofRelease("v2")];
    // Helm refuses to install resources that belong to another release.
    expect([one.metadata.name, two.metadata.name]).toEqual(["millrace-m.example.com", "millrace-m.example.com"]);
    const serviceOf = ({ spec }: Document) => spec.rules[0].http.paths[0].backend.service.name;
    expect(serviceOf(one)).toBe("v1-millrace");
    expect(serviceOf(ofRelease("v1", "api.ingress.serviceName=v2-millrace"))).toBe("v2-millrace");
  });

  it.each([
    [["backup.place=/var/backups/millrace", "backup.existingClaim=backups"], /^\/var\/backups\/millrace\/TIME$/],
    [
      ["backup.place=s3://b/p/?region=eu&endpoint=https://s3.example"],
      /^s3:\/\/b\/p\/TIME\?region=eu&endpoint=https:\/\/s3\.example$/,
    ],
  ])("takes backups by a CronJob, each to its own location: %j", (settings, place) => {
    const { spec } = only(template("backup.enabled=true", ...settings), "CronJob");
    const [{ command }] = spec.jobTemplate.spec.template.spec.containers;
    const [shell, option, script, ...rest] = command as string[];
    const said = spawnSync(shell ?? "", [option ?? "", (script ?? "").replace("exec node", "exec echo"), ...rest]);
    const [program, verb, where = ""] = String(said.stdout).trim().split(" ");
    expect([program, verb]).toEqual(["bin/millrace.mjs", "backup"]);
    expect(where.replace(/\d{4}-\d\d-\d\dT\d{6}Z/, "TIME")).toMatch(place);
  });

  it("rejects secrets in clear text, unknown values, and data directories without a volume", () => {
    for (const [setting, message] of [
      ["config.DATABASE_URL=postgres://x", "DATABASE_URL"],
      ["api.config.MILLRACE_MASTER_KEY=x", "MILLRACE_MASTER_KEY"],
      ["api.config.MILLRACE_METRICS_TOKEN=x", "MILLRACE_METRICS_TOKEN"],
      ["workers.flows.config.MILLRACE_MASTER_KEY=x", "MILLRACE_MASTER_KEY"],
      ["api.replica=3", "replica"],
      ["config.MILLRACE_BLOB_URL=/var/lib/millrace/blobs", "set blobs.existingClaim"],
      ["config.MILLRACE_BLOB_URL=null", "set blobs.existingClaim"],
      ["config.MILLRACE_BLOB_URL=/data,blobs.existingClaim=blobs", "mounted at /var/lib/millrace"],
      ["backup.enabled=true", "backup.place"],
      ["backup.enabled=true,backup.place=/var/backups/millrace", "set backup.existingClaim"],
      ["files[0].name=oidc", "files"],
      ["workers.jobs.queues={ingest,elsewhere}", "queues"],
      ["workers.jobs.queues={ingest,webhooks}", "queue background"],
    ] as const) {
      const { status, stderr } = run("template", "acme", chart, "--kube-version", "1.30.0", "--set", setting);
      expect([setting, status]).toEqual([setting, 1]);
      expect(stderr).toContain(message);
    }
  });
});
