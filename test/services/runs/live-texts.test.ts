import fc from "fast-check";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { followEvents } from "../../../src/api/runs/follow-run.ts";
import { createLiveTexts } from "../../../src/services/runs/live-texts.ts";
import { createRunWaiter, type RunWaiter } from "../../../src/services/runs/run-waiter.ts";
import { createTextWriter } from "../../../src/services/runs/write-texts.ts";
import { appendDeltas, beginText, listDeltas, purgeDeltas } from "../../../src/stores/runs/run-deltas.ts";
import { openRunFeed, type RunFeed } from "../../../src/stores/runs/run-feed.ts";
import { recordRun } from "../../../src/stores/runs/run-record.ts";
import { buildRun, buildTenant, moveRun, ownDatabase, update, type Tenant } from "../../stores/rows.ts";

const own = ownDatabase();
let tenant: Tenant;
/** Two separate feeds, for the worker that writes and the API that reads. */
let worker: RunFeed;
let api: RunFeed;
let waiter: RunWaiter;
beforeAll(async () => {
  tenant = await buildTenant(own.database);
  worker = openRunFeed(own.database, () => undefined);
  api = openRunFeed(own.database, () => undefined);
  waiter = createRunWaiter({ db: own.database, feed: api, lookMs: 200 });
});
afterAll(async () => {
  waiter.close();
  await Promise.all([worker.close(), api.close()]);
});

const PATHS = ["llm-0", "map-0[3]/llm-1"];
const AT = "2026-01-01T00:00:00.000Z";

/** Records the end of a node; its event comes after its last piece. */
async function endNode(runId: string, path: string): Promise<void> {
  const data = { node_id: path, path, type: "llm", state: "COMPLETED", attempts: 1 };
  await own.database.org(tenant.org_id, (db) =>
    recordRun(db, update(tenant, runId, {}), [{ type: "node.finished", at: AT, data }]),
  );
  worker.changed(runId, "progress");
}

const follow = () => ({
  db: own.database,
  waiter,
  texts: createLiveTexts({ db: own.database, feed: api }),
  keepAliveMs: 5000,
});

interface Assembled {
  attempt: number;
  step: number;
  text: string;
}

/**
 * Assembles the pieces as the reference tells clients to; disconnects after the given numbers of events and resumes
 * with the last ID seen.
 */
async function assemble(runId: string, breaks: readonly number[]): Promise<Map<string, string>> {
  const texts = new Map<string, Assembled>();
  const left = [...breaks];
  const ended = new Set<string>();
  let after = 0;
  for (;;) {
    let until = left.shift() ?? Number.POSITIVE_INFINITY;
    const run = { org_id: tenant.org_id, run_id: runId };
    const events = followEvents(follow(), run, { after, withTexts: true, signal: new AbortController().signal });
    for await (const event of events) {
      if (event === null) continue;
      if (event.type === "output.delta" && "data" in event) {
        const { path, attempt, step, offset, text } = event.data as Assembled & { path: string; offset: number };
        expect(ended.has(path)).toBe(false);
        const known = texts.get(path);
        if (!known || attempt > known.attempt || (attempt === known.attempt && step > known.step)) {
          expect(offset).toBe(0);
          texts.set(path, { attempt, step, text });
        } else if (attempt === known.attempt && step === known.step) {
          expect(offset).toBeLessThanOrEqual(known.text.length);
          known.text += text.slice(known.text.length - offset);
        }
      } else after = event.seq;
      if (event.type === "node.finished") ended.add(event.data["path"] as string);
      if (event.type === "run.finished") return new Map([...texts].map(([path, { text }]) => [path, text]));
      until -= 1;
      if (until <= 0) break;
    }
  }
}

describe("the text of a model while it streams", () => {
  const piece = fc.string({ unit: "binary", minLength: 0, maxLength: 12 });
  const story = fc.record({
    path: fc.constantFrom(...PATHS),
    // Attempts, each with several models in turn, and several pieces from each.
    attempts: fc.array(fc.array(fc.array(piece, { maxLength: 6 }), { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 3,
    }),
    steps: fc.boolean(),
  });

  it("is the same for every reader, whatever chunks, attempts and interruptions there are", async () => {
    const stories = fc.uniqueArray(story, { selector: ({ path }) => path, minLength: 1, maxLength: 2 });
    const breaks = fc.array(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }), { minLength: 2, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(stories, breaks, async (told, readers) => {
        const runId = await buildRun(own.database, tenant);
        const writer = createTextWriter({
          db: own.database,
          feed: worker,
          flushMs: 2,
          onError: (error) => {
            throw error;
          },
        });
        const reading = readers.map((each) => assemble(runId, each));
        const finals = await Promise.all(
          told.map(async ({ path, attempts, steps }) => {
            let final = "";
            for (const [at, models] of attempts.entries()) {
              // A worker that dies leaves its attempt to another one, under the same number.
              const place = { org_id: tenant.org_id, run_id: runId, path };
              const sink = writer.open({
                ...place,
                ...(steps ? { attempt: 1, step: at + 1 } : { attempt: 1, step: 1 }),
              });
              for (const [beginning, pieces] of models.entries()) {
                const said = pieces.join("");
                for (const each of pieces) {
                  sink.write(each, beginning);
                  if (each.length % 3 === 0) await setImmediate();
                }
                if (said !== "") final = said;
              }
              await sink.close();
            }
            await endNode(runId, path);
            return [path, final] as const;
          }),
        );
        await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
        worker.changed(runId, "settled");
        const expected = new Map(finals.filter(([, text]) => text !== ""));
        for (const read of await Promise.all(reading)) {
          for (const [path, text] of expected)
            expect(read.get(path)).toBe(text.toWellFormed().replaceAll("\0", "\uFFFD"));
        }
      }),
      { numRuns: 12 },
    );
  });

  it("is visible only to its organisation, and is purged some time after its run has finished", async () => {
    const runId = await buildRun(own.database, tenant);
    const other = await buildTenant(own.database);
    const place = { run_id: runId, path: "llm-0", attempt: 1, step: 1 };
    await own.database.org(tenant.org_id, async (db) => {
      expect(await beginText(db, place, "one")).toBe(1);
      await appendDeltas(db, [{ ...place, from_char: 3, text: " more" }]);
      await appendDeltas(db, [{ ...place, from_char: 3, text: " more" }]);
      expect(await beginText(db, place, "two")).toBe(2);
      expect(await beginText(db, { ...place, step: 2 }, "three")).toBe(2);
      expect((await listDeltas(db, runId, 0, 10)).map(({ text }) => text)).toEqual(["one", " more", "two", "three"]);
    });
    const left = () => own.database.org(tenant.org_id, (db) => listDeltas(db, runId, 0, 10));
    expect(await own.database.org(other.org_id, (db) => listDeltas(db, runId, 0, 10))).toEqual([]);
    await own.database.system((db) => purgeDeltas(db, 0, 1000));
    expect(await left()).toHaveLength(4);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    await own.database.system((db) => purgeDeltas(db, 600_000, 1000));
    expect(await left()).toHaveLength(4);
    expect(await own.database.system((db) => purgeDeltas(db, 0, 1000))).toBeGreaterThan(0);
    expect(await left()).toEqual([]);
  });
});
