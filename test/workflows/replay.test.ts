import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as workflows from "../../workflows/index.ts";
import { fromJson, replay, type HistoryJson } from "../support/histories.ts";

// A run that began under older code continues under this code, from its history. If a change of the workflows breaks a
// replay here, it breaks runs in progress: give it a patch (docs/operation.md, "Upgrade"), and record its histories
// from then on.

const folder = fileURLToPath(new URL("../histories/", import.meta.url));
const examples = readdirSync(fileURLToPath(new URL("../../examples/flows", import.meta.url)));
const versions = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const filesOf = (version: string): string[] => readdirSync(join(folder, version));
const read = (version: string, file: string): HistoryJson =>
  JSON.parse(readFileSync(join(folder, version, file), "utf8")) as HistoryJson;

describe.each(versions)("histories recorded under version %s", (version) => {
  it("replay with the current code, step by step", async () => {
    const kept = filesOf(version).map((file) => fromJson(read(version, file)));
    expect(await replay(kept)).toEqual({});
  });

  it("exist for each example flow", () => {
    for (const example of examples)
      expect(filesOf(version)).toContain(example.replace(/^(.*)\.json$/, "example-$1-0.json"));
  });
});

it("the newest histories cover every workflow", () => {
  const version = versions.at(-1) ?? "";
  const types = filesOf(version).map((file) => {
    const [first] = read(version, file).events as Array<{
      workflowExecutionStartedEventAttributes?: { workflowType?: { name?: string } };
    }>;
    return first?.workflowExecutionStartedEventAttributes?.workflowType?.name;
  });
  expect([...new Set(types)].toSorted()).toEqual(Object.keys(workflows).toSorted());
});

describe("a history that the current code would not produce", () => {
  const version = versions.at(-1) ?? "";

  it.each([
    ["another activity", "example-fetch-0.json", /"name":"executeNode"/, '"name":"ingestDocument"'],
    ["another child", "example-review-0.json", /(Child.*?"workflowType":{"name":")runFlow/, "$1runSlice"],
    ["no timer where the code sets one", "engine-cancelled.json", /_TIMER_STARTED/, "_TIMER_CANCELED"],
  ])("is detected: %s", async (_what, file, is, becomes) => {
    const kept = read(version, file);
    const text = JSON.stringify(kept.events);
    expect(text).toMatch(is);
    const tampered = { ...kept, events: JSON.parse(text.replace(is, becomes)) as HistoryJson["events"] };
    const failures = await replay([fromJson(tampered)]);
    expect(failures[kept.workflowId]).toMatch(/determinis|Fatal error in workflow machines/i);
  });
});
