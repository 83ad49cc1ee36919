import { request, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claimPort } from "../../../src/dev/ports.ts";
import { createOrganisation, startService, type OwnService } from "../../support/service.ts";
import { eventually } from "../../support/scratch.ts";

let own: OwnService;
beforeAll(async () => {
  own = await startService({ workers: 0, apis: 2, env: { MILLRACE_SHUTDOWN_GRACE_MS: "30000" } });
});
afterAll(() => own?.close());

it("an API that gets SIGTERM completes the request in flight, and accepts no new one", async () => {
  const { secretKey } = await createOrganisation(own);
  const [api, idle] = own.api;
  if (api === undefined || idle === undefined) throw new Error("there are two apis");
  const body = JSON.stringify({ name: "Late" });
  const headers = {
    authorization: `Bearer ${secretKey}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    expect: "100-continue",
  };
  const upload = request(`${own.url}/v2/evals/datasets`, { method: "POST", headers });
  const answered = new Promise<unknown>((resolve, reject) => {
    upload.once("response", (response: IncomingMessage) => {
      response.resume();
      resolve([response.statusCode, response.headers.connection]);
    });
    upload.once("error", reject);
  });
  // Waits until the server has read the headers.
  await new Promise<void>((resolve) => {
    upload.once("continue", resolve);
    upload.flushHeaders();
  });
  upload.write(body.slice(0, 5));
  const ended = api.terminate(60_000);
  await eventually("no connection is taken any more", () =>
    fetch(`${own.url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  // Without the upload, the process would have exited by now, as the idle one has.
  expect(await idle.terminate(60_000)).toBe("exit code 0");
  expect(api.running()).toBe(true);
  upload.end(body.slice(5));
  // The client opens its next connection to another process.
  expect(await answered).toEqual([201, "close"]);
  expect(await ended).toBe("exit code 0");
});

it("an API that gets SIGTERM reports not ready, serves late requests, and closes each connection", async () => {
  const port = await claimPort();
  const env = { MILLRACE_DRAIN_MS: "8000", MILLRACE_METRICS_PORT: String(port) };
  const draining = await startService({ workers: 0, env });
  try {
    const { secretKey } = await createOrganisation(draining);
    const headers = { authorization: `Bearer ${secretKey}`, "content-type": "application/json" };
    const ready = () => fetch(`${draining.url}/readyz`);
    const body = JSON.stringify({ name: "Late" });
    const write = () => fetch(`${draining.url}/v2/evals/datasets`, { method: "POST", headers, body });
    expect([(await ready()).status, (await write()).headers.get("connection")]).toEqual([200, "keep-alive"]);
    const ended = draining.api[0]?.terminate(60_000);
    await eventually("it says that it is not ready", async () => (await ready()).status === 503);
    expect(await (await ready()).json()).toMatchObject({
      status: "unavailable",
      postgres: "ok",
      advice: expect.stringContaining("another process"),
    });
    // The port for metrics says the same.
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    const late = await write();
    expect([late.status, late.headers.get("connection")]).toEqual([201, "close"]);
    expect(draining.api[0]?.running()).toBe(true);
    expect(await ended).toBe("exit code 0");
  } finally {
    await draining.close();
  }
});
