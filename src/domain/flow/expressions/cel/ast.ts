/** A position in the source (offset in characters). */
export type Position = number;

export type BinaryOperator = "+" | "-" | "*" | "/" | "%" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "&&" | "||";

/** What each kind of node consists of; macros are calls. */
interface Parts {
  literal: { value: string | number | bigint | boolean | null | Uint8Array };
  variable: { name: string };
  select: { operand: CelNode; field: string };
  index: { operand: CelNode; key: CelNode };
  call: { name: string; target: CelNode | undefined; args: readonly CelNode[] };
  list: { items: readonly CelNode[] };
  map: { entries: ReadonlyArray<readonly [CelNode, CelNode]> };
  unary: { operator: "!" | "-"; operand: CelNode };
  binary: { operator: BinaryOperator; left: CelNode; right: CelNode };
  conditional: { test: CelNode; yes: CelNode; no: CelNode };
}

/** The syntax tree of a CEL expression, or a node of some kinds. */
export type CelNode<Kind extends keyof Parts = keyof Parts> = {
  [Each in Kind]: Readonly<{ kind: Each; at: Position } & Parts[Each]>;
}[Kind];

export type MethodCall = CelNode<"call"> & { readonly target: CelNode };

/** Thrown for a source that is not a valid expression; `checkCel` and `evaluateCel` catch it. */
export class CelSyntaxError extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.name = "CelSyntaxError";
    this.at = at;
  }
}

/** "line 1, column 7" for a position in a source. */
export const placeIn = (source: string, at: Position): string => {
  const lineStart = source.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let i = 0; i < lineStart; i++) if (source.charCodeAt(i) === 10) line++;
  return `line ${line}, column ${at - lineStart + 1}`;
};
