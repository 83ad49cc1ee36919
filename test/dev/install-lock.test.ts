import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { whileInstalling } from "../../src/dev/install-lock.ts";
import { scratchDirectory } from "../support/scratch.ts";

const LOCK = new URL("../../scripts/lock.mjs", import.meta.url).href;

/** The ID of a process that has exited. */
async function ended(): Promise<number> {
  const child = spawn("true");
  await once(child, "exit");
  return child.pid ?? 0;
}

/** A process that takes the lock repeatedly, and reports when another one holds it at the same time. */
function contender(file: string, inside: string): Promise<string> {
  const script = `
    import { lock } from ${JSON.stringify(LOCK)};
    import { rmSync, writeFileSync } from "node:fs";
    import { setTimeout as delay } from "node:timers/promises";
    const [file, inside] = ${JSON.stringify([file, inside])};
    const release = await lock(file, "the test");
    try {
      writeFileSync(inside, "", { flag: "wx" });
      await delay(20);
      rmSync(inside);
    } catch (error) {
      console.log(String(error));
    }
    // As one that is killed: the lock stays.
    if (Math.random() < 0.5) process.exit();
    release();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString("utf8")));
  return once(child, "exit").then(([code]) => said + (code === 0 ? "" : `exit code ${code}`));
}

describe("the installation lock", () => {
  it("is held by one process at a time, and free afterwards", async () => {
    const file = join(scratchDirectory(), "deep", "lock");
    const order: string[] = [];
    const one = (name: string) =>
      whileInstalling(file, async () => {
        order.push(`${name} begins`);
        expect(readFileSync(file, "utf8")).toContain(String(process.pid));
        await new Promise((resolve) => setTimeout(resolve, 50));
        order.push(`${name} ends`);
      });
    await Promise.all([one("a"), one("b")]);
    expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
    expect(existsSync(file)).toBe(false);
    await expect(whileInstalling(file, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(existsSync(file)).toBe(false);
  });

  it("passes on from a killed owner, even one killed while writing the lock or taking it", async () => {
    const dir = scratchDirectory();
    const file = join(dir, "lock");
    const gone = await ended();
    for (const held of ["", String(gone), `${gone} earlier`]) {
      writeFileSync(file, held);
      writeFileSync(`${file}.taken-over`, `${gone} too`);
      expect(await whileInstalling(file, async () => readFileSync(file, "utf8"))).toContain(String(process.pid));
    }
    expect(readdirSync(dir)).toEqual([]);
  });

  it("is not released by a process that no longer owns it", async () => {
    const file = join(scratchDirectory(), "lock");
    await whileInstalling(file, async () => writeFileSync(file, "1 another"));
    expect(readFileSync(file, "utf8")).toBe("1 another");
  });

  it("goes to exactly one of the processes that wait for a dead owner", async () => {
    const dir = scratchDirectory();
    const [file, inside] = [join(dir, "lock"), join(dir, "inside")];
    writeFileSync(file, String(await ended()));
    const said = await Promise.all(Array.from({ length: 8 }, () => contender(file, inside)));
    expect(said.filter((text) => text !== "")).toEqual([]);
  });
});
