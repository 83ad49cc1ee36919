import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { limitedSignal } from "../../src/platform/linked-abort.ts";

/** Collects all unreferenced objects. */
function collect(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason), { once: true }));

it("a limited signal aborts at its time limit, even after garbage collection", async () => {
  const { signal } = limitedSignal([new AbortController().signal], 200);
  const timer = setInterval(collect, 20);
  try {
    expect(await aborted(signal)).toMatchObject({ name: "TimeoutError" });
  } finally {
    clearInterval(timer);
  }
});

it("a limited signal aborts with another signal's reason, even if that one is already aborted", async () => {
  const controller = new AbortController();
  const { signal, end } = limitedSignal([new AbortController().signal, controller.signal], 60_000);
  controller.abort("enough");
  expect(signal.reason).toBe("enough");
  expect(limitedSignal([controller.signal], 60_000).signal.reason).toBe("enough");
  end();
});

it("a limited signal does not abort after its work has finished", async () => {
  const controller = new AbortController();
  const { signal, end } = limitedSignal([controller.signal], 10);
  end();
  controller.abort();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(signal.aborted).toBe(false);
});
