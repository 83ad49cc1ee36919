import { SCRIPT_LIMITS } from "./protocol.ts";

/** File name of the user's script in stack traces. */
export const SCRIPT_NAME = "code.js";

/**
 * Evaluated in the sandbox before the script: `(emit) => ({ parse, call, stringify, describe })`. Captures every built-in that it needs
 * later, so that a script that replaces JSON.parse or String changes only its own behaviour. `emit`, the only host function in the sandbox,
 * can be reached only through the console's closure, takes a string and returns whether more is wanted.
 */
export const BOOTSTRAP = `(emit) => {
  "use strict";
  const { parse, stringify } = JSON;
  const text = String;
  const cut = Function.prototype.call.bind(String.prototype.slice);
  const isString = (value) => typeof value === "string";

  // JSON has no integers of any size; beyond 2^53 they are text, so that no digit is lost.
  const { Number: number, Number: { isSafeInteger } } = globalThis;
  Object.defineProperty(BigInt.prototype, "toJSON", {
    configurable: true,
    value() {
      const nearest = number(this);
      return isSafeInteger(nearest) ? nearest : text(this);
    },
    writable: true,
  });

  const show = (value) => {
    if (isString(value)) return value;
    try {
      const json = value instanceof Error ? undefined : stringify(value);
      return isString(json) ? json : text(value);
    } catch {
      return "[unprintable]";
    }
  };
  let open = true;
  const log = (...values) => {
    if (!open) return;
    let line = "";
    for (let index = 0; index < values.length && line.length < ${SCRIPT_LIMITS.logLineCharacters}; index += 1) {
      line += (index === 0 ? "" : " ") + cut(show(values[index]), 0, ${SCRIPT_LIMITS.logLineCharacters});
    }
    open = emit(stringify(cut(line, 0, ${SCRIPT_LIMITS.logLineCharacters})));
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log, trace: log };

  const read = (object, name) => {
    try {
      const value = object[name];
      return isString(value) ? cut(value, 0, ${SCRIPT_LIMITS.messageCharacters}) : "";
    } catch {
      return "";
    }
  };
  return {
    parse,
    call: async (main, args) => ({ value: await main(args) }),
    stringify: (box) => (box.value === undefined ? "null" : stringify(box.value)),
    describe: (thrown) =>
      stringify(
        typeof thrown === "object" && thrown !== null
          ? { name: read(thrown, "name"), message: read(thrown, "message") || cut(show(thrown), 0, 200), stack: read(thrown, "stack") }
          : { name: "", message: cut(show(thrown), 0, ${SCRIPT_LIMITS.messageCharacters}), stack: "" },
      ),
  };
}`;
