import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { openBench, type Bench, type NodeRun, type Run } from "../engine/support.ts";
import { endingFlows } from "../support/arbitrary-run.ts";
import { brokenFlows, mutated } from "../support/arbitrary-flow.ts";
import { LONG } from "../support/long.ts";

// A fixed seed makes failures reproducible; other seeds search further.
const seed = Number(process.env["MILLRACE_FUZZ_SEED"] ?? 20_261_121);
const count = Number(process.env["MILLRACE_FUZZ_RUNS"] ?? (LONG ? 30 : 8));
const AT_ONCE = 6;

type Graph = Pick<FlowDefinition, "nodes" | "edges">;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});

async function inParallel<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const left = [...values];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await work(next);
    }),
  );
}

/** The handles that were active when a node had finished. */
function liveHandles(record: NodeRun | undefined, node: Graph["nodes"][number]): readonly string[] {
  if (record?.state === "FAILED")
    return node.on_error === "branch" ? ["error"] : node.on_error === "continue" ? ["out"] : [];
  if (record?.state !== "COMPLETED") return [];
  if (node.type !== "condition") return ["out"];
  const { matched } = record.output as { matched?: string };
  return matched === undefined ? ["out"] : [matched === "else" ? "else" : `case:${matched}`];
}

/** Errors in the records of a graph's nodes; with `whole`, no record may be missing. */
function faults(graph: Graph, records: ReadonlyMap<string, NodeRun>, prefix: string, whole: boolean): string[] {
  const found: string[] = [];
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  for (const node of graph.nodes) {
    const path = prefix + node.id;
    const record = records.get(path);
    if (!record) {
      if (whole) found.push(`${path} has no record`);
      continue;
    }
    const incoming = graph.edges.filter(({ target }) => target === node.id);
    const isLive = incoming.some(({ source, source_handle = "out" }) => {
      const from = nodes.get(source);
      return from !== undefined && liveHandles(records.get(prefix + source), from).includes(source_handle);
    });
    const isReached = incoming.length === 0 || isLive;
    const shouldSkip = !isReached || node.skip_if === "true";
    if (shouldSkip !== (record.state === "SKIPPED")) found.push(`${path} is ${record.state}, reached: ${isReached}`);
    if (whole && record.state === "CANCELLED") found.push(`${path} is cancelled in a run that is not`);
    if (whole && record.state === "FAILED" && (node.on_error ?? "fail") === "fail")
      found.push(`${path} failed unheard`);
    const unsettled = incoming.filter(({ source }) => !records.has(prefix + source));
    if (record.state !== "CANCELLED" && unsettled.length > 0) found.push(`${path} did not wait for its sources`);
    const inner = node.config?.["flow"] as Graph | undefined;
    if (inner) found.push(...innerFaults(inner, records, path));
  }
  return found;
}

/** The same for every iteration of a nested flow; a failed iteration may lack records. */
function innerFaults(inner: Graph, records: ReadonlyMap<string, NodeRun>, path: string): string[] {
  const rounds = new Set(
    [...records.keys()].flatMap((each) =>
      each.startsWith(`${path}[`) ? [each.slice(0, each.indexOf("]/", path.length) + 2)] : [],
    ),
  );
  return [...rounds].flatMap((round) => faults(inner, records, round, false));
}

const FINAL = ["COMPLETED", "FAILED", "CANCELLED", "SKIPPED"];

function expectSettled(definition: FlowDefinition, run: Run): void {
  const records = new Map(run.nodes.map((record) => [record.path, record]));
  const found = [
    ...(["COMPLETED", "FAILED"].includes(run.state) ? [] : [`the run is ${run.state}`]),
    ...((run.error === null) === (run.state === "COMPLETED")
      ? []
      : [`${run.state} with error ${JSON.stringify(run.error)}`]),
    ...(records.size === run.nodes.length ? [] : ["a node is recorded twice"]),
    ...run.nodes.flatMap(({ path, state }) => (FINAL.includes(state) ? [] : [`${path} is still ${state}`])),
    ...faults(definition, records, "", run.state === "COMPLETED"),
  ];
  expect(found, `${JSON.stringify(definition)}\n${JSON.stringify(run)}`).toEqual([]);
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

/** Differences between the outputs of a completed run and the published schema. */
async function unpublished(projectId: string, outputs: Readonly<Record<string, unknown>>): Promise<unknown> {
  const { body } = await bench.api.get(`/v2/projects/${projectId}/io-schema`);
  const isValid = ajv.compile({ ...body.outputs, required: Object.keys(body.outputs.properties) });
  return isValid(outputs) ? null : isValid.errors;
}

describe("generated flows that are run for real", () => {
  it(
    "finish with records that match the graph and outputs that match the published schema",
    { timeout: 180_000 },
    async () => {
      const states: string[] = [];
      await inParallel(fc.sample(endingFlows, { seed, numRuns: count }), async (definition) => {
        const projectId = await bench.deploy(definition);
        const started = await bench.start(projectId, { "in-0": "text" }, { timeout_seconds: 60 });
        const run = await bench.until(started.run_id);
        expectSettled(definition, run);
        if (run.state === "COMPLETED")
          expect(await unpublished(projectId, run.outputs), JSON.stringify([definition, run.outputs])).toBeNull();
        // Nothing changes after the terminal state.
        expect((await bench.until(run.run_id)).nodes, JSON.stringify([definition, run])).toEqual(run.nodes);
        states.push(run.state);
      });
      expect(states).toHaveLength(count);
      // Otherwise most of the checks above would prove little.
      expect(states.filter((state) => state === "COMPLETED").length).toBeGreaterThan(count / 4);
      expect(states).toContain("FAILED");
    },
  );
});

describe("broken flows", () => {
  it("get a validation response and no other error", async () => {
    await inParallel(fc.sample(brokenFlows, { seed, numRuns: 5 * count }), async (definition) => {
      const { status, body } = await bench.api.post("/v2/flows/validate", { flow: definition });
      // 422 for bodies that are rejected before they are validated as flows (`__proto__`, not an object).
      expect([200, 422], JSON.stringify([definition, body])).toContain(status);
    });
  });

  it("finish within their time limit if they are valid", { timeout: 180_000 }, async () => {
    let ran = 0;
    await inParallel(fc.sample(mutated(endingFlows, 1), { seed, numRuns: 4 * count }), async (definition) => {
      const deployed = await bench.api.post("/v2/projects", { name: "mutant", flow: definition });
      expect([201, 422], JSON.stringify([definition, deployed.body])).toContain(deployed.status);
      if (deployed.status !== 201) return;
      const { project_id } = deployed.body;
      const { status, body } = await bench.api.post("/v2/runs", {
        project_id,
        inputs: { "in-0": "x" },
        timeout_seconds: 3,
      });
      expect([201, 422, 404], JSON.stringify([definition, body])).toContain(status);
      if (status !== 201) return;
      const run = await bench.until(body.run_id);
      expect(
        run.nodes.filter(({ state }) => !FINAL.includes(state)),
        JSON.stringify([definition, run]),
      ).toEqual([]);
      ran++;
    });
    expect(ran).toBeGreaterThanOrEqual(count / 4);
  });
});
