import { describe, expect, it } from "vitest";
import { ApiProblem } from "../../web/api/problem.ts";
import { followRun } from "../../web/published/follow-run.ts";
import type { Frame } from "../../web/published/shapes.ts";
import { newTurn, withFrame } from "../../web/published/turn.ts";

const frame = (given: Partial<Frame>): Frame => ({
  run_id: "run",
  conversation_id: "conversation",
  state: "RUNNING",
  outputs: {},
  citations: [],
  progress: { completed: 0, total: 1 },
  pauses: [],
  error: null,
  ...given,
});
const first = (outputs: Frame["outputs"], state: Frame["state"] = "RUNNING"): Frame =>
  frame({ outputs, state, reset: true });
const more = (outputs: Frame["outputs"], state: Frame["state"] = "RUNNING"): Frame => frame({ outputs, state });
const pause = { pause_id: "p", answerable: true, message: "?", data: null, form: null, actions: [] };

/** A stream of these frames, which ends as a lost connection does. */
const stream = (...frames: readonly Frame[]): Response =>
  new Response(frames.map((each, at) => `: keep-alive\n\nid: ${at}\ndata: ${JSON.stringify(each)}\n\n`).join(""));

/** Follows a run whose requests are answered in this order: the first starts it, the others read it again. */
async function follow(answers: ReadonlyArray<Response | Error>, answered: readonly string[] = []) {
  const asked: Array<string | null> = [];
  const connected: boolean[] = [];
  let turn = newTurn("key", "question");
  const next = async (runId: string | null): Promise<Response> => {
    const answer = answers[asked.push(runId) - 1];
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("no request expected");
  };
  await followRun({
    open: () => next(null),
    reopen: next,
    answered: new Set(answered),
    onConnected: (isConnected) => void connected.push(isConnected),
    onFrame: (each) => {
      turn = withFrame(turn, each);
    },
    signal: new AbortController().signal,
    waits: [0],
  });
  return { turn, asked, connected };
}

describe("following a run", () => {
  it("appends new text, and starts anew where a frame says so", async () => {
    const { turn } = await follow([
      stream(
        first({}),
        more({ out: "He" }),
        more({ out: "llo" }),
        first({ out: "Hi" }),
        more({ out: "!" }, "COMPLETED"),
      ),
    ]);
    expect(turn.outputs).toEqual({ out: "Hi!" });
  });

  it("reads the run again after a lost connection, without starting it twice or repeating text", async () => {
    const { turn, asked, connected } = await follow([
      stream(first({ out: "One, " })),
      new TypeError("Failed to fetch"),
      new ApiProblem(503, "unavailable", "starting", null),
      // A stream may begin before it knows the text so far.
      stream(first({}), more({ out: "One, two, " }), more({ out: "three." }, "COMPLETED")),
    ]);
    expect(asked).toEqual([null, "run", "run", "run"]);
    expect(turn.outputs).toEqual({ out: "One, two, three." });
    expect(connected).toEqual([false, true]);
  });

  it("starts the run again, with the same key, if no frame has come", async () => {
    const { asked } = await follow([new TypeError("Failed to fetch"), stream(first({}, "COMPLETED"))]);
    expect(asked).toEqual([null, null]);
  });

  it("ends with the refusal of a request", async () => {
    const refusals = [new ApiProblem(422, "invalid", "no", null), new ApiProblem(429, "rate_limited", "no", null)];
    for (const refusal of refusals) await expect(follow([refusal])).rejects.toBe(refusal);
    const closed = new ApiProblem(410, "page_closed", "closed", null);
    await expect(follow([stream(first({})), closed])).rejects.toBe(closed);
  });

  it("keeps looking while other people decide", async () => {
    const paused = frame({ state: "PAUSED", pauses: [{ ...pause, answerable: false }] });
    const { turn, asked } = await follow([stream(paused), stream(paused), stream(first({ out: "Yes" }, "COMPLETED"))]);
    expect(asked).toEqual([null, "run", "run"]);
    expect(turn.outputs).toEqual({ out: "Yes" });
  });

  it("waits past a pause that was answered, and ends at a new one", async () => {
    const paused = frame({ state: "PAUSED", pauses: [pause] });
    const again = frame({ state: "PAUSED", pauses: [{ ...pause, pause_id: "q" }] });
    expect((await follow([stream(paused)])).turn.pauses).toHaveLength(1);
    const { turn } = await follow([stream(paused), stream(again)], ["p"]);
    expect(turn.pauses.map(({ pause_id }) => pause_id)).toEqual(["q"]);
  });
});
