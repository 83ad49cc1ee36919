import {
  CaptureTag,
  CaseTag,
  CycleTag,
  defaultOperators,
  evalToken,
  ForTag,
  TablerowTag,
  Tag,
  toValue,
  type Context,
  type Emitter,
  type Hash,
  type Token,
} from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { indexOf, searchUnits } from "../text-search.ts";
import { meterOf, TextEmitter, textOf, useWhole } from "./text.ts";
import { keyUnits, type Meter } from "../meter.ts";
import { isArray, keysOfObject } from "../natives.ts";

/** The part of an element's cost that looking at it is. */
export const UNITS_PER_ELEMENT = 64;

type Operators = typeof defaultOperators;
type Compare = (left: unknown, right: unknown, context: Context) => unknown;

/** Comparing reads both texts, and asking for `empty` or `blank` reads an object's keys. */
const useFor = (value: unknown, meter: Meter): void => {
  if (typeof value === "string") meter.use(value.length >> 2);
  else if (typeof value === "object" && value !== null && !isArray(value)) {
    meter.use(8 * keyUnits(keysOfObject(value).length));
  }
};

const metered =
  (name: keyof Operators): Compare =>
  (left, right, context) => {
    useFor(left, meterOf(context));
    useFor(right, meterOf(context));
    return (defaultOperators[name] as Compare)(left, right, context);
  };

/** The engine puts lists in order by the texts that they make. */
const ordered =
  (name: keyof Operators): Compare =>
  (left, right, context) => {
    for (const value of [left, right]) if (isArray(value)) useWhole(value, meterOf(context));
    return metered(name)(left, right, context);
  };

const sameItems = (left: readonly unknown[], right: readonly unknown[], meter: Meter): boolean => {
  if (left.length !== right.length) return false;
  return left.every((item, index) => {
    const other = right[index];
    meter.use(UNITS_PER_ELEMENT);
    useFor(item, meter);
    return isArray(item) && isArray(other) ? sameItems(item, other, meter) : item === other;
  });
};

const defaultEquals = metered("==");

/** Lists are equal by content, objects only to themselves. */
const equals: Compare = (left, right, context) => {
  const one: unknown = toValue(left);
  const other: unknown = toValue(right);
  return isArray(one) && isArray(other) ? sameItems(one, other, meterOf(context)) : defaultEquals(left, right, context);
};

const contains: Compare = (left, right, context) => {
  const meter = meterOf(context);
  const whole: unknown = toValue(left);
  const part: unknown = toValue(right);
  if (typeof whole === "string") {
    const text = textOf(part, meter);
    meter.use(4 * searchUnits(whole, text));
    return part !== null && part !== undefined && indexOf(whole, text) >= 0;
  }
  if (!isArray(whole)) return false;
  return whole.some((item) => {
    meter.use(UNITS_PER_ELEMENT);
    return isArray(item) && isArray(part) ? sameItems(item, part, meter) : item === part;
  });
};

/** The engine's operators, each taking what it costs from the budget. */
export const OPERATORS = {
  ...defaultOperators,
  "==": equals,
  "!=": function* notEquals(left: unknown, right: unknown, context: Context): Generator<unknown, boolean> {
    return (yield equals(left, right, context)) !== true;
  },
  "<": ordered("<"),
  "<=": ordered("<="),
  ">": ordered(">"),
  ">=": ordered(">="),
  contains,
} as Operators;

/** `case`, comparing as the operators do. */
export class MeteredCase extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const target = toValue(yield this.value.value(context));
    let found = false;
    for (const { values, templates } of this.branches) {
      for (const token of values) {
        const value = yield evalToken(token, context);
        if ((yield equals(target, value, context)) !== true) continue;
        found = true;
        yield this.liquid.renderer.renderTemplates(templates, context, emitter);
        break;
      }
    }
    if (!found) yield this.liquid.renderer.renderTemplates(this.elseTemplates, context, emitter);
  }
}

/** `capture`, writing into an emitter that knows the limits. */
export class MeteredCapture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const emitter = new TextEmitter(context);
    yield this.liquid.renderer.renderTemplates(this.templates, context, emitter);
    (context.bottom() as Record<string, unknown>)[this.variable] = emitter.buffer;
  }
}

/** Arguments of loops that are made numbers, some of them in each round. */
const COUNTS = ["limit", "offset", "cols"];
const LONGEST_COUNT = 100;

type Loop = Pick<ForTag, "collection" | "token">;

/** A loop makes a list of what it goes through, and a text of itself, before its first round. */
const useForLoop = function* useForLoop({ collection, token }: Loop, args: Hash, context: Context): Generator {
  const meter = meterOf(context);
  meter.use(token.size());
  const values: unknown = toValue(yield evalToken(collection, context));
  if (isArray(values)) meter.use(values.length);
  else if (typeof values === "object" && values !== null) meter.use(4 * keyUnits(keysOfObject(values).length));
  const given = (yield args.render(context)) as Readonly<Record<string, unknown>>;
  for (const name of COUNTS) {
    const count = given[name];
    if (isArray(count) || (typeof count === "string" && count.length > LONGEST_COUNT)) {
      throw new NodeFailure("template_failed", `${name} of a loop is a number`);
    }
  }
};

export class MeteredFor extends ForTag {
  override *render(context: Context, emitter: Emitter): ReturnType<ForTag["render"]> {
    yield useForLoop(this, this.hash, context);
    yield super.render(context, emitter);
  }
}

export class MeteredTablerow extends TablerowTag {
  override *render(context: Context, emitter: Emitter): ReturnType<TablerowTag["render"]> {
    yield useForLoop(this, this.args, context);
    yield super.render(context, emitter);
  }
}

/** What a candidate is written with is gathered again in each round. */
const UNITS_PER_CYCLE_CHAR = 4;

/** `cycle`, which keeps the text of its group and of itself. */
export class MeteredCycle extends CycleTag {
  override *render(context: Context, emitter: Emitter): ReturnType<CycleTag["render"]> {
    const meter = meterOf(context);
    meter.use(this.token.size() * UNITS_PER_CYCLE_CHAR);
    // The engine's types keep the group to themselves.
    useWhole(yield evalToken(this["group"] as Token | undefined, context), meter);
    return yield super.render(context, emitter);
  }
}

/** `{% # remark %}`; the engine's own reads it with a regular expression that takes quadratic time. */
export class RemarkTag extends Tag {
  override render(): void {}
}
