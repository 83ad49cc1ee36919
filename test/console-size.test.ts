import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const built = fileURLToPath(new URL("../dist/web", import.meta.url));
const assets = join(built, "assets");

/** JavaScript of the first load of Home before the console had an editor (bytes, gzip). It may not grow beyond that. */
const MOST_BYTES = 119_775;

const STATIC = /(?:import|export)\s*(?:[\w*{}\s,$]+from\s*)?["']\.\/([\w.-]+\.js)["']/g;
const named = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = ""]) => name);

/** The scripts that a browser loads for these, with everything that they import statically. */
function loadedWith(names: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(names);
  for (const name of loaded)
    for (const each of named(readFileSync(join(assets, name), "utf8"), STATIC)) loaded.add(each);
  return loaded;
}

it("loads no more JavaScript for Home than before the console had an editor", () => {
  const entries = named(readFileSync(join(built, "index.html"), "utf8"), /assets\/([\w.-]+\.js)/g);
  const home = readdirSync(assets).filter((name) => /^home-page-[\w-]+\.js$/.test(name));
  expect([entries.length > 0, home.length]).toEqual([true, 1]);
  const sizes = [...loadedWith([...entries, ...home])].map(
    (name) => [name, readFileSync(join(assets, `${name}.gz`)).length] as const,
  );
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  expect(total, JSON.stringify(Object.fromEntries(sizes))).toBeLessThanOrEqual(MOST_BYTES);
  // Otherwise the imports were not found.
  expect(total).toBeGreaterThan(80_000);
});
