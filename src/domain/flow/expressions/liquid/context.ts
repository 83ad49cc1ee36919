import { Context, Drop } from "liquidjs/dist/liquid.browser.mjs";
import { meterOf } from "./text.ts";
import { keyUnits } from "../meter.ts";
import { hasOwn, isArray } from "../natives.ts";

type Key = Parameters<Context["readProperty"]>[1];

/** Lists and objects name no member: looking for one would first make a text of all that is in them. */
const isName = (key: unknown): boolean => typeof key !== "object" || key === null || key instanceof Drop;

/** What a template sees, where looking something up takes what it costs from the budget. */
export class MeteredContext extends Context {
  override *_get(path: Key[]): IterableIterator<unknown> {
    return isName(path[0]) ? yield super._get(path) : undefined;
  }

  override readProperty(object: unknown, key: Key): unknown {
    if (!isName(key)) return undefined;
    if (typeof key === "string") meterOf(this).use(key.length >> 2);
    const value: unknown = super.readProperty(object as never, key);
    if (key === "size" && typeof object === "object" && object !== null && !isArray(object) && !hasOwn(object, key)) {
      meterOf(this).use(4 * keyUnits(value as number));
    }
    return value;
  }

  override spawn(environment: object = {}): MeteredContext {
    const { memoryLimit, renderLimit, liquid } = this;
    return new MeteredContext(
      environment,
      this.opts,
      { sync: this.sync },
      {
        memoryLimit,
        renderLimit,
        liquid,
      },
    );
  }
}
