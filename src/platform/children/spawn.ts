import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import type { Duplex } from "node:stream";
import { createFrameReader, frameStart, FrameTooLarge, type Frame } from "./frames.ts";
import type { JsonObject } from "../../domain/json.ts";

/** How a child is started and what it may use. */
export interface ChildOptions {
  /** Path of the compiled entry file. */
  readonly entry: string;
  /** V8 and Node flags in addition to the ones every child gets. */
  readonly nodeFlags: readonly string[];
  /**
   * Whether the child may load native modules, which the permission model cannot restrict: only for our own code that processes data.
   * Default false.
   */
  readonly addons?: boolean;
  /** Files and folders it may read. Nothing may be written. */
  readonly readable: readonly string[];
  /** JavaScript heap, MiB. */
  readonly heapMib: number;
  /** Memory of any kind that the child may write (heap, buffers, WebAssembly, stacks) in addition to that of an idle Node process, MiB. */
  readonly dataMib: number;
  /** The result of measureIdleMib; if it is undefined, `dataMib` cannot be enforced. */
  readonly idleMib: number | undefined;
  /** Processor time of the child over its whole life, seconds. Stops an endless loop after its parent was killed. */
  readonly cpuSeconds: number;
  /** Longest body of a response, bytes. */
  readonly maxOutputBytes: number;
}

/** What is sent to a child: a header and a body, given as bytes or as a stream of known length. */
export interface ChildRequest {
  readonly header: JsonObject;
  readonly body: Uint8Array | { readonly stream: AsyncIterable<Uint8Array>; readonly size: number };
}

/**
 * Why a child gave no response. `memory`: it ran out of memory, or crashed as programs do when allocations fail. `crashed`: it exited for
 * any other reason; it may have been killed from outside, so a retry is useful.
 */
export type ChildEnd = "memory" | "crashed" | "output_too_large";

/** Thrown when a child exits, or has to be killed, before its response. */
export class ChildEnded extends Error {
  readonly end: ChildEnd;

  constructor(end: ChildEnd, message: string) {
    super(message);
    this.name = "ChildEnded";
    this.end = end;
  }
}

/** A running child: one request at a time. */
export interface Child {
  /** Undefined if it could not even be started. */
  readonly pid: number | undefined;
  /** Resolves once it accepts requests; throws ChildEnded. */
  readonly ready: Promise<void>;
  /** Resolves when the process has exited. */
  readonly exited: Promise<void>;
  /** Throws ChildEnded; a failure of the body's stream is rethrown, and kills the child. */
  request(request: ChildRequest): Promise<Frame>;
  kill(): void;
  isAlive(): boolean;
}

const STDERR_BYTES = 8192;
const CHILD_NICENESS = 5;
const OUT_OF_MEMORY = /out of memory|bad_alloc|allocation failed|allocate memory|ERR_MEMORY_ALLOCATION/i;
const BREAKDOWN: ReadonlySet<NodeJS.Signals | null> = new Set(["SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP"]);
const SHELL = "/bin/sh";
/** Node 20 and 22.0-22.12 have the permission model under its experimental flag only. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has("--permission")
  ? "--permission"
  : "--experimental-permission";

let idleMib: number | null | undefined;

/**
 * The writable memory of an idle Node process, as the kernel counts it (MiB): between 50 and 600, depending on the Node version. Blocks for
 * ~50 ms, once. Undefined if the system is not Linux.
 */
export function measureIdleMib(): number | undefined {
  if (idleMib !== undefined) return idleMib ?? undefined;
  const { stdout } = spawnSync(process.execPath, ["-p", "fs.readFileSync('/proc/self/status', 'latin1')"], { env: {} });
  const kib = /^VmData:\s+(\d+) kB$/m.exec(stdout?.toString("latin1") ?? "")?.[1];
  idleMib = kib === undefined ? null : Math.ceil(Number(kib) / 1024);
  return idleMib ?? undefined;
}

/** Starts a child with an empty environment, its own session, no standard input and no standard output. */
export function spawnChild(options: ChildOptions): Child {
  const [command, ...args] = commandLine(options);
  const child = spawn(command, args, {
    cwd: tmpdir(),
    env: { TZ: "UTC" },
    // A terminal's interrupt goes to the foreground group. The process drains then, and its children must live until it has finished.
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  behindTheService(child.pid);
  const channel = child.stdio[3] as Duplex;
  let alive = true;
  let waiting: { resolve(frame: Frame): void; reject(error: unknown): void } | undefined;
  let failure: unknown;

  const kill = (): void => {
    if (alive) child.kill("SIGKILL");
  };
  const fail = (error: unknown): void => {
    failure ??= error;
    kill();
  };
  const nextFrame = async (): Promise<Frame> =>
    await new Promise<Frame>((resolve, reject) => {
      if (alive) waiting = { resolve, reject };
      else reject(failure ?? new ChildEnded("crashed", "The child process has ended."));
    });

  const read = createFrameReader(options.maxOutputBytes, (frame) => {
    const receiver = waiting;
    waiting = undefined;
    // A response without a request breaks the protocol, so nothing else from the child can be trusted.
    if (receiver === undefined) fail(new ChildEnded("crashed", "The child process sent an unexpected message."));
    else receiver.resolve(frame);
  });
  channel.on("data", (chunk: Buffer) => {
    try {
      if (failure === undefined) read(chunk);
    } catch (error) {
      fail(
        error instanceof FrameTooLarge
          ? new ChildEnded("output_too_large", "The child process's response exceeds the maximum length.")
          : new ChildEnded("crashed", "The child process sent a malformed message."),
      );
    }
  });
  // Ignores errors of writing to a child that has just exited, because the caller learns about the exit itself.
  channel.on("error", () => undefined);

  const exited = describeEnd(child).then((end) => {
    alive = false;
    failure ??= end;
    waiting?.reject(failure);
    waiting = undefined;
    channel.destroy();
  });

  return {
    pid: child.pid,
    ready: nextFrame().then(() => undefined),
    exited,
    async request({ header, body }) {
      const reply = nextFrame();
      const sent = send(channel, header, body, exited).catch(fail);
      const frame = await reply;
      await sent;
      return frame;
    },
    kill,
    isAlive: () => alive && failure === undefined,
  };
}

/** Lowers the child's priority, so that requests and records go before user code. Called before the child has more than one thread. */
function behindTheService(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, CHILD_NICENESS);
  } catch {
    // The child has already exited.
  }
}

/** Limits without a Node flag are set by a shell, which then becomes the child: same process ID, ~1 ms. */
function commandLine(options: ChildOptions): [string, ...string[]] {
  const node: [string, ...string[]] = [
    process.execPath,
    `--max-old-space-size=${options.heapMib}`,
    ...(options.addons === true ? [] : ["--no-addons"]),
    "--no-warnings",
    PERMISSION,
    ...options.readable.map((path) => `--allow-fs-read=${path}`),
    ...options.nodeFlags,
    options.entry,
  ];
  if (!existsSync(SHELL)) return node;
  const limits = ["-c 0", `-t ${Math.ceil(options.cpuSeconds)}`];
  if (options.idleMib !== undefined) limits.push(`-d ${(options.idleMib + options.dataMib) * 1024}`);
  // A limit above the current hard limit cannot be set, and is not needed.
  const script = limits.map((limit) => `ulimit ${limit} 2>/dev/null; `).join("");
  // A shell exports variables of its own; the child's environment must be empty.
  return [SHELL, "-c", `${script}unset PWD OLDPWD SHLVL _; exec "$@"`, "sh", ...node];
}

async function send(
  channel: Duplex,
  header: JsonObject,
  body: ChildRequest["body"],
  exited: Promise<void>,
): Promise<void> {
  if (body instanceof Uint8Array) {
    channel.write(frameStart(header, body.byteLength));
    channel.write(body);
    return;
  }
  channel.write(frameStart(header, body.size));
  let size = 0;
  for await (const chunk of body.stream) {
    size += chunk.byteLength;
    if (size > body.size || channel.destroyed) break;
    if (!channel.write(chunk)) await Promise.race([once(channel, "drain").catch(() => undefined), exited]);
  }
  if (size !== body.size && !channel.destroyed) throw new Error("The content does not have the declared length.");
}

async function describeEnd(child: ChildProcess): Promise<ChildEnded> {
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-STDERR_BYTES);
  });
  return await new Promise((resolve) => {
    child.once("error", (error) =>
      resolve(new ChildEnded("crashed", `Could not start a child process: ${error.message}`)),
    );
    child.once("close", (code, signal) => {
      const memory = BREAKDOWN.has(signal) || OUT_OF_MEMORY.test(errors);
      const how = signal === null ? `exit code ${code}` : signal;
      const detail = errors.split("\n").find((line) => /error|fatal|what\(\)/i.test(line)) ?? "";
      resolve(new ChildEnded(memory ? "memory" : "crashed", `The child process ended with ${how}. ${detail}`.trim()));
    });
  });
}
