import { join } from "node:path";
import { startPostgres } from "./postgres.ts";
import type { RunningPostgres } from "./postgres.ts";
import { supervise } from "./supervisor.ts";
import { findTemporal } from "./temporal-binary.ts";
import { startTemporal, untilTemporalAnswers } from "./temporal.ts";
import type { RunningTemporal } from "./temporal.ts";

const PORTS = { postgres: 54_320, temporal: 7233, temporalUi: 8233 };

export interface ServerOptions {
  readonly directory: string;
  readonly say: (line: string) => void;
  /** Called with the process ID of every server that starts, also after restarts. */
  readonly note: (name: string, pid: number) => void;
}

/** A server that api and worker need: started here, or named in the environment. */
export interface Server<Address> {
  readonly address: Address;
  /** A description for the terminal. */
  readonly description: string;
  stop(): Promise<void>;
}

/** The database: `DATABASE_URL`, or the embedded PostgreSQL in the state folder. */
export async function usePostgres(options: ServerOptions): Promise<Server<string>> {
  const given = process.env["DATABASE_URL"];
  if (given) return { address: given, description: "yours (DATABASE_URL)", stop: async () => undefined };
  const supervised = await supervise<RunningPostgres>({
    name: "PostgreSQL",
    say: options.say,
    onStart: (part) => options.note("PostgreSQL", part.pid),
    // Api and worker keep the URL that they were started with, so a restarted server must use the same port.
    start: async (last) =>
      samePort(
        await startPostgres({ dir: join(options.directory, "postgres"), port: last?.port ?? PORTS.postgres }),
        last,
      ),
  });
  return {
    address: supervised.first.url,
    description: `127.0.0.1:${supervised.first.port}`,
    stop: () => supervised.stop(),
  };
}

export interface TemporalAddress {
  readonly address: string;
  readonly ui: string | null;
}

/** Temporal: `TEMPORAL_ADDRESS`, or a development server with its database in the state folder. */
export async function useTemporal(options: ServerOptions): Promise<Server<TemporalAddress>> {
  const given = process.env["TEMPORAL_ADDRESS"];
  if (given) {
    // Only an address without TLS and API key is checked here; api and worker check others themselves.
    const plain = !process.env["TEMPORAL_API_KEY"] && !process.env["TEMPORAL_TLS"];
    const problem = plain ? await untilTemporalAnswers(given, 10_000) : undefined;
    if (problem !== undefined)
      throw new Error(`The Temporal server at TEMPORAL_ADDRESS=${given} does not respond: ${problem}`);
    return {
      address: { address: given, ui: null },
      description: `yours (TEMPORAL_ADDRESS=${given})`,
      stop: async () => undefined,
    };
  }
  const binary = await findTemporal({ say: options.say });
  const supervised = await supervise<RunningTemporal>({
    name: "Temporal",
    say: options.say,
    onStart: (part) => options.note("Temporal", part.pid),
    start: async (last) => {
      const dir = join(options.directory, "temporal");
      const wanted = last ?? { port: PORTS.temporal, uiPort: PORTS.temporalUi };
      return samePort(await startTemporal({ binary, dir, port: wanted.port, uiPort: wanted.uiPort }), last);
    },
  });
  const { address, ui } = supervised.first;
  return { address: { address, ui }, description: `${address}, binary ${binary}`, stop: () => supervised.stop() };
}

async function samePort<P extends { readonly port: number; stop(): Promise<void> }>(
  part: P,
  last: P | undefined,
): Promise<P> {
  if (last === undefined || part.port === last.port) return part;
  await part.stop();
  throw new Error(`port ${last.port} is in use now`);
}
