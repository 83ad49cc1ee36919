import { NodeFailure } from "../../../runs/failure.ts";
import type { Scope } from "../../scope.ts";
import type { Position } from "./ast.ts";
import type { Value } from "./values.ts";
import type { Meter } from "../meter.ts";

/** The state of one evaluation. */
export interface Frame {
  readonly scope: Scope;
  readonly meter: Meter;
  /** Values of the iteration variables of macros, by their slot. */
  readonly locals: Value[];
  /** The place being evaluated; a failure reports it. */
  at: Position;
}

/** A compiled part of an expression. */
export type Code = (frame: Frame) => Value;

/** Making and catching an error takes some 5 µs; `[...].exists(x, x.missing)` makes one an element. */
const ERROR_TICKS = 300;

/**
 * Evaluates a part whose failure may be irrelevant (CEL: `false && failing` and `failing && false` are both
 * false). Running out of budget always matters.
 */
export const attempt = (code: Code, frame: Frame): Value | NodeFailure => {
  try {
    return code(frame);
  } catch (error) {
    if (!(error instanceof NodeFailure) || error.code !== "expression_failed") throw error;
    frame.meter.use(ERROR_TICKS);
    return error;
  }
};
