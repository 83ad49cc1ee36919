import { afterAll, beforeAll, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { flow, nested, nodesOf, openBench, type Bench } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
});
afterAll(() => target.close());

const AT_ONCE = 10;

/** A map over 1000 items, more than one workflow executes, with a request per item. */
const longMap = (more: object = {}) =>
  flow(
    [
      {
        id: "map-0",
        type: "map",
        config: {
          items: JSON.stringify(Array.from({ length: 1000 }, (_, at) => at)),
          max_concurrency: AT_ONCE,
          flow: nested(
            [
              {
                id: "http-1",
                type: "http",
                config: { url: `${target.url}/item?n={{ item }}` },
                retry: { max_attempts: 1 },
              },
              { id: "o", type: "output" },
            ],
            ["http-1>o"],
          ),
          ...more,
        },
      },
      { id: "out-0", type: "output" },
    ],
    ["map-0>out-0"],
  );

it(
  "a map in slices keeps to its max_concurrency and starts few items after one has failed",
  { timeout: 120_000 },
  async () => {
    let most = 0;
    let failedAfter: number | undefined;
    target.on("/item", async ({ url }, response) => {
      most = Math.max(most, target.active());
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (url.endsWith("n=20")) {
        response.writeHead(400).end("no");
        failedAfter ??= target.hits("/item");
      } else response.end("yes");
    });
    const run = await bench.run(longMap());
    expect(run.error).toMatchObject({ code: "http_status", path: "map-0[20]/http-1" });
    expect(nodesOf(run)["map-0"]).toMatchObject({ state: "FAILED", error: { code: "http_status" } });
    expect(most).toBeLessThanOrEqual(AT_ONCE);
    expect(target.hits("/item") - (failedAfter ?? 0)).toBeLessThanOrEqual(2 * AT_ONCE);
  },
);
