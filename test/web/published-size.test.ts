import { readdirSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";

const FOLDER = "dist/web-public";
const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.(html|js|css|svg)$/.test(name),
);

describe("the published pages", () => {
  it("are at most 80 kB compressed, all of their files together", () => {
    const own = files.filter((name) => name !== "embed.js");
    const bytes = own.reduce((sum, name) => sum + statSync(`${FOLDER}/${name}.gz`).size, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(80_000);
  });

  it("come with an embed script of at most 20 kB", () => {
    expect(statSync(`${FOLDER}/embed.js`).size).toBeLessThanOrEqual(20_000);
  });

  it("contain nothing of the console, no cookie, and nothing that turns text into markup", () => {
    const text = files.map((name) => readFileSync(`${FOLDER}/${name}`, "utf8")).join("\n");
    expect(text).toContain("/visitors");
    for (const foreign of ["/v2/", "/console", "/inference/", "document.cookie", "eval("])
      expect(text).not.toContain(foreign);
    // Preact has one assignment of markup, for a property that no component of the page sets.
    expect(text.match(/innerHTML/g)?.length ?? 0).toBeLessThanOrEqual(4);
  });
});
