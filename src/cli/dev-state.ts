import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** State of `npm start` for scripts, in `.millrace/dev.json`. Holds secrets of a demo organisation: mode 0600. */
export interface DevState {
  readonly url: string;
  readonly temporal_address: string;
  /** Null when the Temporal server is external. */
  readonly temporal_ui: string | null;
  readonly database_url: string;
  readonly org_id: string;
  readonly public_key: string;
  readonly secret_key: string;
  readonly admin_email: string;
  readonly admin_password: string;
  /** Name of each example flow → its project. */
  readonly projects: Readonly<Record<string, string>>;
}

/** Where `npm start` keeps its state: databases, blobs, logs, keys. */
export function stateDirectory(): string {
  return join(process.cwd(), ".millrace");
}

/** Reads a JSON file of the state folder; undefined when there is none, or none that can be read. */
export function readState<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

/** Replaces a JSON file of the state folder atomically; only its owner may read it. */
export function writeState(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(fresh, file);
}

/** The state of the `npm start` that runs, or last ran, in this folder. */
export function readDevState(directory: string = stateDirectory()): DevState | undefined {
  return readState<DevState>(join(directory, "dev.json"));
}
