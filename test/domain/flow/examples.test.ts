import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { namesIn, withIds, type FlowFile } from "../../../src/cli/flow-file.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import { contentHash } from "../../../src/domain/flow/definition/content-hash.ts";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import { flowJsonSchema } from "../../../src/domain/flow/definition/flow-schema.ts";
import { describeFlow } from "../../../src/domain/flow/io/io-schema.ts";
import { DEFAULT_FLOW_LIMITS } from "../../../src/domain/flow/definition/limits.ts";
import { validateRunInputs } from "../../../src/domain/flow/io/run-inputs.ts";
import { NODE_KINDS } from "../../../src/domain/flow/kinds.ts";
import { checkFlow } from "../../../src/domain/flow/validate/validate.ts";

const folder = new URL("../../../examples/flows/", import.meta.url);
const files = readdirSync(folder).map((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as FlowFile);
/** Example files name knowledge bases; a deployed flow has their IDs. */
const A_BASE = "0197f0a0-0000-7000-8000-000000000000";
const flows = files.map((file): [string, FlowDefinition] => [
  file.name,
  withIds(file, (name, kind) => (kind === "knowledge_base" ? A_BASE : name)) as unknown as FlowDefinition,
]);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const published = ajv.compile(flowJsonSchema());

describe.each(flows)("the example %s", (name, flow) => {
  it("is valid without warnings and matches the published schema", () => {
    expect(checkFlow(flow, DEFAULT_FLOW_LIMITS)).toMatchObject({ valid: true, problems: [] });
    expect(published(flow) || published.errors).toBe(true);
  });

  it("has the name of its file", () => {
    expect(existsSync(new URL(`${name}.json`, folder))).toBe(true);
    expect(contentHash(flow)).toMatch(/^[0-9a-f]{64}$/);
  });

  it("has example inputs that its own schema and its runs accept", () => {
    const io = describeFlow(flow, { project_id: "p", name, version: 1, content_hash: "x" }, DEFAULT_FLOW_LIMITS);
    const accepts = ajv.compile(io.inputs);
    const plan = compileFlow(flow);
    expect(io.examples.length).toBeGreaterThan(0);
    for (const { inputs } of io.examples) {
      expect(accepts(inputs) || accepts.errors).toBe(true);
      expect(validateRunInputs(plan, inputs, DEFAULT_FLOW_LIMITS)).toMatchObject({ ignored: [], issues: [] });
    }
    expect(() => ajv.compile(io.outputs)).not.toThrow();
  });

  it("calls only flows that are examples too", () => {
    const called = [...JSON.stringify(flow).matchAll(/"project_id":"([^"]*)"/g)].map(([, id]) => id);
    expect(called.filter((id) => !flows.some(([other]) => other === id))).toEqual([]);
  });
});

describe("the examples", () => {
  it("include documents for every knowledge base that they search", () => {
    const named = new Set(files.flatMap((file) => namesIn(file, "knowledge_base")));
    expect([...named]).toEqual(["constitution"]);
    for (const name of named) expect(existsSync(new URL(`../knowledge/${name}/`, folder))).toBe(true);
  });

  it("use every node type", () => {
    const text = flows.map(([, flow]) => JSON.stringify(flow)).join();
    expect(NODE_KINDS.filter((kind) => !text.includes(`"type":"${kind}"`))).toEqual([]);
  });
});
