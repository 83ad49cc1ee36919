/** A position in the source (offset in characters). */
export type Position = number;

export type BinaryOperator = "+" | "-" | "*" | "/" | "%" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "&&" | "||";

/** The syntax tree of a CEL expression; macros are calls. */
export type CelNode =
  | {
      readonly kind: "literal";
      readonly at: Position;
      readonly value: string | number | bigint | boolean | null | Uint8Array;
    }
  | { readonly kind: "variable"; readonly at: Position; readonly name: string }
  | { readonly kind: "select"; readonly at: Position; readonly operand: CelNode; readonly field: string }
  | { readonly kind: "index"; readonly at: Position; readonly operand: CelNode; readonly key: CelNode }
  | {
      readonly kind: "call";
      readonly at: Position;
      readonly name: string;
      readonly target: CelNode | undefined;
      readonly args: readonly CelNode[];
    }
  | { readonly kind: "list"; readonly at: Position; readonly items: readonly CelNode[] }
  | { readonly kind: "map"; readonly at: Position; readonly entries: ReadonlyArray<readonly [CelNode, CelNode]> }
  | { readonly kind: "unary"; readonly at: Position; readonly operator: "!" | "-"; readonly operand: CelNode }
  | {
      readonly kind: "binary";
      readonly at: Position;
      readonly operator: BinaryOperator;
      readonly left: CelNode;
      readonly right: CelNode;
    }
  | {
      readonly kind: "conditional";
      readonly at: Position;
      readonly test: CelNode;
      readonly yes: CelNode;
      readonly no: CelNode;
    };

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
