import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { apiClient } from "../cli/api-client.ts";
import { invocation, quoted } from "../cli/shell.ts";
import { readDevState, stateDirectory, writeState, type DevState } from "../cli/dev-state.ts";
import { loadConfig } from "../config.ts";
import { createSignInLink } from "../services/accounts/sessions.ts";
import { findUsersByAddress } from "../stores/accounts/users.ts";
import { openDatabase, type Database } from "../stores/db.ts";
import { migrate } from "../stores/migrate.ts";
import {
  deployExamples,
  deploySearchingExamples,
  ensureAccounts,
  type DeployedExamples,
  type ExamplesOptions,
} from "./demo.ts";
import { fetchModel } from "./embedding-model.ts";
import { lockState, type StateLock } from "./lock.ts";
import { PACKAGE_ROOT } from "./package-root.ts";
import { startModelStub, STUB_MODEL } from "./model-stub.ts";
import { claimPort } from "./ports.ts";
import { usePostgres, useTemporal, type Server } from "./servers.ts";
import { startServicePart } from "./service-part.ts";
import { showExample } from "./show-example.ts";
import { createStopper, type Stopper } from "./stopper.ts";
import { supervise, type Part } from "./supervisor.ts";

const API_PORT = 8080;
const GRACE_MS = 3000;

const say = (line: string): void => console.log(line);

/**
 * Runs all of Millrace on this machine until a signal: database, Temporal, api and worker, each as a separate process, as
 * in production. State stays in ./.millrace. Throws when another instance runs there or a part does not start.
 */
export async function dev(): Promise<void> {
  const since = Date.now();
  // The environment is passed on to api and worker, so it is validated before anything is started.
  loadConfig({ ...process.env, DATABASE_URL: process.env["DATABASE_URL"] || "postgres://embedded" });
  const directory = stateDirectory();
  mkdirSync(directory, { recursive: true });
  say(`Millrace on Node ${process.versions.node}; state in ${relative(process.cwd(), directory) || "."}`);
  const lock = await lockState(directory, say);
  const stopper = createStopper(say, () => lock.killChildren());
  stopper.add("lock", () => lock.release());
  try {
    const state = await startAll(directory, lock, stopper);
    say(`\nMillrace is ready after ${seconds(since)}, at ${state.url}. Ctrl-C stops it.`);
  } catch (error) {
    if (!stopper.stopping()) {
      await stopper.stop("it did not start");
      throw error;
    }
  }
  await stopper.stopped;
}

async function startAll(directory: string, lock: StateLock, stopper: Stopper): Promise<DevState> {
  const last = readDevState(directory);
  const options = { directory, say, note: (name: string, pid: number) => lock.note(name, pid) };
  const server = async <S extends Server<unknown>>(use: Promise<S>): Promise<S> => {
    const started = await stopper.starting(use);
    stopper.add("servers", () => started.stop());
    return started;
  };
  // In parallel, because neither needs the other. In the background, because knowledge bases work without the model.
  const model = provideModel();
  const [postgres, temporal] = await together(
    step("PostgreSQL", () => server(usePostgres(options)), descriptionOf),
    step("Temporal", () => server(useTemporal(options)), descriptionOf),
  );
  mustGoOn(stopper);
  await step(
    "migrations",
    () => stopper.starting(migrate(postgres.address, join(PACKAGE_ROOT, "migrations"))),
    ({ applied }) => (applied.length === 0 ? "up to date" : `${applied.length} applied`),
  );
  const accounts = await step(
    "accounts",
    () => stopper.starting(withDatabase(postgres.address, (database) => ensureAccounts(database, last))),
    ({ org_id, created }) => `organisation demo ${org_id}${created ? ", created" : ""}`,
  );
  mustGoOn(stopper);
  const services = await startServices(
    directory,
    { database: postgres.address, temporal: temporal.address.address },
    lock,
    stopper,
  );

  const { created: _, ...held } = accounts;
  const state: DevState = {
    url: services.url,
    temporal_address: temporal.address.address,
    temporal_ui: temporal.address.ui,
    database_url: postgres.address,
    ...held,
    projects: last?.org_id === accounts.org_id ? last.projects : {},
  };
  const stateFile = join(directory, "dev.json");
  writeState(stateFile, state);
  const examples = await demonstrate(directory, state);
  const complete = { ...state, projects: { ...state.projects, ...examples?.projects } };
  writeState(stateFile, complete);
  void demonstrateSearch(directory, complete, model, stopper);
  const here = (path: string): string => relative(process.cwd(), path);
  say(`\nConsole             ${await consoleAddress(state)}`);
  say(`API reference       ${state.url}/docs`);
  if (state.temporal_ui !== null) say(`Temporal UI         ${state.temporal_ui}`);
  say(`API keys            ${here(stateFile)}`);
  say(`Logs                ${here(join(directory, "logs"))}`);
  return complete;
}

/** The console's URL; on a terminal it includes a link that signs in once, which must not end up in a file with the output. */
async function consoleAddress({ url, database_url, admin_email, org_id }: DevState): Promise<string> {
  if (!process.stdout.isTTY) return `${url}/console`;
  const secret = await withDatabase(database_url, async (database) => {
    const [user] = await database.system((db) => findUsersByAddress(db, admin_email.toLowerCase(), org_id));
    return user === undefined ? null : createSignInLink(database, user);
  });
  return secret === null ? `${url}/console` : `${url}/console#link=${secret}  (signs in once, within 15 minutes)`;
}

async function provideModel(): Promise<void> {
  const configured = process.env["MILLRACE_EMBEDDING_MODEL_DIR"] || undefined;
  const model = await fetchModel({ say, configured }).catch((error: Error) => ({ no: error.message }));
  if ("no" in model) say(model.no);
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, poolSize: 2, applicationName: "millrace-dev", onError: () => undefined });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function startServices(
  directory: string,
  servers: { readonly database: string; readonly temporal: string },
  lock: StateLock,
  stopper: Stopper,
): Promise<{ url: string }> {
  const wanted = process.env["PORT"] ? Number(process.env["PORT"]) : undefined;
  const port = await claimPort(wanted === 0 ? undefined : (wanted ?? API_PORT));
  if (wanted !== undefined && wanted !== 0 && port !== wanted)
    throw new Error(`PORT=${wanted} is in use by another program.`);
  const workerPort = await claimPort(API_PORT + 1);
  const url = `http://127.0.0.1:${port}`;
  const shared: NodeJS.ProcessEnv = {
    MILLRACE_BLOB_URL: join(directory, "blobs"),
    MILLRACE_PUBLIC_URL: url,
    MILLRACE_SHUTDOWN_GRACE_MS: String(GRACE_MS),
    // No load balancer distributes requests here, so there is no drain time.
    MILLRACE_DRAIN_MS: "0",
    // Only for development: example flows call this server, and webhook receivers run on this machine.
    MILLRACE_PRIVATE_HOSTS: "loopback",
    HOST: "127.0.0.1",
    ...process.env,
    DATABASE_URL: servers.database,
    TEMPORAL_ADDRESS: servers.temporal,
    PORT: String(port),
  };
  if (!shared["MILLRACE_MODEL_URL"]) {
    const stub = await stopper.starting(startModelStub());
    stopper.add("services", () => stub.close());
    shared["MILLRACE_MODEL_URL"] = `${stub.url}/v1`;
    shared["MILLRACE_MODEL"] = STUB_MODEL;
    say("  model-stub            no model is configured (MILLRACE_MODEL_URL): model nodes get scripted answers");
  }
  const graceMs = Number(shared["MILLRACE_DRAIN_MS"]) + Number(shared["MILLRACE_SHUTDOWN_GRACE_MS"]) + 2000;
  const part = (name: "api" | "worker", env: NodeJS.ProcessEnv, readyUrl: string): Promise<void> => {
    const logFile = join(directory, "logs", `${name}.log`);
    const start = () => startServicePart({ name, env, readyUrl, logFile, graceMs });
    const begin = async (): Promise<Part> => {
      const supervised = await stopper.starting(
        supervise({ name, say, start, onStart: ({ pid }) => lock.note(name, pid) }),
      );
      stopper.add("services", () => supervised.stop());
      return supervised.first;
    };
    return step(name, begin, ({ pid }) => (name === "api" ? url : `process ${pid}`)).then(() => undefined);
  };
  await together(
    part("api", shared, `${url}/readyz`),
    part("worker", { ...shared, MILLRACE_WORKER_PORT: String(workerPort) }, `http://127.0.0.1:${workerPort}/healthz`),
  );
  mustGoOn(stopper);
  const reach = shared["MILLRACE_PRIVATE_HOSTS"];
  if (reach)
    say(
      `Flows and webhooks can reach these private addresses: ${reach} (MILLRACE_PRIVATE_HOSTS). In production none are allowed unless you configure them.`,
    );
  return { url };
}

/** Deploys and runs the examples. A failure is printed; the servers keep running. */
async function demonstrate(directory: string, state: DevState): Promise<DeployedExamples | undefined> {
  try {
    const examples = await step(
      "examples",
      () => deployExamples(examplesOptions(directory, state)),
      ({ sent, projects }) =>
        sent.length === 0 ? `${Object.keys(projects).length} flows, unchanged` : `${sent.length} sent`,
    );
    for (const line of examples.sent) say(`                ${line}`);
    if (examples.shown !== undefined) await showExample(examples.shown, state, say);
    return examples;
  } catch (error) {
    say(`Deploying the examples failed: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/**
 * Deploys the examples that search, once it is known whether the model is available. Runs in the background, and does not wait for
 * indexing.
 */
async function demonstrateSearch(
  directory: string,
  state: DevState,
  model: Promise<void>,
  stopper: Stopper,
): Promise<void> {
  try {
    await model;
    const { projects, flows } = await deploySearchingExamples(examplesOptions(directory, state));
    writeState(join(directory, "dev.json"), { ...state, projects: { ...state.projects, ...projects } });
    for (const { name, examples } of flows) {
      const inputs = Object.entries(examples?.[0]?.inputs ?? {}).map(([id, value]) => quoted(`${id}=${String(value)}`));
      say(`\nThe flow ${name} searches documents, which are being indexed. Try it:`);
      say(`  ${invocation()} run ${name} ${inputs.map((input) => `--input ${input}`).join(" ")}`);
    }
  } catch (error) {
    if (stopper.stopping()) return;
    say(`The document search examples failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const examplesOptions = (directory: string, state: DevState): ExamplesOptions => ({
  api: apiClient({ url: state.url, key: state.secret_key }),
  url: state.url,
  org_id: state.org_id,
  examples: join(PACKAGE_ROOT, "examples"),
  stateFile: join(directory, "examples.json"),
});

const descriptionOf = ({ description }: Server<unknown>): string => description;

/** Both results; rejects only after both have settled. */
async function together<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

/** Thrown when a signal arrives during the start, while everything that was started is being stopped. */
function mustGoOn(stopper: Stopper): void {
  if (stopper.stopping()) throw new Error("stopped while starting");
}

/** Runs one step and prints its name, result and duration. */
async function step<T>(name: string, work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
  const since = Date.now();
  const result = await work();
  say(`  ${name.padEnd(12)}  ${seconds(since).padStart(6)}  ${describe(result)}`);
  return result;
}

const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;
