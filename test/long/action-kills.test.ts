import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { install, type Installation } from "../kill/installation.ts";
import { recordKill } from "../kill/kill-table.ts";
import { noRefusals, postUntilAnswered, refused } from "../kill/persistent-client.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";

const ACTIONS = 100;

let installation: Installation;
let upstream: HttpTarget;
beforeAll(async () => {
  [installation, upstream] = await Promise.all([install(), startHttpTarget()]);
});
afterAll(async () => {
  await installation?.close();
  await upstream?.close();
});

it("100 actions and a schedule of one run per second: every action finishes, and none is done twice", async () => {
  const tenant = await openTenant(installation);
  const project_id = await tenant.deploy(echo());
  const { body: trigger } = await tenant.secret.post("/v2/triggers", {
    project_id,
    provider_id: "millrace",
    trigger_id: "schedule",
    config: { cron: "* * * * * *", overlap: "allow_all" },
    inputs: { "in-0": "payload.scheduled_at" },
  });
  const times = (): Promise<Array<{ key: string; state: string | null }>> =>
    installation.sql(
      "select f.key, r.state from trigger_firings f left join runs r using (run_id) where f.trigger_id = $1",
      [trigger.id],
    );
  await eventually("the schedule runs", async () => (await times()).length >= 2, 60_000);

  upstream.onEvery(async (_, response) => {
    await delay(2000);
    response.writeHead(200, { "content-type": "application/json" }).end('{"done":true}');
  });
  const refusals = noRefusals();
  // Every third action only reads; the others must not be executed twice.
  const isRead = (at: number): boolean => at % 3 === 0;
  const answers = Array.from({ length: ACTIONS }, async (_, at) => {
    const url = `${upstream.url}/action-${at}`;
    const inputs = isRead(at) ? { url } : { method: "POST", url };
    const path = `/v2/providers/http/actions/${isRead(at) ? "get" : "request"}/run`;
    const options = { headers: { prefer: "wait=0" }, timeoutMs: 240_000 };
    return await postUntilAnswered(tenant.secret, path, () => ({ inputs }), refusals, options);
  });
  for (const [count, parts] of [
    [5, installation.worker],
    [25, installation.api],
    [50, [...installation.worker, ...installation.api]],
  ] as const) {
    await eventually(`${count} calls`, () => upstream.requests.length >= count, 120_000);
    await Promise.all(parts.map((part) => part.kill()));
    await delay(1000);
    await Promise.all(parts.map((part) => part.restart()));
  }
  const ids = (await Promise.all(answers)).map(({ status, body }) => {
    expect([200, 202], JSON.stringify(body)).toContain(status);
    return body.action_run_id as string;
  });
  expect(new Set(ids).size).toBe(ACTIONS);
  const ends = await eventually(
    "every action",
    async () => {
      const rows = await installation.sql<{ action_run_id: string; state: string; error: { code: string } | null }>(
        "select action_run_id, state, error from action_runs",
      );
      return rows.length === ACTIONS && rows.every(({ state }) => /COMPLETED|FAILED/.test(state)) ? rows : undefined;
    },
    240_000,
  );
  const byId = new Map(ends.map((end) => [end.action_run_id, end]));
  let unknown = 0;
  for (const [at, id] of ids.entries()) {
    const end = byId.get(id);
    const hits = upstream.hits(`/action-${at}`);
    if (isRead(at)) expect(end?.state, `read ${at}`).toBe("COMPLETED");
    else {
      expect(hits, `effect ${at}`).toBeLessThanOrEqual(1);
      if (end?.state === "COMPLETED") expect(hits).toBe(1);
      else {
        expect(end?.error?.code).toBe("outcome_unknown");
        unknown += 1;
      }
    }
  }
  const until = Math.floor(Date.now() / 1000) - 1;
  const seconds = await eventually(
    "every time of the schedule",
    async () => {
      const found = (await times()).map(({ key, state }) => ({ second: Date.parse(key) / 1000, state }));
      const first = Math.min(...found.map(({ second }) => second));
      const done = found.filter(({ second, state }) => second <= until && state === "COMPLETED");
      return done.length >= until - first + 1 ? done.map(({ second }) => second) : undefined;
    },
    180_000,
  );
  expect(new Set(seconds).size).toBe(seconds.length);
  recordKill({
    killed: "worker, api, both",
    when: `${ACTIONS} runs of actions and a schedule of one a second under way`,
    runs: ACTIONS,
    outcome: `every action answered; ${unknown} of ${ids.filter((_, at) => !isRead(at)).length} effects outcome_unknown, none done twice; ${seconds.length} times of the schedule run once; posts met ${refused(refusals)}`,
  });
});
