import {
  newQuickJSWASMModuleFromVariant,
  RELEASE_SYNC,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
} from "quickjs-emscripten";
import { MAX_VALUE_BYTES } from "../../domain/json.ts";
import { BOOTSTRAP, SCRIPT_NAME } from "./bootstrap.ts";
import { SCRIPT_LIMITS, type ScriptError, type ScriptReply } from "./protocol.ts";

/** Thrown within this file to abort a script with an error. */
class ScriptStop extends Error {
  readonly error: ScriptError;

  constructor(error: ScriptError) {
    super(error.message);
    this.error = error;
  }
}

/** A script to be executed. */
export interface Script {
  readonly source: string;
  /** The arguments as JSON text. */
  readonly args: string;
  readonly timeoutMs: number;
  /** Called periodically during execution, when nothing else in the process can run. */
  readonly onInterval: () => void;
}

/**
 * A QuickJS module with a limit of its memory. QuickJS's own limit cannot be used: in WebAssembly it sees no sizes, only a number of
 * allocations.
 */
export interface Engine {
  readonly quickjs: QuickJSWASMModule;
  /** Allows the memory to grow by this many bytes from its current size, up to MAX_BYTES. */
  mayGrow(bytes: number): void;
  /** Whether the script requested more memory than allowed. */
  isExhausted(): boolean;
}

/** A line of the caller's code in a stack. */
const SCRIPT_LINE = new RegExp(`\\b${SCRIPT_NAME}:(\\d+)`);

const PAGE_BYTES = 64 * 1024;
/** Room for arguments and a result of the greatest length, in addition to what the script may allocate. */
const MAX_BYTES = 448 * 1024 * 1024;

/** Creates a new module. Takes 2-10 ms. */
export async function createEngine(): Promise<Engine> {
  const quickjs = await newQuickJSWASMModuleFromVariant(RELEASE_SYNC);
  const memory: { readonly buffer: ArrayBuffer; grow(pages: number): number } = quickjs.getWasmMemory();
  const grow = memory.grow.bind(memory);
  let limit = MAX_BYTES;
  let exhausted = false;
  // Emscripten requests memory only with this method; if it throws, malloc returns null and QuickJS reports "out of memory".
  memory.grow = (pages) => {
    exhausted = memory.buffer.byteLength + pages * PAGE_BYTES > limit;
    if (exhausted) throw new RangeError("The memory limit is reached");
    return grow(pages);
  };
  return {
    quickjs,
    mayGrow(bytes) {
      limit = Math.min(memory.buffer.byteLength + bytes, MAX_BYTES);
    },
    isExhausted: () => exhausted,
  };
}

/** How often `onInterval` is called (ms). */
const INTERVAL_MS = 100;

/**
 * Executes a script's `main` in a new QuickJS module, which must not be used again because its memory belongs to the script. Never throws
 * because of what a script does.
 */
export function runScript(
  engine: Engine,
  { source, args, timeoutMs, onInterval }: Script,
): { readonly reply: ScriptReply; readonly value: Buffer } {
  const logs = createLog();
  const runtime = engine.quickjs.newRuntime();
  const deadline = Date.now() + timeoutMs;
  let late = false;
  let looked = Date.now();
  runtime.setInterruptHandler(() => {
    const now = Date.now();
    if (now - looked >= INTERVAL_MS) {
      looked = now;
      onInterval();
    }
    late ||= now > deadline;
    return late;
  });
  runtime.setMaxStackSize(SCRIPT_LIMITS.stackBytes);
  try {
    const value = evaluate(engine, runtime, source, args, logs.add);
    return { reply: { error: null, logs: logs.lines }, value };
  } catch (thrown) {
    const error = late
      ? { code: "code_timeout" as const, message: `The code ran longer than ${timeoutMs} ms.` }
      : errorOf(thrown);
    return { reply: { error, logs: logs.lines }, value: Buffer.alloc(0) };
  }
}

function evaluate(
  engine: Engine,
  runtime: QuickJSRuntime,
  source: string,
  args: string,
  emit: (line: string) => boolean,
): Buffer {
  const context = runtime.newContext();
  const emitter = context.newFunction("emit", (line) => (emit(context.getString(line)) ? context.true : context.false));
  const kit = unwrap(context, context.callFunction(valueOf(context, BOOTSTRAP, "boot"), context.undefined, emitter));
  // QuickJS throws null if there is no memory for an error object either.
  const isOutOfMemory = (thrown: QuickJSHandle): boolean =>
    engine.isExhausted() && context.sameValue(thrown, context.null);
  const describe = (thrown: QuickJSHandle): ScriptStop =>
    isOutOfMemory(thrown)
      ? new ScriptStop({ code: "code_memory", message: outOfMemory() })
      : describeThrown(context, kit, thrown);

  // Parsed before the script runs, because the script may replace built-ins, and before the memory limit, because arguments do not count as
  // the script's own memory.
  const given = call(context, kit, "parse", context.newString(args));
  if (given.error) throw describe(given.error);
  engine.mayGrow(SCRIPT_LIMITS.memoryBytes);

  const defined = context.evalCode(source, SCRIPT_NAME, { type: "global" });
  if (defined.error) throw describe(defined.error);
  const main = valueOf(context, "typeof main === 'function' ? main : undefined", "boot");
  if (context.typeof(main) !== "function") {
    throw new ScriptStop({ code: "code_failed", message: "The code must define a function main(args)." });
  }

  const called = call(context, kit, "call", main, given.value);
  if (called.error) throw describe(called.error);
  settle(runtime, describe);
  const state = context.getPromiseState(called.value);
  if (state.type === "rejected") throw describe(state.error);
  if (state.type === "pending") {
    const message = "main returned a promise that never settles: timers and network are not available here.";
    throw new ScriptStop({ code: "code_failed", message });
  }

  engine.mayGrow(MAX_BYTES);
  const result = call(context, kit, "stringify", state.value);
  if (result.error) {
    const { error } = describe(result.error);
    if (error.code !== "code_failed") throw new ScriptStop(error);
    throw new ScriptStop({
      ...error,
      code: "code_output_invalid",
      message: `The result cannot be written as JSON: ${error.message}`,
    });
  }
  if (context.typeof(result.value) !== "string") {
    throw new ScriptStop({ code: "code_output_invalid", message: "main returned a value that JSON cannot represent." });
  }
  const tooLarge = new ScriptStop({ code: "value_too_large", message: "The result is longer than 25 MiB as JSON." });
  if (context.getNumber(context.getProp(result.value, "length")) > MAX_VALUE_BYTES) throw tooLarge;
  const text = Buffer.from(context.getString(result.value));
  if (text.byteLength > MAX_VALUE_BYTES) throw tooLarge;
  if (nestsDeeperThan(SCRIPT_LIMITS.resultDepth, text)) {
    const message = `The result is nested deeper than ${SCRIPT_LIMITS.resultDepth} levels.`;
    throw new ScriptStop({ code: "code_output_invalid", message });
  }
  return text;
}

/** Whether a valid JSON text nests deeper than `levels`. */
function nestsDeeperThan(levels: number, text: Buffer): boolean {
  const [quote, backslash, brace, bracket, closingBrace, closingBracket] = Buffer.from('"\\{[}]');
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (inString && byte === backslash) at += 1;
    else if (byte === quote) inString = !inString;
    else if (!inString && (byte === brace || byte === bracket) && ++depth > levels) return true;
    else if (!inString && (byte === closingBrace || byte === closingBracket)) depth -= 1;
  }
  return false;
}

/** Runs promise jobs until the queue is empty; the interrupt handler aborts endless ones. */
function settle(runtime: QuickJSRuntime, describe: (thrown: QuickJSHandle) => ScriptStop): void {
  while (runtime.hasPendingJob()) {
    const ran = runtime.executePendingJobs(1000);
    if (ran.error) throw describe(ran.error);
  }
}

function call(context: QuickJSContext, kit: QuickJSHandle, name: string, ...args: QuickJSHandle[]) {
  return context.callFunction(context.getProp(kit, name), context.undefined, ...args);
}

function valueOf(context: QuickJSContext, code: string, file: string): QuickJSHandle {
  return unwrap(context, context.evalCode(code, file, { type: "global", strict: true }));
}

function unwrap(context: QuickJSContext, result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle {
  if (result.error) throw new Error(context.getString(result.error));
  return result.value;
}

function describeThrown(context: QuickJSContext, kit: QuickJSHandle, thrown: QuickJSHandle): ScriptStop {
  const described = call(context, kit, "describe", thrown);
  if (described.error) return new ScriptStop({ code: "code_memory", message: outOfMemory() });
  const { name, message, stack } = JSON.parse(context.getString(described.value)) as Record<string, string>;
  if (name === "InternalError" && message === "out of memory") {
    return new ScriptStop({ code: "code_memory", message: outOfMemory() });
  }
  const line = SCRIPT_LINE.exec(stack ?? "")?.[1];
  const text = [name, message].filter((part) => part !== undefined && part !== "").join(": ");
  return new ScriptStop({ code: "code_failed", message: text, ...(line !== undefined && { line: Number(line) }) });
}

/** A WebAssembly exception leaves the module in an undefined state, but each module is used only once. */
function errorOf(thrown: unknown): ScriptError {
  if (thrown instanceof ScriptStop) return thrown.error;
  if (thrown instanceof RangeError) return { code: "code_failed", message: "InternalError: stack overflow" };
  return { code: "code_memory", message: outOfMemory() };
}

function outOfMemory(): string {
  return `The code needs more than ${SCRIPT_LIMITS.memoryBytes / (1024 * 1024)} MiB of memory.`;
}

/** Collects console output up to the limits; `add` returns whether more is accepted. The last line says if output was cut. */
function createLog(): { readonly lines: string[]; readonly add: (json: string) => boolean } {
  const lines: string[] = [];
  let characters = 0;
  let full = false;
  return {
    lines,
    add: (json) => {
      if (full) return false;
      const line = JSON.parse(json) as string;
      characters += line.length;
      full = lines.length >= SCRIPT_LIMITS.logLines || characters > SCRIPT_LIMITS.logCharacters;
      lines.push(full ? "(more output was dropped)" : line);
      return !full;
    },
  };
}
