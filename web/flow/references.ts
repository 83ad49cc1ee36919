/** New IDs by the old ones; `inputs` has the nodes that expressions also read as inputs of the run. */
export interface Renames {
  readonly nodes: ReadonlyMap<string, string>;
  readonly inputs: ReadonlyMap<string, string>;
}

/** Most IDs that are looked for in a text before it is read. */
const FEW = 20;

/** Most texts of a large flow name none of a few nodes. */
function mayName(source: string, { nodes }: Renames): boolean {
  if (nodes.size > FEW) return true;
  for (const id of nodes.keys()) if (source.includes(id)) return true;
  return false;
}

const CEL_TOKEN =
  /(?<blank>[\s]+|\/\/[^\n]*)|(?<text>[rRbB]{0,2}(?:"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))|(?<name>[A-Za-z_]\w*)|`(?<quoted>[^`]+)`|(?<other>[^])/gy;
const CEL_NAME = /^[A-Za-z_]\w*$/;
const CEL_WORDS: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

interface Token {
  readonly text: string;
  readonly at: number;
  readonly kind: "blank" | "text" | "name" | "quoted" | "other";
  readonly value: string;
}

/** Changes node IDs in a CEL expression: `nodes["a"]`, `nodes.a` and the same below `inputs`. Everything else stays as it is. */
export function renameInCel(source: string, renames: Renames): string {
  if (!mayName(source, renames)) return source;
  const tokens: Token[] = [];
  for (const match of source.matchAll(CEL_TOKEN)) {
    const [kind, value = ""] = Object.entries(match.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    if (kind !== "blank") tokens.push({ text: match[0], at: match.index, kind: kind as Token["kind"], value });
  }
  const edits: Edit[] = [];
  for (const [index, { kind, value }] of tokens.entries()) {
    const ids = kind === "name" ? idsBelow(value, renames) : undefined;
    if (ids === undefined || tokens[index - 1]?.text === ".") continue;
    const [sign, key, end] = tokens.slice(index + 1, index + 4);
    if (sign === undefined || key === undefined) continue;
    const to = ids.get(key.kind === "text" ? (plainText(key.text) ?? "") : key.value);
    if (to === undefined) continue;
    if (sign.text === "[" && key.kind === "text" && end?.text === "]") edits.push(quotedAs(key.text, key.at, to));
    else if (sign.text === "." && (key.kind === "name" || key.kind === "quoted"))
      edits.push({ from: sign.at, to: key.at + key.text.length, text: celMember(to, key.kind === "quoted") });
  }
  return edited(source, edits);
}

const celMember = (id: string, isQuoted: boolean): string => {
  if (isQuoted) return `.\`${id}\``;
  return CEL_NAME.test(id) && !CEL_WORDS.has(id) ? `.${id}` : `["${id}"]`;
};

const LIQUID_TOKEN =
  /(?<blank>\s+)|(?<text>"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')|(?<name>[\w?\u0080-\uffff-]+)|(?<other>\.\.|[^])/gy;
const LIQUID_NAME = /^[A-Za-z_][\w-]*$/;
/** Names that are never a node, and names that mean something else than a node of this ID. */
const LIQUID_WORDS: ReadonlySet<string> = new Set(
  "true false nil null undefined empty blank and or not contains in reversed nodes inputs run item index last forloop".split(
    " ",
  ),
);
/** What every value has besides its fields. */
const PSEUDO_FIELDS: ReadonlySet<string> = new Set(["size", "first", "last"]);

/** Changes node IDs in a Liquid template: `{{ a }}`, `{{ nodes["a"] }}`, also in tags. Text, strings and names that the template sets stay as they are. */
export function renameInLiquid(source: string, renames: Renames): string {
  if (!mayName(source, renames)) return source;
  const template = new Template(renames);
  for (let at = source.indexOf("{"); at !== -1; at = source.indexOf("{", at)) {
    const sign = source[at + 1];
    if (sign !== "{" && sign !== "%") {
      at += 1;
      continue;
    }
    const end = endOf(source, at + 2, sign === "{" ? "}}" : "%}");
    if (end === -1) break;
    const [from, to] = [at + 2 + Number(source[at + 2] === "-"), end - Number(source[end - 1] === "-")];
    at = end + 2;
    if (sign === "{") template.read(tokensOf(source, from, to));
    else {
      const skipped = template.tag(source, from, to);
      if (skipped !== null) at = endOfTag(source, at, skipped);
    }
  }
  return edited(source, template.edits);
}

class Template {
  readonly edits: Edit[] = [];
  readonly #renames: Renames;
  /** Names that the template has set, with counts, because loops set them only inside. */
  readonly #set = new Map<string, number>();
  readonly #loops: string[] = [];

  constructor(renames: Renames) {
    this.#renames = renames;
  }

  /** Reads a tag. Returns the tag that ends what is not evaluated after it. */
  tag(source: string, from: number, to: number): string | null {
    const tokens = tokensOf(source, from, to);
    const [first, ...rest] = tokens;
    switch (first?.value) {
      case "raw":
      case "comment":
        return `end${first.value}`;
      case "liquid": {
        const start = first.at + first.text.length;
        for (const { index, 0: line } of source.slice(start, to).matchAll(/[^\n]+/g))
          this.tag(source, start + index, start + index + line.length);
        return null;
      }
      case "assign":
        this.read(rest.slice(1));
        this.#change(rest[0]?.value, 1);
        return null;
      case "capture":
      case "increment":
      case "decrement":
        this.#change(rest[0]?.value, 1);
        return null;
      case "for":
      case "tablerow":
        this.read(rest.slice(1));
        this.#loops.push(rest[0]?.value ?? "");
        this.#change(rest[0]?.value, 1);
        return null;
      case "endfor":
      case "endtablerow":
        this.#change(this.#loops.pop(), -1);
        return null;
      default:
        if (first?.kind === "name") this.read(rest);
        return null;
    }
  }

  #change(name: string | undefined, by: number): void {
    if (name !== undefined) this.#set.set(name, (this.#set.get(name) ?? 0) + by);
  }

  read(tokens: readonly Token[]): void {
    for (const [index, token] of tokens.entries()) {
      const [before, sign, key, end] = [tokens[index - 1], ...tokens.slice(index + 1, index + 4)];
      const isJoined = before !== undefined && before.at + before.text.length === token.at;
      if (token.text === "[" && !(isJoined && (before.kind === "name" || before.text === "]"))) this.#bare(sign, key);
      if (token.kind !== "name" || before?.text === "|" || (before?.text === "." && isJoined) || sign?.text === ":")
        continue;
      if ((this.#set.get(token.value) ?? 0) > 0) continue;
      const ids = idsBelow(token.value, this.#renames);
      if (ids !== undefined && sign !== undefined && key !== undefined) this.#member(ids, sign, key, end);
      const isNode = LIQUID_NAME.test(token.value) && !LIQUID_WORDS.has(token.value);
      const to = isNode ? this.#renames.nodes.get(token.value) : undefined;
      if (to !== undefined)
        this.edits.push({
          from: token.at,
          to: token.at + token.text.length,
          text: this.#isName(to) ? to : `nodes["${to}"]`,
        });
    }
  }

  #isName(id: string): boolean {
    return LIQUID_NAME.test(id) && !LIQUID_WORDS.has(id) && (this.#set.get(id) ?? 0) === 0;
  }

  /** `["a"]` at the beginning of a value. */
  #bare(key: Token | undefined, end: Token | undefined): void {
    const to = key?.kind === "text" ? this.#renames.nodes.get(plainText(key.text) ?? "") : undefined;
    if (key !== undefined && to !== undefined && end?.text === "]") this.edits.push(quotedAs(key.text, key.at, to));
  }

  #member(ids: ReadonlyMap<string, string>, sign: Token, key: Token, end: Token | undefined): void {
    const to = ids.get(key.kind === "text" ? (plainText(key.text) ?? "") : key.value);
    if (to === undefined) return;
    if (sign.text === "[" && key.kind === "text" && end?.text === "]") this.edits.push(quotedAs(key.text, key.at, to));
    else if (sign.text === "." && key.kind === "name" && !PSEUDO_FIELDS.has(key.value)) {
      const isPlain = LIQUID_NAME.test(to) && !PSEUDO_FIELDS.has(to);
      this.edits.push({ from: sign.at, to: key.at + key.text.length, text: isPlain ? `.${to}` : `["${to}"]` });
    }
  }
}

function tokensOf(source: string, from: number, to: number): Token[] {
  const tokens: Token[] = [];
  for (const match of source.slice(from, to).matchAll(LIQUID_TOKEN)) {
    const [kind, value = ""] = Object.entries(match.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    if (kind !== "blank") tokens.push({ text: match[0], at: from + match.index, kind: kind as Token["kind"], value });
  }
  return tokens;
}

/** Where an output or tag ends; a quoted end is none. */
function endOf(source: string, from: number, end: string): number {
  let quote = "";
  for (let at = from; at < source.length; at += 1) {
    const sign = source.charAt(at);
    if (quote !== "") quote = sign === quote ? "" : quote;
    else if (sign === '"' || sign === "'") quote = sign;
    else if (sign === end[0] && source[at + 1] === end[1]) return at;
  }
  return -1;
}

function endOfTag(source: string, from: number, name: string): number {
  const tag = new RegExp(String.raw`\{%-?\s*${name}\s*-?%\}`, "g");
  tag.lastIndex = from;
  const found = tag.exec(source);
  return found === null ? source.length : found.index + found[0].length;
}

function idsBelow(name: string, { nodes, inputs }: Renames): ReadonlyMap<string, string> | undefined {
  return name === "nodes" ? nodes : name === "inputs" ? inputs : undefined;
}

/** The text of a plain literal; null if it has escapes, which no ID needs. */
const plainText = (literal: string): string | null => /^[rR]?(["'])([^\\]*)\1$/.exec(literal)?.[2] ?? null;

/** Changes a literal, and keeps its quotes. */
const quotedAs = (literal: string, at: number, id: string): Edit => {
  const quote = literal.at(-1) ?? '"';
  return { from: at, to: at + literal.length, text: quote + id + quote };
};

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function edited(source: string, edits: readonly Edit[]): string {
  let text = "";
  let at = 0;
  for (const edit of edits.toSorted((one, other) => one.from - other.from)) {
    text += source.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return text + source.slice(at);
}
