import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { historiesOfEnded, withTemporal, type WorkflowHistory } from "../support/histories.ts";
import { service } from "../support/service.ts";
import { flow, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
});
afterAll(() => target.close());

const triage = flow(
  [
    { id: "in-0", type: "input" },
    {
      id: "if-0",
      type: "condition",
      config: {
        cases: [
          { id: "long", when: 'size(nodes["in-0"]) > 3' },
          { id: "a", when: 'nodes["in-0"] == "a"' },
        ],
      },
    },
    { id: "long", type: "template", config: { template: "long {{in-0}}" } },
    { id: "long2", type: "template", config: { template: "{{long}}!" } },
    { id: "a", type: "template", config: { template: "it is a" } },
    { id: "other", type: "template", config: { template: "other" } },
    { id: "out-0", type: "output" },
    { id: "out-1", type: "output", config: { value: "{{long2}}{{a}}{{other}}" } },
    { id: "out-2", type: "output" },
  ],
  [
    "in-0>if-0",
    "if-0:case:long>long",
    "long>long2",
    "if-0:case:a>a",
    "if-0:else>other",
    "long2>out-0",
    "a>out-0",
    "other>out-0",
    "long2>out-1",
    "a>out-1",
    "other>out-1",
    "long2>out-2",
  ],
);

describe("branches", () => {
  it.concurrent.each([
    ["hello", { "out-0": "long hello!", "out-1": "long hello!", "out-2": "long hello!" }, ["a", "other"]],
    ["a", { "out-0": "it is a", "out-1": "it is a", "out-2": null }, ["long", "long2", "other", "out-2"]],
    ["b", { "out-0": "other", "out-1": "other", "out-2": null }, ["a", "long", "long2", "out-2"]],
  ])(
    "a condition takes one case for %s and skips what only the other cases lead to",
    async (input, outputs, skipped) => {
      const run = await bench.run(triage, { "in-0": input });
      expect(run.state).toBe("COMPLETED");
      expect(run.outputs).toEqual(outputs);
      expect(
        run.nodes
          .filter(({ state }) => state === "SKIPPED")
          .map(({ node_id }) => node_id)
          .toSorted(),
      ).toEqual(skipped);
      expect(run.progress_data).toMatchObject({
        total_nodes: 9,
        completed_nodes: 9 - skipped.length,
        skipped_nodes: skipped.length,
      });
    },
  );

  it("an expression with a named time zone is recorded, since machines may disagree about time zones", async () => {
    const zoned = (zone: string) =>
      flow(
        [
          { id: "in-0", type: "input" },
          {
            id: "if-0",
            type: "condition",
            config: { cases: [{ id: "late", when: `timestamp(nodes["in-0"]).getHours("${zone}") == 3` }] },
          },
          { id: "late", type: "template", config: { template: "late" } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>if-0", "if-0:case:late>late", "late>out-0"],
      );
    const evaluated = async (zone: string) => {
      const run = await bench.run(zoned(zone), { "in-0": "2024-03-31T01:00:00Z" });
      expect(run.outputs).toEqual({ "out-0": "late" });
      const [{ history }] = (await withTemporal(service().temporalAddress, (client) =>
        historiesOfEnded(client, run.run_id),
      )) as [WorkflowHistory];
      const local = history.events?.flatMap(({ markerRecordedEventAttributes: each }) =>
        each?.markerName === "core_local_activity"
          ? [Buffer.from(each.details?.["data"]?.payloads?.[0]?.data ?? "").toString()]
          : [],
      );
      return local?.filter((data) => data.includes('"evaluate"')).length;
    };
    expect(await evaluated("Europe/Berlin")).toBe(1);
    expect(await evaluated("+02:00")).toBe(0);
  });

  it("a join waits for every active branch and no other", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "slow", type: "delay", config: { seconds: 0.3 } },
          { id: "fast", type: "template", config: { template: "f" } },
          { id: "never", type: "template", config: { template: "n" }, skip_if: "true" },
          { id: "join", type: "template", config: { template: "{{fast}}{{never}}{% if slow %}s{% endif %}" } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>slow", "in-0>fast", "in-0>never", "slow>join", "fast>join", "never>join", "join>out-0"],
      ),
      { "in-0": "x" },
    );
    expect(run.outputs).toEqual({ "out-0": "fs" });
    expect(nodesOf(run)["never"]?.state).toBe("SKIPPED");
  });

  it("the output of one branch can be read while another branch is still running", async () => {
    const release = target.hold("/held");
    const get = (id: string, path: string) => ({ id, type: "http", config: { method: "GET", url: target.url + path } });
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            get("held", "/held"),
            get("quick", "/echo"),
            { id: "after", type: "template", config: { template: "{{quick.status}}" } },
            { id: "out-0", type: "output" },
            { id: "out-1", type: "output", config: { value: "{{held.status}}" } },
          ],
          ["quick>after", "after>out-0", "held>out-1"],
        ),
      ),
    );
    await expect
      .poll(async () => {
        const { body } = await bench.api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } });
        return Object.fromEntries(Object.entries(nodesOf(body as Run)).map(([id, { state }]) => [id, state]));
      })
      .toEqual({ held: "RUNNING", quick: "COMPLETED", after: "COMPLETED", "out-0": "COMPLETED" });
    release();
    expect((await bench.until(run_id)).outputs).toEqual({ "out-0": "200", "out-1": "200" });
  });

  it("skip_if skips a node and what only it leads to, depending on its expression", async () => {
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        { id: "tpl-0", type: "template", config: { template: "made" }, skip_if: 'nodes["in-0"] == "no"' },
        { id: "tpl-1", type: "template", config: { template: "{{tpl-0}}!" } },
        { id: "out-0", type: "output" },
        { id: "out-1", type: "output" },
      ],
      ["in-0>tpl-0", "tpl-0>tpl-1", "tpl-1>out-0", "in-0>out-1"],
    );
    expect((await bench.run(definition, { "in-0": "yes" })).outputs).toEqual({ "out-0": "made!", "out-1": "yes" });
    expect((await bench.run(definition, { "in-0": "no" })).outputs).toEqual({ "out-0": null, "out-1": "no" });
  });

  it("an output without a value returns its source's value with its type", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          {
            id: "set-0",
            type: "set",
            config: {
              values: {
                n: "1 + 2",
                half: "3 / 2.0",
                list: '[1, "two", null]',
                flag: "true",
                text: 'nodes["in-0"].upperAscii()',
              },
            },
          },
          { id: "out-0", type: "output" },
        ],
        ["in-0>set-0", "set-0>out-0"],
      ),
      { "in-0": "abc" },
    );
    expect(run.outputs).toEqual({ "out-0": { n: 3, half: 1.5, list: [1, "two", null], flag: true, text: "ABC" } });
  });

  it("double-render: the value of an input is data", async () => {
    const input = '{{7*7}} {{in-0}} {% for i in (1..3) %}x{% endfor %} nodes["in-0"]';
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "tpl-0", type: "template", config: { template: "[{{in-0}}]" } },
          { id: "tpl-1", type: "template", config: { template: "<{{tpl-0}}>" } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>tpl-0", "tpl-0>tpl-1", "tpl-1>out-0"],
      ),
      { "in-0": input },
    );
    expect(run.outputs).toEqual({ "out-0": `<[${input}]>` });
  });

  it("a guard passes if its check holds and otherwise fails the run with its message", async () => {
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        { id: "guard-0", type: "guard", config: { check: 'size(nodes["in-0"]) < 5', message: "{{in-0}} is too long" } },
        { id: "out-0", type: "output", config: { value: "ok {{in-0}}" } },
      ],
      ["in-0>guard-0", "guard-0>out-0"],
    );
    expect((await bench.run(definition, { "in-0": "abc" })).outputs).toEqual({ "out-0": "ok abc" });
    const failed = await bench.run(definition, { "in-0": "abcdef" });
    expect(failed).toMatchObject({
      state: "FAILED",
      error: { code: "guard_failed", message: "abcdef is too long", node_id: "guard-0" },
    });
    expect(nodesOf(failed)["out-0"]).toBeUndefined();
  });
});

describe("outputs that were not reached", () => {
  it("are null, and the published schema allows null only for them", async () => {
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        { id: "in-1", type: "input", config: { required: false } },
        { id: "if-0", type: "condition", config: { cases: [{ id: "a", when: 'nodes["in-0"] == "a"' }] } },
        { id: "tpl-0", type: "template", config: { template: "{{in-0}}" } },
        { id: "taken", type: "output" },
        { id: "other", type: "output", config: { value: "b" } },
        { id: "skipped", type: "output", skip_if: "true" },
        { id: "absent", type: "output" },
        { id: "always", type: "output", config: { value: "c" } },
      ],
      [
        "in-0>if-0",
        "if-0:case:a>tpl-0",
        "tpl-0>taken",
        "if-0:else>other",
        "in-0>skipped",
        "in-1>absent",
        "if-0:else>always",
        "in-0>always",
      ],
    );
    const projectId = await bench.deploy(definition);
    const { run_id } = await bench.start(projectId, { "in-0": "a" });
    const { outputs } = await bench.until(run_id);
    expect(outputs).toEqual({ taken: "a", other: null, skipped: null, absent: null, always: "c" });
    const { body } = await bench.api.get(`/v2/projects/${projectId}/io-schema`);
    const isValid = new Ajv2020({ strict: false }).compile(body.outputs);
    expect(isValid(outputs), JSON.stringify(isValid.errors)).toBe(true);
    expect(isValid({ ...outputs, always: null })).toBe(false);
  });
});
