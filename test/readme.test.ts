import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { environmentSchema } from "../src/config.ts";
import { DEFAULT_FLOW_LIMITS } from "../src/domain/flow/definition/limits.ts";
import { NODE_SPECS } from "../src/domain/flow/nodes/index.ts";
import { NODE_KINDS } from "../src/domain/flow/plan/types.ts";
import { validateFlow } from "../src/domain/flow/validate/validate.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = [
  "README.md",
  "examples/README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** The blocks of code of a page in one language. */
function blocks(page: string, language: string): string[] {
  return [...read(page).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code]) => code ?? "",
  );
}

/** The names of a page's headings, as links refer to them. */
function anchors(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading ?? "")
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** The files of this repository that a page links to, from the root on, each with the heading that is meant. */
function links(page: string): Array<{ readonly path: string; readonly anchor: string | undefined }> {
  return [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, path, anchor]) => ({
    path: path === "" || path === undefined ? page : join(dirname(page), path),
    anchor,
  }));
}

/** The configuration table, as the schema has it. */
function configurationTable(): string {
  const rows = Object.entries(environmentSchema.shape).map(([name, schema]) => {
    const value = schema.safeParse(undefined);
    // What is written there, where the value is another form of it.
    const data = schema.def.type === "prefault" ? schema.def.defaultValue : value.data;
    return `| \`${name}\` | ${value.success ? shown(data) : "required"} | ${schema.description ?? ""} |`;
  });
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function shown(value: unknown): string {
  if (value === undefined) return "unset";
  if (Array.isArray(value)) return value.length === 0 ? "empty" : `\`${value.join(",")}\``;
  return `\`${JSON.stringify(value).replaceAll('"', "")}\``;
}

describe("the documentation", () => {
  it("has the configuration table that the schema of the environment makes", () => {
    const page = read("docs/configuration.md");
    const [, table = ""] = /<!-- configuration -->\n\n(\| variable[\s\S]*?)(\n\n|\n$|$)/.exec(page) ?? [];
    expect(table.replaceAll(/ +\|/g, " |").replaceAll(/\| +/g, "| ").replaceAll(/-{3,}/g, "---").trim()).toBe(
      configurationTable(),
    );
  });

  it("links only to files and headings that exist, and the README to every page", () => {
    const all = pages.flatMap((page) => links(page).map((link) => ({ page, ...link })));
    const broken = all.filter(
      ({ path, anchor }) => !existsSync(join(root, path)) || (anchor !== undefined && !anchors(path).includes(anchor)),
    );
    expect(broken).toEqual([]);
    const linked = links("README.md").map(({ path }) => path);
    expect(pages.filter((page) => page !== "README.md" && !linked.includes(page))).toEqual([]);
  });

  it("names only files and settings that exist", () => {
    const missing = pages.flatMap((page) => [
      ...[...read(page).matchAll(/`((?:src|workflows|activities|migrations|test|docs|bench|examples)\/[\w./-]+)`/g)]
        .map(([, path]) => path ?? "")
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`),
      ...[...read(page).matchAll(/\b(?:MILLRACE|DATABASE|TEMPORAL)_[A-Z_]*[A-Z]\b/g)]
        .map(([name]) => name)
        .filter((name) => !(name in environmentSchema.shape))
        .map((name) => `${page}: ${name}`),
    ]);
    expect(missing).toEqual([]);
  });

  it("says of every kind of node what its configuration has", () => {
    const rows = new Map(
      [...read("docs/flow-format.md").matchAll(/^\| `(\w+)` +\|([^|]*)\|/gm)].map(([, kind, config]) => [kind, config]),
    );
    for (const kind of NODE_KINDS) {
      const spec = NODE_SPECS[kind];
      const schema = z.toJSONSchema(spec.config, { io: "input" }) as { properties?: Record<string, unknown> };
      const members = [...Object.keys(schema.properties ?? {}), ...(spec.nested ? ["flow"] : [])];
      const described = [...(rows.get(kind) ?? "").matchAll(/`([a-z_]+)[=*]?[^`]*`/g)].map(([, name]) => name);
      expect({ kind, described }).toEqual({ kind, described: expect.arrayContaining(members) });
    }
  });

  it("has examples that parse, and flows that can be deployed", () => {
    let flows = 0;
    for (const page of pages) {
      const documents = [
        ...blocks(page, "json"),
        ...blocks(page, "bash").flatMap((code) =>
          [...code.matchAll(/<<'JSON'\n([\s\S]*?)\nJSON$/gm)].map(([, t]) => t),
        ),
      ];
      for (const text of documents) {
        const document: unknown = JSON.parse(text ?? "");
        if (typeof document !== "object" || document === null || !("schema_version" in document)) continue;
        flows++;
        expect({ page, ...validateFlow(document, DEFAULT_FLOW_LIMITS) }).toEqual({ page, valid: true, problems: [] });
      }
      for (const code of blocks(page, "bash")) {
        // `<run_id>` and the like stand for what a reader fills in.
        const { stderr } = spawnSync("bash", ["-n"], { input: code.replaceAll(/<[a-z_]+>/g, "x"), encoding: "utf8" });
        expect({ page, stderr }).toEqual({ page, stderr: "" });
      }
    }
    expect(flows).toBeGreaterThan(1);
  });
});
