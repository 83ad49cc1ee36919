import { expect, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import { readMetrics } from "../support/metrics.ts";
import { startOtlpReceiver, type OtlpReceiver } from "../support/otlp-receiver.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

/** Longer than any test, so spans are only sent because the process exits. */
const NEVER_MS = "3600000";

const inline = () =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "out-0", type: "output" },
    ],
    ["in-0>out-0"],
  );

async function withService(
  env: Record<string, string>,
  work: (service: OwnService, receiver: OtlpReceiver) => Promise<void>,
): Promise<void> {
  const receiver = await startOtlpReceiver();
  // Only the worker executes runs, so that their spans are in its queue.
  const service = await startService({
    env: { MILLRACE_OTLP_ENDPOINT: receiver.url, MILLRACE_API_WORKER: "false", ...env },
  });
  try {
    await work(service, receiver);
  } finally {
    await service.close();
    await receiver.close();
  }
}

it("spans beyond the queue are dropped and counted, and delay no run", async () => {
  await withService({ OTEL_BSP_MAX_QUEUE_SIZE: "2", OTEL_BSP_SCHEDULE_DELAY: NEVER_MS }, async (service) => {
    const bench = await openBench(service);
    expect(await bench.run(inline(), { "in-0": "x" })).toMatchObject({ state: "COMPLETED" });
    // Two nodes and the run: one span more than the queue holds.
    await eventually("a span that was dropped", async () =>
      /millrace_trace_spans_total\{[^}]*outcome="dropped"[^}]*\} 1$/m.test(
        await readMetrics({ url: service.worker[0]?.url ?? "" }),
      ),
    );
  });
});

it("a worker that is restarted sends its queued spans before it exits", async () => {
  await withService({ OTEL_BSP_SCHEDULE_DELAY: NEVER_MS }, async (service, receiver) => {
    const bench = await openBench(service);
    const { run_id } = await bench.run(inline(), { "in-0": "x" });
    const [worker] = service.worker;
    expect(receiver.spans).toEqual([]);
    expect(await worker?.terminate()).toBe("exit code 0");
    const names = receiver.spans.flatMap(({ name, attributes }) =>
      attributes["millrace.run.id"] === run_id ? [name] : [],
    );
    expect(names.toSorted()).toEqual(["input in-0", "output out-0", "run"]);
    await worker?.restart();
    expect(await bench.run(inline(), { "in-0": "y" })).toMatchObject({ state: "COMPLETED" });
  });
});

it("a collector that does not respond does not delay the exit of a process", async () => {
  await withService({ OTEL_BSP_SCHEDULE_DELAY: NEVER_MS }, async (service, receiver) => {
    const bench = await openBench(service);
    await bench.run(inline(), { "in-0": "x" });
    receiver.hold();
    const [worker] = service.worker;
    expect(await worker?.terminate()).toBe("exit code 0");
    expect(receiver.spans).toEqual([]);
  });
});
