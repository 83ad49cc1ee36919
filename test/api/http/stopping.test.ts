import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { framesOf } from "../runs/streams.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let own: OwnService;
let tenant: ApiTenant;
let target: HttpTarget;
beforeAll(async () => {
  [own, target] = await Promise.all([startService(), startHttpTarget()]);
  tenant = await openTenant(own);
});
afterAll(async () => {
  await own?.close();
  await target?.close();
});

describe("an API process that is asked to stop", () => {
  it("completes waiting calls, closes streams cleanly, and lets the runs continue", async () => {
    const release = target.hold("/held");
    const http = { id: "http-0", type: "http", config: { url: `${target.url}/held` } };
    const flowId = await tenant.deploy(flow([http, { id: "out-0", type: "output" }], ["http-0>out-0"]));
    const call = tenant.public.post(`/inference/v0/run/${tenant.org_id}/${flowId}`, {});
    const stream = await tenant.public.raw("POST", `/inference/v0/stream/${tenant.org_id}/${flowId}`, {});
    await expect.poll(() => target.hits("/held")).toBe(2);
    const asked = Date.now();
    const ended = own.api[0]?.terminate();
    const { status, body, headers } = await call;
    expect([status, body.state]).toEqual([202, "PENDING"]);
    // A stream must end between two lines: `framesOf` fails on a partial line.
    for await (const line of framesOf(stream)) JSON.parse(line);
    expect(Date.now() - asked).toBeLessThan(30_000);
    expect(await ended).toBe("exit code 0");
    await own.api[0]?.restart();
    release();
    const later = await tenant.public.get(headers.get("location") ?? "", { query: { wait_seconds: 60 } });
    expect(later.body.state).toBe("COMPLETED");
  });
});
