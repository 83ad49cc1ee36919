import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { claimPort } from "../../src/dev/ports.ts";
import { startChild } from "../../src/dev/processes.ts";
import { flow, openBench } from "../engine/support.ts";
import { buildGoProgram } from "../support/go-tool.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { eventually } from "../support/scratch.ts";
import { recordPid } from "../support/service-processes.ts";
import { startService } from "../support/service.ts";

const sources = fileURLToPath(new URL("../fixtures/otelcol", import.meta.url));
const collector = buildGoProgram("otelcol", "0.165.0", sources);
if ("skipped" in collector) process.stderr.write(`the OpenTelemetry Collector is skipped: ${collector.skipped}\n`);

/** Starts a Collector that forwards to `backend`; returns its URL and its log file. */
async function startCollector(backend: string): Promise<{ readonly url: string; readonly logFile: string }> {
  const { stateDir } = inject("millrace");
  const folder = mkdtempSync(join(stateDir, "otelcol-"));
  const [config, logFile] = [join(folder, "config.json"), join(folder, "log")];
  const endpoint = `127.0.0.1:${await claimPort()}`;
  const pipeline = { receivers: ["otlp"], exporters: ["otlphttp"] };
  // A JSON document is also valid YAML.
  writeFileSync(
    config,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint } } } },
      exporters: { otlphttp: { endpoint: backend, compression: "gzip" } },
      service: { telemetry: { metrics: { level: "none" } }, pipelines: { traces: pipeline } },
    }),
  );
  const child = await startChild({
    command: "program" in collector ? collector.program : "",
    args: ["--config", config],
    env: {},
    logFile,
  });
  recordPid(stateDir, child.pid);
  onTestFinished(() => child.stop("SIGTERM", 5000));
  const url = `http://${endpoint}`;
  await eventually("the Collector listens", async () => {
    if (!child.running()) throw new Error(readFileSync(logFile, "utf8"));
    return fetch(url).then(
      () => true,
      () => false,
    );
  });
  return { url, logFile };
}

describe.skipIf("skipped" in collector)("an OpenTelemetry Collector", () => {
  it("accepts all spans of a run and forwards them", async () => {
    const backend = await startOtlpReceiver();
    const target = await startHttpTarget();
    const { url, logFile } = await startCollector(backend.url);
    const service = await startService({ env: { MILLRACE_OTLP_ENDPOINT: url } });
    onTestFinished(async () => {
      await service.close();
      await Promise.all([backend.close(), target.close()]);
    });
    const bench = await openBench(service);
    const http = { id: "http-0", type: "http", config: { url: `${target.url}/status?code=404` } };
    const { run_id, state } = await bench.run(flow([http, { id: "out-0", type: "output" }], ["http-0>out-0"]));
    expect(state).toBe("FAILED");

    const of = (name: string) =>
      backend.find(name, (span) => span.name === name && span.attributes["millrace.run.id"] === run_id);
    const [run, node, attempt] = [await of("run"), await of("http http-0"), await of("attempt http-0")];
    const call = await backend.find("the request", ({ parent_id }) => parent_id === attempt.span_id);
    const request = await backend.find("the call of the API", ({ span_id }) => span_id === run.parent_id);
    expect([node.parent_id, attempt.parent_id]).toEqual([run.span_id, node.span_id]);
    expect(new Set([request, run, node, attempt, call].map(({ trace_id }) => trace_id)).size).toBe(1);
    expect(request).toMatchObject({ name: "POST /v2/runs", kind: 2, service: "millrace-api" });
    expect(call).toMatchObject({ name: "GET", kind: 3, attributes: { "http.response.status_code": 404 } });
    expect(run).toMatchObject({ status: { code: 2 }, attributes: { "millrace.run.state": "FAILED" } });
    for (const span of [request, run, node, attempt, call]) expect(span.end_ms).toBeGreaterThanOrEqual(span.start_ms);
    expect(readFileSync(logFile, "utf8")).not.toMatch(/\terror\t/);
  });
});
