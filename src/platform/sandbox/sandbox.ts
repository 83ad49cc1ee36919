import { availableParallelism } from "node:os";
import { DEFAULT_NODE_TIMEOUT_MS } from "../../domain/flow/plan/retry.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { MAX_VALUE_BYTES, type Json, type JsonObject } from "../../domain/json.ts";
import { createChildPool, type ChildPool } from "../children/child-pool.ts";
import { ChildPoolError, withRetry, type PoolFailure } from "../children/pool-failure.ts";
import type { Frame } from "../children/frames.ts";
import { compiledEntry, readableByChild } from "../children/entry.ts";
import { jsonText } from "../json/json-text.ts";
import type { ScriptReply, ScriptRequest } from "./protocol.ts";

/** Options of the code sandbox. */
export interface SandboxOptions {
  /** Scripts executed at the same time; default one per processor, at least 2. */
  readonly size?: number;
  /** Longest time of a script in milliseconds; default 60 000. */
  readonly timeoutMs?: number;
}

/** One execution of a script. */
export interface SandboxCall {
  /** Processes that have executed code of one organisation never execute code of another. */
  readonly orgId: string;
  /** JavaScript that defines `main(args)`, which may be async. A plain script: no import, no export. */
  readonly source: string;
  readonly args: JsonObject;
  /** Shortens the sandbox's own limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What `main` returned (null for undefined), and what it wrote to the console. */
export interface SandboxResult {
  readonly value: Json;
  readonly logs: readonly string[];
}

/** Executes JavaScript written by users, isolated from Millrace. */
export interface Sandbox {
  /**
   * Throws NodeFailure `code_failed`, `code_timeout`, `code_memory`, `code_output_invalid`, `value_too_large` or `value_too_deep`; the
   * reason of `signal`; or ChildPoolError `queue_full`, `start_failed` or `closed`, which the script did not cause.
   */
  run(call: SandboxCall): Promise<SandboxResult>;
  /** Starts the child processes before the first call. */
  warm(): Promise<void>;
  stats: ChildPool["stats"];
  close(): Promise<void>;
}

/** The child enforces its time limit itself; this later limit kills it if it cannot. */
const KILL_AFTER_MS = 1000;

/** A sandbox with its own pool of processes; `close` must be called. */
export function createSandbox({ size, timeoutMs = DEFAULT_NODE_TIMEOUT_MS }: SandboxOptions = {}): Sandbox {
  const entry = compiledEntry(new URL("./child.ts", import.meta.url));
  const pool = createChildPool({
    entry,
    nodeFlags: ["--stack-size=2000", "--disable-proto=throw", "--disallow-code-generation-from-strings"],
    readable: readableByChild(entry, ["quickjs-emscripten"]),
    heapMib: 128,
    // Room for the arguments, the result and the script's own 64 MiB, each also as text.
    dataMib: 640,
    size: size ?? Math.max(2, availableParallelism()),
    spares: 1,
    keep: 6,
    maxQueue: 1000,
    maxCalls: 500,
    timeoutMs: timeoutMs + KILL_AFTER_MS,
    longFromMs: DEFAULT_NODE_TIMEOUT_MS + KILL_AFTER_MS,
    maxOutputBytes: MAX_VALUE_BYTES,
  });

  return {
    async run(call) {
      const limit = Math.min(call.timeoutMs ?? timeoutMs, timeoutMs);
      const { header, body } = await execute(pool, call, limit);
      const { error, logs } = header as ScriptReply;
      if (error === null) return { value: JSON.parse(body.toString("utf8")) as Json, logs };
      throw new NodeFailure(
        error.code,
        error.line === undefined ? error.message : `${error.message} (line ${error.line})`,
      );
    },
    warm: () => pool.warm(),
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}

async function execute(pool: ChildPool, call: SandboxCall, timeoutMs: number): Promise<Frame> {
  const source = Buffer.from(call.source);
  const body = Buffer.concat([source, Buffer.from(jsonText(call.args))]);
  const header: ScriptRequest = { source_bytes: source.byteLength, timeout_ms: timeoutMs };
  try {
    return await withRetry(() =>
      pool.call({
        key: call.orgId,
        request: () => ({ header, body }),
        timeoutMs: timeoutMs + KILL_AFTER_MS,
        signal: call.signal,
      }),
    );
  } catch (error) {
    if (!(error instanceof ChildPoolError)) throw error;
    if (error.failure === "timeout") throw new NodeFailure("code_timeout", `The code ran longer than ${timeoutMs} ms.`);
    const failure = FAILURES[error.failure];
    throw failure ? new NodeFailure(...failure) : error;
  }
}

/** What the end of a script's process means for its node. */
const FAILURES: { readonly [Failure in PoolFailure]?: ConstructorParameters<typeof NodeFailure> } = {
  memory: ["code_memory", "The code needs more memory than allowed."],
  output_too_large: ["value_too_large", "The result is longer than 25 MiB as JSON."],
  crashed: ["code_failed", "The process that executed the code was terminated.", { retryable: true }],
};
