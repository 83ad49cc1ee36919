import { CelSyntaxError, type BinaryOperator, type CelNode } from "./ast.ts";
import { tokenize, type Token } from "./lexer.ts";

/** Longest expression; a longer one is a mistake or an attack. */
const MAX_SOURCE_CHARS = 20_000;
const MAX_NODES = 4_000;
/** Levels of brackets, calls and operators; parser and evaluator recurse at least once per level. */
const MAX_DEPTH = 200;

const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** From the loosest to the tightest. */
const PRECEDENCE: ReadonlyArray<ReadonlySet<string>> = [
  new Set(["||"]),
  new Set(["&&"]),
  new Set(["==", "!=", "<", "<=", ">", ">=", "in"]),
  new Set(["+", "-"]),
  new Set(["*", "/", "%"]),
];

const MAX_INT = 9223372036854775807n;

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #nodes = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): CelNode {
    const root = this.#expression();
    if (this.#token.kind !== "end") throw this.#unexpected();
    return root;
  }

  get #token(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #is(value: string): boolean {
    const token = this.#token;
    return token.value === value && (token.kind === "operator" || (value === "in" && token.kind === "name"));
  }

  #skip(value: string): boolean {
    if (!this.#is(value)) return false;
    this.#next++;
    return true;
  }

  #expect(value: string): void {
    if (!this.#skip(value)) throw this.#unexpected(`expected "${value}"`);
  }

  #unexpected(instead = "an operand is missing, or there is one operator too many"): CelSyntaxError {
    const token = this.#token;
    const what = token.kind === "end" ? "The expression ends too early" : `Unexpected ${this.#describe(token)}`;
    return new CelSyntaxError(`${what}: ${instead}`, token.at);
  }

  #describe(token: Token): string {
    if (token.kind === "bytes") return "bytes";
    return token.kind === "string" ? JSON.stringify(token.value) : `"${String(token.value)}"`;
  }

  #made(node: CelNode): CelNode {
    if (++this.#nodes > MAX_NODES) throw new CelSyntaxError(`The expression has more than ${MAX_NODES} parts`, node.at);
    return node;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) {
      throw new CelSyntaxError(`The expression is nested deeper than ${MAX_DEPTH} levels`, this.#token.at);
    }
    const result = read();
    this.#depth--;
    return result;
  }

  #expression(): CelNode {
    return this.#nested(() => {
      const test = this.#binary(0);
      const at = this.#token.at;
      if (!this.#skip("?")) return test;
      const yes = this.#binary(0);
      this.#expect(":");
      return this.#made({ kind: "conditional", at, test, yes, no: this.#expression() });
    });
  }

  #binary(level: number): CelNode {
    const operators = PRECEDENCE[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    let chained = 0;
    while (
      operators.has(String(this.#token.value)) &&
      (this.#token.kind === "operator" || this.#is("in")) &&
      ++chained
    ) {
      const { at, value } = this.#token;
      this.#next++;
      if (chained > MAX_DEPTH) throw new CelSyntaxError(`More than ${MAX_DEPTH} operators in a row`, at);
      const right = this.#binary(level + 1);
      left = this.#made({ kind: "binary", at, operator: value as BinaryOperator, left, right });
    }
    return left;
  }

  #unary(): CelNode {
    const token = this.#token;
    if (token.kind !== "operator" || (token.value !== "!" && token.value !== "-")) return this.#member();
    this.#next++;
    const operator = token.value;
    const number = this.#token;
    if (operator === "-" && (number.kind === "int" || number.kind === "double")) {
      const operand = this.#member(-1n);
      return operand;
    }
    return this.#nested(() => this.#made({ kind: "unary", at: token.at, operator, operand: this.#unary() }));
  }

  #member(sign: 1n | -1n = 1n): CelNode {
    let node = this.#primary(sign);
    for (let links = 0; ; links++) {
      const { at } = this.#token;
      if (links > MAX_DEPTH) throw new CelSyntaxError(`More than ${MAX_DEPTH} fields in a row`, at);
      if (this.#skip("[")) {
        const key = this.#expression();
        this.#expect("]");
        node = this.#made({ kind: "index", at, operand: node, key });
      } else if (this.#skip(".")) {
        const name = this.#token;
        if (name.kind !== "name" && name.kind !== "quoted-name") throw this.#unexpected("expected the name of a field");
        this.#next++;
        if (name.kind === "name" && this.#skip("(")) {
          node = this.#made({ kind: "call", at: name.at, name: name.value, target: node, args: this.#list(")") });
        } else node = this.#made({ kind: "select", at: name.at, operand: node, field: name.value });
      } else return node;
    }
  }

  #list(close: ")" | "]"): CelNode[] {
    const items: CelNode[] = [];
    while (!this.#skip(close)) {
      items.push(this.#expression());
      if (!this.#is(close)) this.#expect(",");
    }
    return items;
  }

  #entries(): Array<readonly [CelNode, CelNode]> {
    const entries: Array<readonly [CelNode, CelNode]> = [];
    while (!this.#skip("}")) {
      const key = this.#expression();
      this.#expect(":");
      entries.push([key, this.#expression()]);
      if (!this.#is("}")) this.#expect(",");
    }
    return entries;
  }

  #primary(sign: 1n | -1n): CelNode {
    const token = this.#token;
    const { at } = token;
    switch (token.kind) {
      case "int": {
        const value = sign * token.value;
        if (value > MAX_INT || value < -MAX_INT - 1n)
          throw new CelSyntaxError("The integer does not fit into 64 bits", at);
        this.#next++;
        return this.#made({ kind: "literal", at, value });
      }
      case "uint":
        if (token.value > MAX_INT) throw new CelSyntaxError("The integer does not fit into 63 bits", at);
        this.#next++;
        return this.#made({ kind: "literal", at, value: token.value });
      case "double":
        this.#next++;
        return this.#made({ kind: "literal", at, value: sign === 1n ? token.value : -token.value });
      case "string":
      case "bytes":
        this.#next++;
        return this.#made({ kind: "literal", at, value: token.value });
      case "name":
        return this.#name(token.value, at);
      case "operator":
        if (this.#skip("(")) {
          const inner = this.#expression();
          this.#expect(")");
          return inner;
        }
        if (this.#skip("[")) return this.#made({ kind: "list", at, items: this.#list("]") });
        if (this.#skip("{")) return this.#made({ kind: "map", at, entries: this.#entries() });
        throw this.#unexpected();
      case "quoted-name":
      case "end":
        throw this.#unexpected();
    }
  }

  #name(name: string, at: number): CelNode {
    if (name === "in") throw this.#unexpected();
    this.#next++;
    if (name === "true" || name === "false") return this.#made({ kind: "literal", at, value: name === "true" });
    if (name === "null") return this.#made({ kind: "literal", at, value: null });
    if (RESERVED.has(name)) throw new CelSyntaxError(`"${name}" is a reserved word`, at);
    if (!this.#skip("(")) return this.#made({ kind: "variable", at, name });
    return this.#made({ kind: "call", at, name, target: undefined, args: this.#list(")") });
  }
}

/** Parses a CEL expression. Throws CelSyntaxError, also if it is too long or too deeply nested. */
export const parseCel = (source: string): CelNode => {
  if (source.length > MAX_SOURCE_CHARS) {
    throw new CelSyntaxError(`An expression can have at most ${MAX_SOURCE_CHARS} characters`, MAX_SOURCE_CHARS);
  }
  return new Parser(tokenize(source)).parse();
};

/** The expression, or undefined if it is not valid. */
export const parsedCel = (source: string): CelNode | undefined => {
  try {
    return parseCel(source);
  } catch (error) {
    if (error instanceof CelSyntaxError) return undefined;
    throw error;
  }
};
