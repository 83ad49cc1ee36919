import { describe, expect, it } from "vitest";
import { createTurns } from "../../../activities/runs/turns.ts";

const busy = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until;);
};

describe("turns", () => {
  it("leave the process time for other things, as much as they take, in the order they came", async () => {
    const inTurn = createTurns();
    const seen: string[] = [];
    const others = setInterval(() => seen.push("other"), 1);
    const work = (name: string) =>
      inTurn(() => {
        busy(40);
        seen.push(name);
        return name;
      });
    expect(await Promise.all([work("a"), work("b"), work("c")])).toEqual(["a", "b", "c"]);
    clearInterval(others);
    const between = seen.join(" ").split(/[abc]/).slice(1, -1);
    expect(between).toHaveLength(2);
    // A busy machine lets fewer happen than the forty there would be.
    for (const each of between) expect(each.trim().split(" ").length).toBeGreaterThan(2);
  });

  it("goes on after one that fails", async () => {
    const inTurn = createTurns();
    const failing = inTurn(() => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await inTurn(() => "yes")).toBe("yes");
  });
});
