import { describe, expect, it } from "vitest";
import {
  EVENT_TYPES,
  eventEnvelope,
  MAX_EVENT_DATA_BYTES,
  OVERSIZE,
  publicEventId,
  selects,
  TEST_EVENT_TYPE,
  typesOfPattern,
  type DomainEvent,
} from "../../../src/domain/webhooks/events.ts";
import type { JsonObject } from "../../../src/domain/json.ts";

const ID = "018f0000-0000-7000-8000-000000000001";
const PROJECT = "018f0000-0000-7000-8000-000000000002";
const OTHER_PROJECT = "018f0000-0000-7000-8000-000000000003";

function event(data: JsonObject, type = "run.completed"): DomainEvent {
  return { event_id: ID, org_id: "o-1", type, project_id: PROJECT, data, occurred_at: "2026-01-02T03:04:05.678Z" };
}

/** Data that has exactly this many bytes as JSON. */
function dataOf(bytes: number, character = "x"): JsonObject {
  const data = { run_id: "r-1", state: "COMPLETED", outputs: { "out-0": "" } };
  const room = bytes - Buffer.byteLength(JSON.stringify(data));
  const size = Buffer.byteLength(character);
  return { ...data, outputs: { "out-0": character.repeat(Math.floor(room / size)) + "x".repeat(room % size) } };
}

describe("event patterns", () => {
  it("match a type, types with the same prefix, or all", () => {
    expect(typesOfPattern("run.paused")).toEqual(["run.paused"]);
    expect(typesOfPattern("run.*")).toEqual(EVENT_TYPES.filter((type) => type.startsWith("run.")));
    expect(typesOfPattern("evals.monitor.*")).toEqual([
      "evals.monitor.alert.triggered",
      "evals.monitor.alert.resolved",
    ]);
    expect(typesOfPattern("*")).toEqual(EVENT_TYPES);
  });

  it.each(["", "run", "run.", "ru.*", "r*", "*.completed", "*.*", ".*", "run.**", "RUN.*", "run.completed.*", "**"])(
    "match nothing if they are %j",
    (pattern) => {
      expect(typesOfPattern(pattern)).toEqual([]);
    },
  );

  it("never match a test event", () => {
    for (const pattern of ["*", "webhook.*", TEST_EVENT_TYPE]) {
      expect(typesOfPattern(pattern)).not.toContain(TEST_EVENT_TYPE);
      const selection = { events: [pattern], project_ids: null };
      expect(selects(selection, { type: TEST_EVENT_TYPE, project_id: null })).toBe(false);
    }
  });
});

describe("a webhook's selection", () => {
  it("without projects includes events of every project and events without a project", () => {
    const selection = { events: ["run.*", "skill.*"], project_ids: null };
    expect(selects(selection, { type: "run.failed", project_id: PROJECT })).toBe(true);
    expect(selects(selection, { type: "skill.version.created", project_id: null })).toBe(true);
    expect(selects(selection, { type: "connection.error", project_id: null })).toBe(false);
  });

  it("with projects includes only events of those projects", () => {
    const selection = { events: ["*"], project_ids: [PROJECT] };
    expect(selects(selection, { type: "run.failed", project_id: PROJECT })).toBe(true);
    expect(selects(selection, { type: "run.failed", project_id: OTHER_PROJECT })).toBe(false);
    expect(selects(selection, { type: "connection.error", project_id: null })).toBe(false);
  });
});

describe("the event envelope", () => {
  it("contains the type, the time and the subject, and is the same each time", () => {
    const data = { run_id: "r-1", outputs: { "out-0": "Hello" } };
    const envelope = eventEnvelope(event(data));
    expect(envelope).toEqual({
      id: `evt_${ID}`,
      type: "run.completed",
      timestamp: "2026-01-02T03:04:05.678Z",
      api_version: "v2",
      org_id: "o-1",
      data,
    });
    expect(publicEventId(ID)).toBe(envelope.id);
    expect(JSON.stringify(eventEnvelope(event(data)))).toBe(JSON.stringify(envelope));
  });

  it.each(["x", "ä", "€", "😀"])(
    "carries 20 kB of data, measured in bytes of %s, and refers to longer data",
    (character) => {
      const fits = dataOf(MAX_EVENT_DATA_BYTES, character);
      expect(eventEnvelope(event(fits)).data).toEqual(fits);
      const long = dataOf(MAX_EVENT_DATA_BYTES + 1, character);
      expect(eventEnvelope(event(long), "https://millrace.example").data).toEqual({
        run_id: "r-1",
        state: "COMPLETED",
        reference: { href: "https://millrace.example/v2/runs/r-1", size_bytes: MAX_EVENT_DATA_BYTES + 1 },
      });
      expect(eventEnvelope(event(long)).data["reference"]).toMatchObject({ href: "/v2/runs/r-1" });
    },
  );

  it("refers to data that was omitted when the event was written", () => {
    const stored = { run_id: "r-1", state: "COMPLETED", error: null, [OVERSIZE]: 5_000_000 };
    expect(eventEnvelope(event(stored)).data).toEqual({
      run_id: "r-1",
      state: "COMPLETED",
      error: null,
      reference: { href: "/v2/runs/r-1", size_bytes: 5_000_000 },
    });
    // Omitted because it is in the blob store, not because it is too long.
    expect(eventEnvelope(event({ ...stored, [OVERSIZE]: 12 })).data["reference"]).toEqual({
      href: "/v2/runs/r-1",
      size_bytes: 12,
    });
  });

  it("keeps IDs, states and codes of long data, and no long text", () => {
    const data = { run_id: "r-1", flow_version: 3, message: "m".repeat(301), list: ["a"], filler: "x".repeat(20_000) };
    const { reference: _, ...kept } = eventEnvelope(event(data)).data;
    expect(kept).toEqual({ run_id: "r-1", flow_version: 3 });
  });

  it.each([
    ["run.failed", { run_id: "a/b" }, "/v2/runs/a%2Fb"],
    ["knowledge_base.sync.failed", { knowledge_base_id: "k", sync_id: "s" }, "/v2/knowledge-bases/k/syncs/s"],
    [
      "knowledge_base.resource.failed",
      { knowledge_base_id: "k", resource_id: "r" },
      "/v2/knowledge-bases/k/resources/r",
    ],
    ["evals.experiment.completed", { experiment_id: "e" }, "/v2/evals/experiments/e"],
    ["evals.monitor.alert.triggered", { monitor_id: "m" }, "/v2/evals/monitors/m"],
    ["webhook.subscription.disabled", { subscription_id: "w" }, "/v2/webhooks/subscriptions/w"],
    ["skill.version.created", { skill_id: "s" }, "/v2/skills/s"],
    ["quota.reached", { quota: "storage_bytes" }, "/v2/quotas"],
    ["connection.error", { connection_id: "c" }, "/v2/connections/c"],
    ["run.failed", { state: "FAILED" }, null],
  ])("refers from %s with %j to %s", (type, ids, href) => {
    const { data } = eventEnvelope(event({ ...ids, filler: "x".repeat(MAX_EVENT_DATA_BYTES) }, type));
    expect(data).toEqual({ ...ids, reference: { href, size_bytes: expect.any(Number) } });
  });
});
