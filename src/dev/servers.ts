import { join } from "node:path";
import { startPostgres, type RunningPostgres } from "./postgres.ts";
import { supervise, type Part, type Supervised } from "./supervisor.ts";
import { findTemporal } from "./temporal-binary.ts";
import { startTemporal, untilTemporalAnswers, type RunningTemporal } from "./temporal.ts";

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
  const dir = join(options.directory, "postgres");
  const supervised = await superviseServer<RunningPostgres>("PostgreSQL", options, (last) =>
    startPostgres({ dir, port: last?.port ?? PORTS.postgres }),
  );
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
  const dir = join(options.directory, "temporal");
  const supervised = await superviseServer<RunningTemporal>("Temporal", options, (last) => {
    const { port, uiPort } = last ?? { port: PORTS.temporal, uiPort: PORTS.temporalUi };
    return startTemporal({ binary, dir, port, uiPort });
  });
  const { address, ui } = supervised.first;
  return { address: { address, ui }, description: `${address}, binary ${binary}`, stop: () => supervised.stop() };
}

/** Api and worker keep the address that they were started with, so a restarted server must use the same port. */
function superviseServer<P extends Part & { readonly port: number }>(
  name: string,
  { say, note }: ServerOptions,
  start: (last: P | undefined) => Promise<P>,
): Promise<Supervised<P>> {
  return supervise<P>({
    name,
    say,
    onStart: ({ pid }) => note(name, pid),
    async start(last) {
      const part = await start(last);
      if (last === undefined || part.port === last.port) return part;
      await part.stop();
      throw new Error(`port ${last.port} is in use now`);
    },
  });
}
