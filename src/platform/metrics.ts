import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { within } from "./within.ts";

/** Bucket limits in seconds, from an inline node to a run that waits for people. */
const SHORT = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const LONG = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 21_600, 86_400];
/** Bucket limits of the durations of one project's runs (s). */
const COARSE = [0.1, 0.5, 1, 5, 30, 300, 3600];

/** Most projects with their own time series in a process; the others are counted together. */
const MAX_PROJECTS = 200;
const OTHER_PROJECTS = "other";

/** How long metrics wait for gauges that are read on request (ms). */
const MAX_READ_MS = 2000;

export interface GaugeText {
  readonly help: string;
  readonly labels: readonly string[];
}

export interface GaugeSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The source of the values of some gauges. While it fails, these gauges have no samples. */
export interface GaugeSource {
  /** Values older than this are read again (ms). */
  readonly maxAgeMs: number;
  read(): Promise<readonly GaugeSample[]>;
  readonly onError: (error: unknown) => void;
}

/** The metrics of Millrace. Labels come from closed lists only, because a label that users can choose would grow without limit. */
export interface Metrics {
  /** One HTTP request served; `operation` is its operation id, or "unmatched". */
  httpRequest(labels: { operation: string; status: number }, seconds: number): void;
  /** A run's workflow has started. */
  runStarted(): void;
  /** A run reached a terminal state, this many seconds after its creation; `project` is the project's id. */
  runFinished(labels: { state: string; project: string }, seconds: number): void;
  nodeFinished(labels: { kind: string; state: string }, seconds: number): void;
  /** An attempt of a node failed, whether or not another one follows. */
  nodeFailed(labels: { kind: string; project: string }): void;
  /** An activity attempt threw; `code` is a NodeFailure's code, or "infrastructure". */
  activityFailed(labels: { activity: string; code: string }): void;
  /** An action of a sweeper: `sweeper` is its name, `outcome` is such as "started", "signalled", "settled", "error". */
  swept(labels: { sweeper: string; outcome: string }, count?: number): void;
  /** An attempt to deliver an event ended: "delivered", or the reason for the failure. */
  deliveryAttempted(outcome: string): void;
  /** An event was delivered, this many seconds after it happened. */
  delivered(lagSeconds: number): void;
  /** An outbound request ended: "ok", or the code of FetchRefused or FetchFailed. */
  outboundRequest(outcome: string): void;
  /** Spans of traces were "sent", "failed" to be sent, or "dropped" because too many waited. */
  spans(outcome: "sent" | "failed" | "dropped", count: number): void;
  /** A gauge whose value is read on request: pool sizes, slots, cached workflows. Name without prefix. */
  gauge(name: string, help: string, read: () => number): void;
  /** Gauges whose values are read together on request. */
  gauges(gauges: Readonly<Record<string, GaugeText>>, source: GaugeSource): void;
  /** The metrics in the Prometheus exposition format. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Creates a separate registry, with the default metrics of the process. `service` is a label of every metric in it. */
export function createMetrics(options: {
  readonly service: string;
  readonly processMetrics?: boolean;
  /** Whether projects have time series with their IDs as labels; default false. */
  readonly projects?: boolean;
}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: options.service });
  if (options.processMetrics !== false) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[], into = registers) =>
    new Counter({ name, help, labelNames, registers: into });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[],
    into = registers,
  ) => new Histogram({ name, help, labelNames, buckets, registers: into });

  const httpRequests = histogram(
    "millrace_http_request_duration_seconds",
    "Time from the arrival of a request to the end of its response",
    SHORT,
    ["operation", "status"],
  );
  const runsStarted = counter("millrace_runs_started_total", "Runs started", []);
  const runsFinished = counter("millrace_runs_finished_total", "Runs that reached a terminal state", ["state"]);
  const runDurations = histogram(
    "millrace_run_duration_seconds",
    "Time from a run's creation to its terminal state",
    LONG,
    ["state"],
  );
  const nodes = histogram("millrace_node_duration_seconds", "Duration of one evaluation of a node", SHORT, [
    "kind",
    "state",
  ]);
  // Readers of these metrics see IDs and counts of every organisation.
  const registersOfProjects = options.projects ? registers : [];
  const projectRuns = counter(
    "millrace_project_runs_finished_total",
    "Runs that reached a terminal state, by project",
    ["project", "state"],
    registersOfProjects,
  );
  const projectDurations = histogram(
    "millrace_project_run_duration_seconds",
    "Time from a run's creation to its terminal state, by project",
    COARSE,
    ["project"],
    registersOfProjects,
  );
  const nodeFailures = counter(
    "millrace_node_failures_total",
    options.projects ? "Failed node attempts, by project and node type" : "Failed node attempts, by node type",
    ["project", "kind"],
  );
  const projects = new Set<string>();
  /** The project's id, or "other" once there are too many: each id is a time series or more for as long as the process lives. */
  const projectLabel = (id: string): string => {
    if (projects.size < MAX_PROJECTS) projects.add(id);
    return projects.has(id) ? id : OTHER_PROJECTS;
  };
  const activityFailures = counter("millrace_activity_failures_total", "Failed activity attempts", [
    "activity",
    "code",
  ]);
  const sweeps = counter("millrace_sweeper_actions_total", "Actions of the sweepers, by outcome", [
    "sweeper",
    "outcome",
  ]);
  const attempts = counter("millrace_webhook_attempts_total", "Webhook delivery attempts, by outcome", ["outcome"]);
  const lag = histogram(
    "millrace_webhook_delivery_lag_seconds",
    "Time from an event to its successful delivery",
    LONG,
    [],
  );
  const outbound = counter("millrace_outbound_requests_total", "Outbound requests, by outcome", ["outcome"]);
  const spans = counter(
    "millrace_trace_spans_total",
    "Trace spans: sent to the collector, failed to send, or dropped because the queue was full",
    ["outcome"],
  );

  return {
    httpRequest: ({ operation, status }, seconds) =>
      httpRequests.observe({ operation, status: String(status) }, seconds),
    runStarted: () => runsStarted.inc(),
    runFinished({ state, project: id }, seconds) {
      runsFinished.inc({ state });
      runDurations.observe({ state }, seconds);
      if (!options.projects) return;
      const project = projectLabel(id);
      projectRuns.inc({ project, state });
      projectDurations.observe({ project }, seconds);
    },
    nodeFinished: (labels, seconds) => nodes.observe(labels, seconds),
    nodeFailed: ({ kind, project }) =>
      nodeFailures.inc({ kind, ...(options.projects && { project: projectLabel(project) }) }),
    activityFailed: (labels) => activityFailures.inc(labels),
    swept: (labels, count = 1) => sweeps.inc(labels, count),
    deliveryAttempted: (outcome) => attempts.inc({ outcome }),
    delivered: (lagSeconds) => lag.observe(lagSeconds),
    outboundRequest: (outcome) => outbound.inc({ outcome }),
    spans: (outcome, count) => spans.inc({ outcome }, count),
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({ name: `millrace_${name}`, help, registers, collect: () => gauge.set(read()) });
    },
    gauges(texts, { maxAgeMs, read, onError }) {
      let readAt = Number.NEGATIVE_INFINITY;
      let reading: Promise<void> | undefined;
      const gauges = new Map<string, Gauge>();
      const refresh = async (): Promise<void> => {
        const samples = await within(MAX_READ_MS, read()).catch((error: unknown) => {
          onError(error);
          return [];
        });
        for (const [name, gauge] of gauges) empty(gauge, (texts[name]?.labels.length ?? 0) > 0);
        for (const { name, labels, value } of samples) gauges.get(name)?.set(labels, value);
        readAt = Date.now();
      };
      // All gauges of a source share one read, which the first of them starts.
      const collect = async (): Promise<void> => {
        if (!reading && Date.now() - readAt >= maxAgeMs) reading = refresh().finally(() => (reading = undefined));
        await reading;
      };
      for (const [name, { help, labels }] of Object.entries(texts)) {
        const gauge = new Gauge({ name, help, labelNames: [...labels], registers, collect });
        empty(gauge, labels.length > 0);
        gauges.set(name, gauge);
      }
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Removes the samples of a gauge. */
function empty(gauge: Gauge, hasLabels: boolean): void {
  gauge.reset();
  // A gauge without labels would then show zero, which may be far from the truth.
  if (!hasLabels) gauge.remove();
}
