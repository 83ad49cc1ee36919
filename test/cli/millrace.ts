import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { vi } from "vitest";
import { runCommandLine } from "../../src/cli/command-line.ts";

export const program = fileURLToPath(new URL("../../dist/src/cli-main.js", import.meta.url));

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
type Environment = Readonly<Record<string, string>>;

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs the command line in a folder without the state of `npm start`, inside the test process, because a new process
 * takes a second to start. Calls run one at a time, because they share the environment of the process.
 */
export function millrace(args: readonly string[], environment: Environment = {}): Promise<Outcome> {
  const next = last.then(() => runHere(args, environment));
  last = next.catch(() => undefined);
  return next;
}

/** Runs the command line as a process, for commands that replace their process and for what a shell sees. */
export async function spawnMillrace(args: readonly string[], environment: Environment = {}): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { env, cwd: "/" }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

async function runHere(args: readonly string[], environment: Environment): Promise<Outcome> {
  const { env, argv } = process;
  const folder = process.cwd();
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  process.env = { PATH: env["PATH"], ...environment };
  process.argv = [process.execPath, program, ...args];
  process.chdir("/");
  const print =
    (to: typeof stdout) =>
    (...values: unknown[]) =>
      to.add(`${format(...values)}\n`);
  const spies = [
    vi.spyOn(console, "log").mockImplementation(print(stdout)),
    vi.spyOn(console, "error").mockImplementation(print(stderr)),
  ];
  try {
    const code = await runCommandLine(args);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const each of [stdout, stderr]) each.end();
    process.chdir(folder);
    Object.assign(process, { env, argv });
  }
}

/** Captures the output of this process instead of printing it. */
function capture(stream: NodeJS.WriteStream): { add(text: string): void; text(): string; end(): void } {
  let written = "";
  const { write } = stream;
  const add = (text: string): void => void (written += text);
  stream.write = (chunk: string | Uint8Array) => {
    add(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
    return true;
  };
  return { add, text: () => written, end: () => void (stream.write = write) };
}
