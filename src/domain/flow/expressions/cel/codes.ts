import { NodeFailure } from "../../../runs/failure.ts";
import type { Position } from "./ast.ts";
import { attempt, type Code, type Frame } from "./frame.ts";
import { negate } from "./operators.ts";
import { describe, failed, isMapKey, makeMap, type MapKey, type Value } from "./values.ts";

/** `[a, b]` */
export const listCode =
  (items: readonly Code[]): Code =>
  (frame) =>
    items.map((item) => item(frame));

/** `{a: b}` */
export const mapCode =
  (entries: ReadonlyArray<readonly [Code, Code]>, at: Position): Code =>
  (frame) => {
    const made = entries.map(([key, value]): readonly [MapKey, Value] => {
      const name = key(frame);
      if (isMapKey(name)) return [name, value(frame)];
      frame.at = at;
      throw failed(`The key of a map cannot be ${describe(name)}`);
    });
    const map = makeMap(made);
    if (map !== undefined) return map;
    frame.at = at;
    throw failed("Duplicate key in the map");
  };

/** `!a` and `-a` */
export const unaryCode =
  (operator: "!" | "-", operand: Code, at: Position): Code =>
  (frame) => {
    const value = operand(frame);
    frame.at = at;
    if (operator === "-") return negate(value);
    if (typeof value === "boolean") return !value;
    throw failed(`"!" needs true or false, not ${describe(value)}`);
  };

/** `a ? b : c` */
export const conditionalCode =
  (test: Code, yes: Code, no: Code, at: Position): Code =>
  (frame) => {
    const value = test(frame);
    if (value === true) return yes(frame);
    if (value === false) return no(frame);
    frame.at = at;
    throw failed(`The condition before "?" must be true or false, but it is ${describe(value)}`);
  };

/** `a && b` and `a || b`: if one side decides the result, a failure of the other is ignored. */
export const logicalCode = (operator: "&&" | "||", left: Code, right: Code, at: Position): Code => {
  const deciding = operator === "||";
  const wrong = (value: Value, frame: Frame): NodeFailure => {
    frame.at = at;
    return failed(`"${operator}" needs true or false, not ${describe(value)}`);
  };
  return (frame) => {
    const one = attempt(left, frame);
    if (one === deciding) return deciding;
    const failedAt = frame.at;
    const other = right(frame);
    if (other === deciding) return deciding;
    if (one instanceof NodeFailure) {
      frame.at = failedAt;
      throw one;
    }
    if (typeof one !== "boolean") throw wrong(one, frame);
    if (typeof other !== "boolean") throw wrong(other, frame);
    return !deciding;
  };
};
