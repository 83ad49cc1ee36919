import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { environmentSchema } from "../src/config.ts";
import { DEFAULT_FLOW_LIMITS } from "../src/domain/flow/definition/limits.ts";
import { NODE_SPECS } from "../src/domain/flow/nodes/index.ts";
import { NODE_KINDS } from "../src/domain/flow/kinds.ts";
import { checkFlow } from "../src/domain/flow/validate/validate.ts";
import { PROBLEMS } from "../src/domain/errors.ts";
import type { JsonObject } from "../src/domain/json.ts";
import { EVENT_TYPES, TEST_EVENT_TYPE } from "../src/domain/webhooks/events.ts";
import { VERSION } from "../src/version.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const OF_THE_COMMAND_LINE = ["MILLRACE_URL", "MILLRACE_API_KEY", "MILLRACE_ORG_ID"];
/** Variables that only tests read. */
const OF_TESTS = ["MILLRACE_TEST_BROWSER", "MILLRACE_LONG_SHARE"];
const pages = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "examples/README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** The code blocks of a page in one language. */
function blocks(page: string, language: string): string[] {
  return [...read(page).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code]) => code ?? "",
  );
}

/** The anchors of a page's headings, as links use them. */
function anchors(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading ?? "")
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** The files of this repository that a page links to, by their path from the root, with the heading if one is given. */
function links(page: string): Array<{ readonly path: string; readonly anchor: string | undefined }> {
  return [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, path, anchor]) => ({
    path: path === "" || path === undefined ? page : join(dirname(page), path),
    anchor,
  }));
}

/** The configuration table that the schema describes. */
function configurationTable(): string {
  const rows = Object.entries(environmentSchema.shape).map(([name, schema]) => {
    const value = schema.safeParse(undefined);
    // The table shows the value as it is written in the environment, not the parsed one.
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
  it("has the configuration table that is generated from the schema", () => {
    const page = read("docs/configuration.md");
    const [, table = ""] = /<!-- configuration -->\n\n(\| variable[\s\S]*?)(\n\n|\n$|$)/.exec(page) ?? [];
    expect(table.replaceAll(/ +\|/g, " |").replaceAll(/\| +/g, "| ").replaceAll(/-{3,}/g, "---").trim()).toBe(
      configurationTable(),
    );
  });

  it("links only to existing files and headings, and the README links to every page", () => {
    const all = pages.flatMap((page) => links(page).map((link) => ({ page, ...link })));
    const broken = all.filter(
      ({ path, anchor }) => !existsSync(join(root, path)) || (anchor !== undefined && !anchors(path).includes(anchor)),
    );
    expect(broken).toEqual([]);
    const linked = links("README.md").map(({ path }) => path);
    expect(pages.filter((page) => page !== "README.md" && !linked.includes(page))).toEqual([]);
  });

  it("keeps prose under 100 characters a line, tables under four columns, and has no conflict markers", () => {
    const faults = pages.flatMap((page) => {
      const lines = read(page)
        .replaceAll(/^ *```[\s\S]*?^ *```$/gm, "")
        .split("\n");
      return lines.flatMap((line) => {
        if (line.startsWith("|")) {
          const columns = line.split(/(?<!\\)\|/).length - 2;
          return columns < 4 ? [] : [`${page}: ${columns} columns: ${line.slice(0, 60)}`];
        }
        if (/^(<{7}|={7}|>{7})/.test(line)) return [`${page}: ${line}`];
        return line.replaceAll(/\(https?:[^)]*\)/g, "()").length < 100 ? [] : [`${page}: ${line}`];
      });
    });
    expect(faults).toEqual([]);
  });

  it("names only existing files and settings", () => {
    const missing = pages.flatMap((page) => [
      ...[...read(page).matchAll(/`((?:src|workflows|activities|migrations|test|docs|bench|examples)\/[\w./-]+)`/g)]
        .map(([, path]) => path ?? "")
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`),
      ...[...read(page).matchAll(/\b(?:MILLRACE|DATABASE|TEMPORAL)_[A-Z_]*[A-Z]\b/g)]
        .map(([name]) => name)
        .filter((name) => !(name in environmentSchema.shape) && ![...OF_THE_COMMAND_LINE, ...OF_TESTS].includes(name))
        .map((name) => `${page}: ${name}`),
    ]);
    expect(missing).toEqual([]);
  });

  it("describes every configuration field of every node type", () => {
    const rows = new Map(
      [...read("docs/flow-format.md").matchAll(/^### (\w+)\n[\s\S]*?^- Config: ([\s\S]*?)^- Value: /gm)].map(
        ([, kind, config]) => [kind, config],
      ),
    );
    for (const kind of NODE_KINDS) {
      const spec = NODE_SPECS[kind];
      const schema = z.toJSONSchema(spec.config, { io: "input" }) as { properties?: Record<string, unknown> };
      const members = [...Object.keys(schema.properties ?? {}), ...(spec.nested ? ["flow"] : [])];
      const described = [...(rows.get(kind) ?? "").matchAll(/`([a-z_]+)[=*]?[^`]*`/g)].map(([, name]) => name);
      expect({ kind, described }).toEqual({ kind, described: expect.arrayContaining(members) });
    }
  });

  it("has an example of every node type that can be deployed", () => {
    const [, section = ""] = /^## Node types\n([\s\S]*?)^## /m.exec(read("docs/flow-format.md")) ?? [];
    const examples = [...section.matchAll(/^### (\w+)\n[\s\S]*?^```json\n([\s\S]*?)^```/gm)].map(
      ([, kind, text]) => [kind, JSON.parse(text ?? "")] as const,
    );
    expect(examples.map(([kind]) => kind).toSorted()).toEqual([...NODE_KINDS].toSorted());
    for (const [kind, node] of examples) {
      expect(node.type).toBe(kind);
      const input = { id: "in-0", type: "input", config: {} };
      const others = [
        ...(kind === "input" ? [] : [input]),
        ...(kind === "output" ? [] : [{ id: "end-0", type: "output" }]),
      ];
      const source_handle = { condition: "else", router: "else", approval: "approve" }[kind ?? ""] ?? "out";
      const edges = [
        ...(["input", "string", "url", "files", "audio", "image"].includes(node.type)
          ? []
          : [{ source: "in-0", target: node.id }]),
        ...(kind === "output" ? [] : [{ source: node.id, source_handle, target: "end-0" }]),
      ];
      const flow = { schema_version: 1, name: "example", nodes: [...others, node], edges };
      const { problems } = checkFlow(flow, DEFAULT_FLOW_LIMITS);
      expect({ kind, problems: problems.filter(({ severity }) => severity === "error") }).toEqual({
        kind,
        problems: [],
      });
    }
  });

  it("shows the data of every event type", () => {
    const shown = blocks("docs/webhooks.md", "json")
      .map((text) => JSON.parse(text) as { type: string; data: object; id?: string })
      .filter(({ id }) => id === undefined);
    expect(shown.map(({ type }) => type).toSorted()).toEqual([...EVENT_TYPES, TEST_EVENT_TYPE].toSorted());
    for (const { type, data } of shown)
      expect({ type, members: Object.keys(data).length > 1 }).toEqual({ type, members: true });
  });

  it("lists every error code with its status", () => {
    const rows = [...read("docs/http.md").matchAll(/^\| `(\w+)` +\| (\d+) +\| (.*?) +\|$/gm)].map(([, ...row]) => row);
    expect(rows).toEqual(Object.entries(PROBLEMS).map(([code, { status, title }]) => [code, String(status), title]));
  });

  it("defines the variables of its commands, or says where they are set", () => {
    const defines = (text: string): string[] =>
      [...text.matchAll(/\b([A-Z][A-Z_]*)=/g), ...text.matchAll(/set\("([A-Z_]+)"/g)].map(([, name]) => name ?? "");
    const preamble = defines(blocks("docs/http.md", "bash").join("\n"));
    const missing = pages.flatMap((page) => {
      const code = [...blocks(page, "bash"), ...blocks(page, "sh")].join("\n");
      const known = [...defines(code), ...(read(page).includes("http.md#before-the-examples") ? preamble : [])];
      const used = [...code.matchAll(/\$\{?([A-Z][A-Z_]*)\b/g)].map(([, name]) => name ?? "");
      return [...new Set(used)].filter((name) => !known.includes(name)).map((name) => `${page}: $${name}`);
    });
    expect(missing).toEqual([]);
  });

  it("lists exactly the metrics that the processes declare", () => {
    const declared = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => {
        const code = read(`src/${name}`);
        const full = /(?:\b(?:counter|histogram)\(\s*"|^\s*)(millrace_\w+)(?:",|: [{[])/gm;
        const short = /\.gauge\(\s*"(\w+)"/g;
        return [
          ...[...code.matchAll(full)].map(([, metric]) => metric ?? ""),
          ...[...code.matchAll(short)].map(([, metric]) => `millrace_${metric}`),
        ];
      });
    const documented = [...read("docs/operation.md").matchAll(/^[|-] `(millrace_\w+)`/gm)].map(([, metric]) => metric);
    expect(declared.length).toBeGreaterThan(25);
    expect(documented.toSorted()).toEqual(declared.toSorted());
  });

  it("states the current version, and the versions that one can upgrade from", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(VERSION).toBe(version);
    const [, newest, oldest] = /^## (\S+).*\n\nUpgrade from: (\S+)\./m.exec(read("CHANGELOG.md")) ?? [];
    expect(newest).toBe(version);
    expect(read("docs/operation.md")).toContain(`You can upgrade from ${oldest} or later`);
  });

  it("runs examples with their required inputs", () => {
    let commands = 0;
    for (const page of pages) {
      for (const [command, name = ""] of read(page).matchAll(/^.*millrace run ([a-z-]+) .*$/gm)) {
        const file = `examples/flows/${name}.json`;
        if (!existsSync(join(root, file))) continue;
        commands++;
        const { nodes } = JSON.parse(read(file)) as { nodes: Array<{ id: string; type: string; config?: JsonObject }> };
        const inputs = nodes.filter(({ type }) => ["input", "string", "url", "audio"].includes(type));
        const given = [...command.matchAll(/--(?:input|file) ["']?([a-z]+-\d+)=/g)].map(([, id]) => id);
        const needed = inputs.filter(
          ({ config }) => config?.["required"] !== false && config?.["default"] === undefined,
        );
        expect({ page, command, given }).toEqual({
          page,
          command,
          given: expect.arrayContaining(needed.map(({ id }) => id)),
        });
        expect({ command, ids: inputs.map(({ id }) => id) }).toEqual({ command, ids: expect.arrayContaining(given) });
      }
    }
    expect(commands).toBeGreaterThan(3);
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
        expect({ page, ...checkFlow(document, DEFAULT_FLOW_LIMITS) }).toMatchObject({
          page,
          valid: true,
          problems: [],
        });
      }
      for (const code of blocks(page, "bash")) {
        // Placeholders such as `<run_id>` stand for values that a reader fills in.
        const { stderr } = spawnSync("bash", ["-n"], { input: code.replaceAll(/<[a-z_]+>/g, "x"), encoding: "utf8" });
        expect({ page, stderr }).toEqual({ page, stderr: "" });
      }
    }
    expect(flows).toBeGreaterThan(1);
  });
});
