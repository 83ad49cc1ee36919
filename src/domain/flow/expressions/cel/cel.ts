import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES, type Json } from "../../../json.ts";
import { cachedByText, CHARS_PER_INSTRUCTION } from "../cache.ts";
import { CelSyntaxError, placeIn, type CelNode } from "./ast.ts";
import { CelCompiler } from "./compiler.ts";
import type { Code, Frame } from "./frame.ts";
import { celMeter, tooCostly } from "./limits.ts";
import { parseCel } from "./parser.ts";
import { toJson } from "./result.ts";
import { describe, type Value } from "./values.ts";
import { isLongerThan } from "../json-size.ts";
import type { Meter } from "../meter.ts";
import type { Reads, Scope } from "../../scope.ts";

/*
 * Our own evaluator instead of a library's: @marcbachmann/cel-js cannot bound the work it does, distinguishes int from double
 * so strictly that `n * 2` fails on a number of JSON, and takes 1.1 ms to load, which each workflow pays. The official
 * conformance tests are its judge.
 */

/** What is known about an expression before it runs: the nodes it reads, or why it is invalid. */
export type CheckedCel =
  | { readonly ok: true; readonly reads: Reads }
  | { readonly ok: false; readonly message: string };

interface Faulty {
  readonly message: string;
}

interface Program {
  readonly code: Code;
  readonly reads: Reads;
  /** The result is a part of one value of the scope, so it is JSON and no longer than that value may be. */
  readonly isPart: boolean;
  readonly instructions: number;
  readonly ticks: number;
}

const isPartOfValue = (node: CelNode): boolean =>
  (node.kind === "select" || node.kind === "index") &&
  (node.operand.kind === "variable" || isPartOfValue(node.operand));

const compile = (source: string): Program | Faulty => {
  const compiler = new CelCompiler();
  try {
    const node = parseCel(source);
    const code = compiler.compile(node);
    const { reads, instructions, nodes } = compiler;
    return { code, reads, isPart: isPartOfValue(node), instructions, ticks: nodes };
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return { message: `${error.message} (${placeIn(source, error.at)})` };
  }
};

// A program keeps its compiled patterns even when the pattern cache evicts them.
const compileCached = cachedByText(
  compile,
  (text, made) => text.length + ("message" in made ? 0 : made.instructions * CHARS_PER_INSTRUCTION),
);

/**
 * Parses an expression and checks everything that its text alone determines: syntax, size, the names of variables and
 * functions, the number of arguments, the nesting of macros, regular expressions. `reads` holds the ids of the nodes it
 * reads as `nodes["id"]` or `nodes.id`, or is "*" where they depend on values.
 */
export const checkCel = (source: string): CheckedCel => {
  const program = compileCached(source);
  return "message" in program ? { ok: false, message: program.message } : { ok: true, reads: program.reads };
};

const run = (source: string, program: Program, frame: Frame): Value => {
  try {
    frame.meter.use(program.ticks);
    return program.code(frame);
  } catch (error) {
    // The limits should stop an expression before the stack overflows; if one does overflow it, the workflow must not
    // have to handle it.
    if (error instanceof RangeError) throw tooCostly();
    if (!(error instanceof NodeFailure) || error.code !== "expression_failed") throw error;
    throw new NodeFailure(error.code, `${error.message} (${placeIn(source, frame.at)})`);
  }
};

/**
 * Evaluates an expression; the result is JSON. Deterministic, and bounded by ticks instead of time (some tenth of a second,
 * or what `meter` has left). Throws NodeFailure: "expression_failed" with the reason and the place, "expression_too_costly",
 * or "value_too_large" where the result is longer than 25 MiB.
 */
export const evaluateCel = (source: string, scope: Scope, meter: Meter = celMeter()): Json => {
  const program = compileCached(source);
  if ("message" in program) throw new NodeFailure("expression_failed", `Not a valid expression: ${program.message}`);
  const frame: Frame = { scope, meter, locals: [], at: 0 };
  const value = run(source, program, frame);
  if (program.isPart) return value as Json;
  const json = toJson(value, frame.meter);
  if (isLongerThan(json, MAX_VALUE_BYTES)) {
    throw new NodeFailure("value_too_large", `The result is longer than ${MAX_VALUE_BYTES / 1024 / 1024} MiB as JSON`);
  }
  return json;
};

/** Evaluates an expression that decides something. Throws as `evaluateCel` does, and if the result is no boolean. */
export const evaluateCondition = (source: string, scope: Scope, meter?: Meter): boolean => {
  const result = evaluateCel(source, scope, meter);
  if (typeof result === "boolean") return result;
  const hint = result === null ? "" : ", for example by comparing it";
  throw new NodeFailure(
    "expression_failed",
    `A condition must be true or false, but this one gives ${describe(result)}: make it one${hint}`,
  );
};
