import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { environmentSchema } from "../src/config.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The configuration table, as the schema has it. */
function configurationTable(): string {
  const rows = Object.entries(environmentSchema.shape).map(([name, schema]) => {
    const value = schema.safeParse(undefined);
    return `| \`${name}\` | ${value.success ? shown(value.data) : "required"} | ${schema.description ?? ""} |`;
  });
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function shown(value: unknown): string {
  if (value === undefined) return "unset";
  if (Array.isArray(value)) return value.length === 0 ? "empty" : `\`${value.join(",")}\``;
  return `\`${JSON.stringify(value).replaceAll('"', "")}\``;
}

describe("README", () => {
  it("has the configuration table that the schema of the environment makes", () => {
    const [, table = ""] = /<!-- configuration -->\n\n(\| variable[\s\S]*?)\n\n/.exec(readme) ?? [];
    expect(table.replaceAll(/ +\|/g, " |").replaceAll(/\| +/g, "| ").replaceAll(/-{3,}/g, "---")).toBe(
      configurationTable(),
    );
  });

  it("links only to files that exist", () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path ?? "");
    for (const path of links) expect(() => readFileSync(new URL(`../${path}`, import.meta.url))).not.toThrow();
    expect(links.length).toBeGreaterThan(0);
  });
});
