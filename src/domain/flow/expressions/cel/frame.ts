import { NodeFailure } from "../../../runs/failure.ts";
import type { Scope } from "../../scope.ts";
import type { Position } from "./ast.ts";
import type { Value } from "./values.ts";
import type { Meter } from "./limits.ts";

/** The state of one evaluation. */
export interface Frame {
  readonly scope: Scope;
  readonly meter: Meter;
  /** Values of the iteration variables of macros, by their slot. */
  readonly locals: Value[];
  /** The position being evaluated, which a failure reports. */
  at: Position;
}

/** A compiled part of an expression. */
export type Code = (frame: Frame) => Value;

/** Creating and catching an error takes about 5 µs, and `[...].exists(x, x.missing)` creates one per element. */
const ERROR_TICKS = 300;

/**
 * Evaluates a part whose failure may not matter (in CEL, `false && failing` and `failing && false` are both false). Exceeding the budget
 * always matters.
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
