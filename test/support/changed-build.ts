import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * A condition for `changedBuild`: delays set one more timer, but only in runs that this build has started. `sdk` stands
 * for the name that the bundle gives Temporal's package.
 */
export const PATCHED = 'sdk.patched("delay-with-a-timer-more")';
/** Another condition: delays set one more timer in all runs, including unfinished ones. */
export const CARELESS = "true";

/** Copies the build so that delays set one more timer if `condition` holds, which their output states. Returns the copy's dist/. */
export function changedBuild(condition: string): string {
  const folder = mkdtempSync(join(inject("millrace").stateDir, "build-"));
  const dist = join(folder, "dist");
  cpSync(join(root, "dist"), dist, { recursive: true });
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  cpSync(join(root, "migrations"), join(folder, "migrations"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const file = join(dist, "workflow-bundle.js");
  const source = readFileSync(file, "utf8");
  const at = source.indexOf("const executeDelay = ");
  const end = source.indexOf("\n};", at);
  const delay = source.slice(at, end);
  const sdk = /\(0,\s?(\w+)\.sleep\)/.exec(delay)?.[1] ?? "";
  const changed = delay
    .replace(
      "if (wait <= 0)",
      `if (${condition.replace("sdk", sdk)}) { more = "newer code, "; await ${sdk}.sleep(10); }\n        if (wait <= 0)`,
    )
    .replace("{ v: new Date", "{ v: more + new Date")
    .replace("let wait", 'let more = "";\n    let wait');
  expect(changed.length).toBeGreaterThan(delay.length + 80);
  writeFileSync(file, source.slice(0, at) + changed + source.slice(end));
  return dist;
}
