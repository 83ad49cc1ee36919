import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES, type Json } from "../../../json.ts";
import { cachedByText, CHARS_PER_INSTRUCTION } from "../cache.ts";
import { CelSyntaxError, placeIn, type CelNode } from "./ast.ts";
import { CelCompiler } from "./compiler.ts";
import { childrenOf } from "./cost.ts";
import type { Code, Frame } from "./frame.ts";
import { Meter, tooCostly } from "./limits.ts";
import { parseCel } from "./parser.ts";
import { toJson } from "./result.ts";
import { describe, type Value } from "./values.ts";
import { isLongerThan } from "../json-size.ts";
import type { Reads, Scope } from "../../scope.ts";

/*
 * Millrace has its own evaluator, because the library @marcbachmann/cel-js cannot bound its work, separates int from double so strictly
 * that `n * 2` fails on a JSON number, and takes 1.1 ms to load in every workflow. The official conformance tests verify this one.
 */

/** What is known about an expression before it is evaluated: the nodes it reads, or why it is invalid. */
export type CheckedCel =
  | {
      readonly ok: true;
      readonly reads: Reads;
      /**
       * An integer literal that no JSON value can equal: JSON integers of that length are text, and this expression converts no text to
       * integers.
       */
      readonly longInteger?: string | undefined;
    }
  | { readonly ok: false; readonly message: string };

interface Faulty {
  readonly message: string;
}

interface Program {
  readonly code: Code;
  readonly reads: Reads;
  /** The result is a part of a value in the scope, so it is JSON and within the limit for values. */
  readonly isPart: boolean;
  readonly instructions: number;
  readonly ticks: number;
  readonly longInteger: string | undefined;
}

/** Functions that convert text to integers or values to text. */
const CONVERTS: ReadonlySet<string> = new Set(["int", "uint", "string"]);

const isPartOfValue = (node: CelNode): boolean =>
  (node.kind === "select" || node.kind === "index") &&
  (node.operand.kind === "variable" || isPartOfValue(node.operand));

const findIn = <Found>(node: CelNode, look: (node: CelNode) => Found | undefined): Found | undefined => {
  for (const each of [node, ...childrenOf(node)]) {
    const found = each === node ? look(node) : findIn(each, look);
    if (found !== undefined) return found;
  }
  return undefined;
};

const longIntegerIn = (node: CelNode): string | undefined => {
  const long = findIn(node, (each) =>
    each.kind === "literal" && typeof each.value === "bigint" && !Number.isSafeInteger(Number(each.value))
      ? String(each.value)
      : undefined,
  );
  const converts =
    long !== undefined && findIn(node, (each) => (each.kind === "call" && CONVERTS.has(each.name) ? true : undefined));
  return converts ? undefined : long;
};

const compile = (source: string): Program | Faulty => {
  const compiler = new CelCompiler();
  try {
    const node = parseCel(source);
    const code = compiler.compile(node);
    const { reads, instructions, nodes } = compiler;
    const isPart = isPartOfValue(node);
    return { code, reads, isPart, instructions, ticks: nodes, longInteger: longIntegerIn(node) };
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return { message: `${error.message} (${placeIn(source, error.at)})` };
  }
};

// A program keeps its compiled patterns even after the pattern cache has dropped them.
const compileCached = cachedByText(
  compile,
  (text, made) => text.length + ("message" in made ? 0 : made.instructions * CHARS_PER_INSTRUCTION),
);

/**
 * Parses an expression and checks everything that its text alone determines: syntax, size, names of variables and functions, numbers of
 * arguments, nesting of macros, regular expressions. `reads` holds the IDs of the nodes that the expression reads as `nodes["id"]` or
 * `nodes.id`, or is "*" if they depend on values.
 */
export const checkCel = (source: string): CheckedCel => {
  const program = compileCached(source);
  return "message" in program
    ? { ok: false, message: program.message }
    : { ok: true, reads: program.reads, longInteger: program.longInteger };
};

const run = (source: string, program: Program, frame: Frame): Value => {
  try {
    frame.meter.use(program.ticks);
    return program.code(frame);
  } catch (error) {
    // The limits normally reject an expression before the stack overflows. An overflow is reported in the same way, so that a workflow does
    // not have to handle it.
    if (error instanceof RangeError) throw tooCostly();
    if (!(error instanceof NodeFailure) || error.code !== "expression_failed") throw error;
    throw new NodeFailure(error.code, `${error.message} (${placeIn(source, frame.at)})`);
  }
};

/**
 * Evaluates an expression to JSON. Deterministic, and bounded by ticks instead of time (about a tenth of a second).
 * Throws NodeFailure: "expression_failed" with the reason and position, "expression_too_costly", or "value_too_large"
 * if the result is longer than 25 MiB.
 */
export const evaluateCel = (source: string, scope: Scope): Json => {
  const program = compileCached(source);
  if ("message" in program) throw new NodeFailure("expression_failed", `Not a valid expression: ${program.message}`);
  const frame: Frame = { scope, meter: new Meter(), locals: [], at: 0 };
  const value = run(source, program, frame);
  if (program.isPart) return value as Json;
  const json = toJson(value, frame.meter);
  if (isLongerThan(json, MAX_VALUE_BYTES)) {
    throw new NodeFailure("value_too_large", `The result is longer than ${MAX_VALUE_BYTES / 1024 / 1024} MiB as JSON`);
  }
  return json;
};

/** Evaluates an expression whose result must be a boolean. Throws as `evaluateCel` does, and for any other result. */
export const evaluateCondition = (source: string, scope: Scope): boolean => {
  const result = evaluateCel(source, scope);
  if (typeof result === "boolean") return result;
  const hint = result === null ? "" : ", for example by comparing it";
  throw new NodeFailure(
    "expression_failed",
    `A condition must be true or false, but this one gives ${describe(result)}: turn it into a boolean${hint}`,
  );
};
