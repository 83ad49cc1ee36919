import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claimPort } from "../../src/dev/ports.ts";
import { eventually } from "./scratch.ts";

const PATHS = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/** The PgBouncer program of the system, or else, as root on Debian, installed once. */
export function findPgBouncer(): string | { readonly no: string } {
  return find() ?? install() ?? { no: "skipped: there is no pgbouncer, and apt-get cannot install it" };
}

function find(): string | undefined {
  return PATHS.find((path) => existsSync(path));
}

function install(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  console.error("Installing PgBouncer for the tests of poolers.");
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "pgbouncer"]]) {
    // Run level 1 prevents Debian from starting the service, whose port may be in use.
    const env = { ...process.env, RUNLEVEL: "1", DEBIAN_FRONTEND: "noninteractive" };
    if (spawnSync("apt-get", ["-qq", ...args], { stdio: "ignore", env }).status !== 0) return undefined;
  }
  return find();
}

export interface PgBouncer {
  /** URL of the database behind the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a PgBouncer in front of the database at `url`, with these additional settings. */
export async function startPgBouncer(
  program: string,
  url: string,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer> {
  const { hostname, port, username, password } = new URL(url);
  const dir = mkdtempSync(join(tmpdir(), "millrace-pgbouncer-"));
  chmodSync(dir, 0o755);
  const own = await claimPort();
  const users = join(dir, "users.txt");
  writeFileSync(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`, { mode: 0o644 });
  const lines = {
    listen_addr: "127.0.0.1",
    listen_port: own,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: users,
  };
  const text = Object.entries({ ...lines, ...settings }).map(([name, value]) => `${name} = ${value}`);
  const file = join(dir, "pgbouncer.ini");
  writeFileSync(file, ["[databases]", `* = host=${hostname} port=${port}`, "[pgbouncer]", ...text, ""].join("\n"));
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(program, [...user, file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await eventually(`PgBouncer listens: ${said}`, () => listens(own));
  const pooled = new URL(url);
  pooled.host = `127.0.0.1:${own}`;
  return {
    url: pooled.href,
    async close() {
      child.kill("SIGKILL");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
