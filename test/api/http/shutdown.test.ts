import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createOrganisation, startService } from "../../support/service.ts";
import type { OwnService } from "../../support/service.ts";
import { eventually } from "../../support/scratch.ts";

let own: OwnService;
beforeAll(async () => {
  own = await startService({ workers: 0, apis: 2, env: { MILLRACE_SHUTDOWN_GRACE_MS: "30000" } });
});
afterAll(() => own?.close());

it("an api that gets SIGTERM answers the request in flight, and takes no other", async () => {
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
  const answered = new Promise<number | undefined>((resolve, reject) => {
    upload.once("response", (response: IncomingMessage) => {
      response.resume();
      resolve(response.statusCode);
    });
    upload.once("error", reject);
  });
  // The server has read its headers.
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
  // Everything else that it has to close would be closed by now, and the process gone: that of an idle one is.
  expect(await idle.terminate(60_000)).toBe("exit code 0");
  expect(api.running()).toBe(true);
  upload.end(body.slice(5));
  expect(await answered).toBe(201);
  expect(await ended).toBe("exit code 0");
});
