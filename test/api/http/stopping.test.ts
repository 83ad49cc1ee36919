import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService } from "../../support/service.ts";
import type { OwnService } from "../../support/service.ts";
import { framesOf } from "../runs/streams.ts";
import { openTenant, slow } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";

let own: OwnService;
let tenant: ApiTenant;
beforeAll(async () => {
  own = await startService();
  tenant = await openTenant(own);
});
afterAll(() => own.close());

describe("an api process that is asked to stop", () => {
  it("answers waiting calls, closes streams cleanly, and lets the runs continue", async () => {
    const flowId = await tenant.deploy(slow(10));
    const call = tenant.public.post(`/inference/v0/run/${tenant.org_id}/${flowId}`, {});
    const stream = await tenant.public.raw("POST", `/inference/v0/stream/${tenant.org_id}/${flowId}`, {});
    await delay(400);
    const asked = Date.now();
    const ended = own.api[0]?.terminate();
    const { status, body, headers } = await call;
    expect([status, body.state]).toEqual([202, "PENDING"]);
    // Cut between two lines: `framesOf` fails on a partial line.
    for await (const line of framesOf(stream)) JSON.parse(line);
    expect(Date.now() - asked).toBeLessThan(8000);
    expect(await ended).toBe("exit code 0");
    await own.api[0]?.restart();
    const later = await tenant.public.get(headers.get("location") ?? "", { query: { wait_seconds: 60 } });
    expect(later.body.state).toBe("COMPLETED");
  });
});
