import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** State of `npm start` for scripts, in `.millrace/dev.json`. Contains secrets of a demo organisation, hence mode 0600. */
export interface DevState {
  readonly url: string;
  readonly temporal_address: string;
  /** `null` if the Temporal server is external. */
  readonly temporal_ui: string | null;
  readonly database_url: string;
  readonly org_id: string;
  readonly public_key: string;
  readonly secret_key: string;
  readonly admin_email: string;
  readonly admin_password: string;
  /** Maps the name of each example flow to its project. */
  readonly projects: Readonly<Record<string, string>>;
}

/** The folder of `npm start`: databases, blobs, logs, keys. */
export function stateDirectory(): string {
  return join(process.cwd(), ".millrace");
}

/** Reads a JSON file of the state folder; undefined if the file is missing or cannot be read. */
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

/** The state of the current or last `npm start` in this folder. */
export function readDevState(directory: string = stateDirectory()): DevState | undefined {
  return readState<DevState>(join(directory, "dev.json"));
}
