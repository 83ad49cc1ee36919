import { spawn, spawnSync, type SpawnOptions } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const LOG_KEPT_BYTES = 10 * 1024 * 1024;
const OUTPUT_CHARS = 16 * 1024;

export interface ChildOptions extends Pick<SpawnOptions, "cwd" | "uid" | "gid"> {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  /** The file to which its output is appended. */
  readonly logFile: string;
}

/** A child process, with its exit as a promise. */
export interface Child {
  readonly pid: number;
  /** Resolves with "exit code 1" or "signal SIGKILL" when the process has exited for any reason. */
  readonly ended: Promise<string>;
  /** False once it has exited. */
  running(): boolean;
  /** Sends `signal`, and SIGKILL if the process still runs after `graceMs`. Resolves when it has exited. */
  stop(signal: NodeJS.Signals, graceMs: number): Promise<void>;
}

/**
 * Starts a process in its own process group: Ctrl-C in the terminal then reaches only the supervisor, which stops its children in order.
 * Throws if the command cannot be started.
 */
export async function startChild({ command, args, logFile, ...options }: ChildOptions): Promise<Child> {
  const log = openLog(logFile);
  const child = spawn(command, args, { ...options, detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  let running = true;
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      running = false;
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  return {
    pid: child.pid ?? 0,
    ended,
    running: () => running,
    async stop(signal, graceMs) {
      if (!running) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The end of a program. */
export interface Ended {
  /** Why it failed, such as "exit code 1"; undefined if it succeeded. */
  readonly problem: string | undefined;
  /** The last characters that it wrote. */
  readonly output: string;
}

/** Runs a program, with a text as its input, until it has exited. It is killed with this process. */
export async function runProgram(
  command: string,
  args: readonly string[],
  {
    input = "",
    ...options
  }: Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid" | "timeout"> & { readonly input?: string },
): Promise<Ended> {
  const child = spawn(command, args, { ...options, killSignal: "SIGKILL", stdio: "pipe" });
  const endChild = (): void => void child.kill("SIGKILL");
  process.once("exit", endChild);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-OUTPUT_CHARS)));
  // A program may exit without reading its input.
  child.stdin.on("error", () => undefined).end(input);
  const problem = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(code === 0 ? undefined : signal === null ? `exit code ${code}` : `ended by ${signal}`),
    );
  });
  process.off("exit", endChild);
  return { problem, output };
}

/** Whether a process with this ID exists (a zombie does not count if it can be detected). */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "Z";
  } catch {
    return false;
  }
}

/** Whether this process may run a file. */
export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The command line of a process, or "" if unknown; needed because a process ID may have been reused. */
export function commandLine(pid: number): string {
  if (!isAlive(pid)) return "";
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout?.trim() ?? "";
  }
}

/** Distinguishes a process from a later one with the same ID: its start time, as the system reports it. "" if there is no such process. */
export function identity(pid: number): string {
  if (!isAlive(pid)) return "";
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Field 22, counted from after the name, which may contain spaces: clock ticks since boot.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${ticks}`;
  } catch {
    return spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).stdout?.trim() ?? "";
  }
}

/** Stops a process whose parent was killed. Resolves when it has exited; throws if it does not exit. */
export async function endStray(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const [attempt, wait] of [
    [signal, graceMs],
    ["SIGKILL", 5000],
  ] as const) {
    if (!isAlive(pid)) return;
    process.kill(pid, attempt);
    for (const until = Date.now() + wait; Date.now() < until && isAlive(pid);) await delay(20);
  }
  if (isAlive(pid)) throw new Error(`Process ${pid} does not stop, not even on SIGKILL.`);
}

/** The last lines of a log file, for messages about a process that did not start. */
export function tail(file: string, lines = 15): string {
  if (!existsSync(file)) return "";
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
}

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && statSync(file).size > LOG_KEPT_BYTES) renameSync(file, `${file}.1`);
  return openSync(file, "a", 0o600);
}
