import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceFiles } from "./imports.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const lineOf = (file: string, text: string, index: number): string =>
  `${file}:${text.slice(0, index).split("\n").length}`;

/** A text that people read, and its location. */
export interface ShownText {
  readonly text: string;
  /** The location of the character at this index. */
  readonly at: (index: number) => string;
}

/** Strings, comments and regular expressions. Whichever begins first includes the delimiters of the others. */
const TOKENS = new RegExp(
  [
    /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/,
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*/,
    /(?<=[(,=:[!&|?{};>]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);
const SQL_COMMENT = /^\s*--.*$/gm;
const JSX_TEXT = /(?<=[>}])[^<>{}]*[a-z][^<>{}]*(?=[<{])/gi;

/** Spaces of the same length, so that line numbers stay the same. */
const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/** The strings and JSX texts of a source file, without its comments. */
function textsOf(file: string): ShownText[] {
  const whole = read(file);
  const from = (start: number) => (index: number) => lineOf(file, whole, start + index);
  const strings: ShownText[] = [];
  const code = whole.replaceAll(TOKENS, (token, index: number) => {
    const text = token.slice(1, -1).replaceAll(SQL_COMMENT, blank);
    // A single word is a name, not a text.
    if (!token.startsWith("/") && text.includes(" ")) strings.push({ text, at: from(index + 1) });
    return blank(token);
  });
  if (!file.endsWith(".tsx")) return strings;
  return [...strings, ...[...code.matchAll(JSX_TEXT)].map(({ 0: text, index }) => ({ text, at: from(index) }))];
}

/** The whole page as one text, because sentences continue over line breaks. */
function pageOf(file: string): ShownText {
  const text = read(file);
  return { text, at: (index) => lineOf(file, text, index) };
}

const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => join("docs", name));

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}
const document = (): Document => JSON.parse(read("openapi.json")) as Document;

/** Every summary, description and title in the API document; those of errors belong to the server's texts. */
function textsOfApi(): ShownText[] {
  const texts: ShownText[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== "string") visit(member, `${path}/${name}`);
      else if (["summary", "description", "title"].includes(name)) texts.push({ text: member, at: () => path });
    }
  };
  const { components, ...rest } = document();
  const { responses: _, ...others } = components;
  visit({ ...rest, components: others }, "openapi.json");
  return texts;
}

/** The summaries of all operations. */
export function summaries(): string[] {
  return Object.values(document().paths).flatMap((methods) => Object.values(methods).map(({ summary }) => summary));
}

const source = sourceFiles("src", "workflows", "activities");
const isCommand = (file: string): boolean => /^src\/(?:cli|dev|config)/.test(file);

/** The texts of each part of the product. */
export const SHOWN = {
  api: textsOfApi,
  console: () => sourceFiles("web").flatMap(textsOf),
  server: () => source.filter((file) => !isCommand(file)).flatMap(textsOf),
  commands: () => source.filter(isCommand).flatMap(textsOf),
  pages: () => [...pages, "examples/README.md", "README.md"].map(pageOf),
  changelog: () => [pageOf("CHANGELOG.md")],
} satisfies Record<string, () => ShownText[]>;
