/** A position in the source (offset in characters). */
export type Position = number;

export type BinaryOperator = "+" | "-" | "*" | "/" | "%" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "&&" | "||";

/** A CEL expression as it was written; macros are calls here. */
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

/** Thrown where a source is not a valid expression; caught by `checkCel` and `evaluateCel`. */
export class CelSyntaxError extends Error {
  readonly at: Position;

  constructor(message: string, at: Position) {
    super(message);
    this.name = "CelSyntaxError";
    this.at = at;
  }
}

/** "line 1, column 7" of a place in a source. */
export const placeIn = (source: string, at: Position): string => {
  const lineStart = source.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let i = 0; i < lineStart; i++) if (source.charCodeAt(i) === 10) line++;
  return `line ${line}, column ${at - lineStart + 1}`;
};
