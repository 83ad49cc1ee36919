import { toBigInt } from "../natives.ts";
import type { CelFunction } from "./cel-function.ts";
import { CONVERSIONS } from "./conversions.ts";
import { STRING_FUNCTIONS } from "./string-functions.ts";
import { DURATION_PARTS, TIMESTAMP_PARTS, wallClock } from "./time.ts";
import { describe, Duration, failed, Timestamp, type Value } from "./values.ts";
import type { Meter } from "./limits.ts";

/** Reading a clock in a named zone creates a formatter, which takes about 50 µs. */
const ZONE_TICKS = 2_500;

const read = (name: string, args: readonly Value[], meter: Meter): Value => {
  const [value, zone] = args;
  const part = TIMESTAMP_PARTS.get(name);
  const durationPart = DURATION_PARTS.get(name);
  if (value instanceof Timestamp && part !== undefined) {
    if (zone === undefined) return toBigInt(part(wallClock(value)));
    if (typeof zone !== "string") throw failed(`${name}() needs the name of a time zone, not ${describe(zone)}`);
    meter.use(ZONE_TICKS);
    return toBigInt(part(wallClock(value, zone)));
  }
  if (value instanceof Duration && durationPart !== undefined && zone === undefined) return durationPart(value.nanos);
  throw failed(`${name}() must be called on a timestamp, not on ${describe(value as Value)}: use timestamp(...)`);
};

/** The functions that read parts of timestamps and durations. */
const TIME_FUNCTIONS: ReadonlyArray<readonly [string, CelFunction]> = [...TIMESTAMP_PARTS.keys()].map((name) => [
  name,
  { method: [0, 1], apply: (args: readonly Value[], meter: Meter) => read(name, args, meter) },
]);

export const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
]);
