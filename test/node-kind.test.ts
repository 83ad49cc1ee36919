import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NodeKindEntry } from "../src/domain/flow/definition/node-catalogue.ts";
import { afterAll, describe, expect, it } from "vitest";
import { LONG } from "./support/long.ts";

interface Catalogue {
  readonly nodeCatalogue: () => readonly NodeKindEntry[];
}

const root = join(import.meta.dirname, "..");

const SPEC = `import { z } from "zod";
import { defineNode, liquid, remembersNothing } from "./spec.ts";

export const echoSpec = defineNode({
  title: "Echo",
  group: "data",
  icon: "echo",
  description: "Answers its text",
  example: { text: "{{ in-0 }}" },
  config: z.strictObject({ text: z.string() }),
  execution: () => "inline",
  expressions: ({ text }) => [liquid(text, "text")],
  remembers: remembersNothing,
  io: { output: () => ({ type: "string" }) },
});
`;

/** The lines that the recipe adds to a file, each after an existing line. */
const LINES: Readonly<Record<string, ReadonlyArray<readonly [string, string]>>> = {
  "src/domain/flow/kinds.ts": [["  approval: PLAIN,", "  echo: PLAIN,"]],
  "src/domain/flow/nodes/index.ts": [
    ['import { delaySpec } from "./delay.ts";', 'import { echoSpec } from "./echo.ts";'],
    ["  approval: approvalSpec,", "  echo: echoSpec,"],
  ],
  "src/domain/flow/expressions/evaluated-kinds.ts": [
    ["  approval: null,", "  echo: { sources: () => [], evaluate: ({ config }) => ({ output: config.text }) },"],
  ],
  "workflows/engine/nodes/index.ts": [["  approval: executeApproval,", "  echo: executeEvaluation,"]],
  "activities/nodes/by-kind.ts": [["  approval: notHere,", "  echo: notHere,"]],
};
const CATALOGUE = "src/domain/flow/definition/node-catalogue.ts";
const SPEC_FILE = "src/domain/flow/nodes/echo.ts";

let folder = "";

async function copySources(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), "millrace-kind-"));
  for (const part of ["src", "workflows", "activities", "scripts", "package.json"])
    await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const { compilerOptions } = JSON.parse(await readFile(join(root, "tsconfig.json"), "utf8"));
  const options = { ...compilerOptions, tsBuildInfoFile: join(folder, "types.tsbuildinfo") };
  const config = { compilerOptions: options, include: ["src", "workflows", "activities"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
}

afterAll(async () => {
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

/** A file of the sources with the lines that the recipe adds to it. */
async function withLines(file: string): Promise<string> {
  let text = await readFile(join(root, file), "utf8");
  for (const [after, line] of LINES[file] ?? []) {
    expect(text.split(`${after}\n`)).toHaveLength(2);
    text = text.replace(`${after}\n`, `${after}\n${line}\n`);
  }
  return text;
}

async function addLines(file: string): Promise<void> {
  await writeFile(join(folder, file), await withLines(file));
}

/** The files that do not compile. */
async function faultyFiles(): Promise<string[]> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const text = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, "--noEmit", "--pretty", "false"], { cwd: folder }, (_error, out, err) =>
      resolve(out + err),
    );
  });
  const files = [...text.matchAll(/^(\S+?)\(\d+,\d+\): error /gm)].map(([, file = ""]) => file);
  // Other compiler errors are not about a forgotten file, so they are returned as they are.
  return files.length === 0 && text.trim() !== "" ? [text] : [...new Set(files)].toSorted();
}

describe("the recipe for a node type in README.md", () => {
  it("names every file to change, six at most", async () => {
    const [, recipe = ""] =
      /- \*\*a node type\*\*([\s\S]*?)\n\n/.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
    const files = [...recipe.matchAll(/^ +\d\. `([^`]+)`/gm)].map(([, file = ""]) => file.replace("<kind>", "echo"));
    expect(files.toSorted()).toEqual([...Object.keys(LINES), SPEC_FILE].toSorted());
    expect(files.length).toBeLessThanOrEqual(6);
  });

  it("adds lines to places that exist", async () => {
    for (const [file, lines] of Object.entries(LINES))
      for (const [, line] of lines) expect(await withLines(file)).toContain(line);
  });

  // Compiles the sources three times.
  it.runIf(LONG)(
    "compiles if every step is followed and fails if a file is forgotten; the catalogue then lists the node type",
    async () => {
      await copySources();
      const [kinds = "", ...others] = Object.keys(LINES);
      await addLines(kinds);
      await writeFile(join(folder, SPEC_FILE), SPEC);
      expect(await faultyFiles()).toEqual(expect.arrayContaining(others));
      for (const file of others) await addLines(file);
      expect(await faultyFiles()).toEqual([]);
      const { nodeCatalogue } = (await import(join(folder, CATALOGUE))) as Catalogue;
      expect(nodeCatalogue().find(({ title }) => title === "Echo")).toMatchObject({
        type: "echo",
        group: "data",
        config: { properties: { text: { title: "Text", "x-language": "liquid", examples: ["{{ in-0 }}"] } } },
        handles: [{ handle: "out" }, { handle: "error" }],
        output: { type: "string" },
      });
      await rm(join(folder, SPEC_FILE));
      expect(await faultyFiles()).toContain("src/domain/flow/nodes/index.ts");
    },
  );
});
