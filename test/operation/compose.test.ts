import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { environmentSchema } from "../../src/config.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { composeText, environmentOf, rawCompose, readCompose, serviceOf } from "../support/compose-file.ts";
import { CHECKOUT, commandOf, copiesOf, stageOf, textsOf } from "../support/dockerfile.ts";
import { bareServer, MIGRATIONS } from "../support/own-postgres.ts";
import { findPostgresTools, serverForTools } from "../support/postgres-tools.ts";

const PASSWORDS = ["POSTGRES_PASSWORD", "POSTGRES_MILLRACE_PASSWORD", "POSTGRES_TEMPORAL_PASSWORD"];
const SECRETS = [...PASSWORDS, "MILLRACE_MASTER_KEY"];
const dotenv = (more: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ...Object.fromEntries(SECRETS.map((name) => [name, `sesame-of-${name}`])), ...more })
    .map(([name, value]) => `${name}='${value}'\n`)
    .join("");
const { services, configs } = rawCompose();
const OURS = ["migrate", "api", "worker"] as const;
const ours = OURS.map((name) => [name, serviceOf(rawCompose(), name)] as const);
const tools = findPostgresTools();

describe("docker-compose.yml", () => {
  it("has no default password, and names a missing one with the page that explains it", () => {
    const passwords = [...composeText.matchAll(/\$\{(\w*PASSWORD\w*)([^}]*)\}/g)];
    expect(new Set(passwords.map(([, name]) => name))).toEqual(new Set(PASSWORDS));
    for (const [, , otherwise] of passwords) expect(otherwise).toBe(":?Set it in .env (docs/operation.md, Installing)");
    const page = readFileSync(new URL("../../docs/operation.md", import.meta.url), "utf8");
    for (const [, name] of passwords) expect(page).toContain(name);
    // The file contains no literal password.
    expect(composeText).not.toMatch(/password: *['"]?\w|:\/\/\w+:\w+@/i);
    for (const secret of SECRETS)
      expect(() => readCompose(dotenv({ [secret]: "" }))).toThrow(`${secret}: Set it in .env`);
    const secret = /\$\{(\w*(?:KEY|SECRET|TOKEN|PASSWORD)\w*)(?::-|-)[^}]/;
    expect(secret.exec(composeText)?.[1]).toBeUndefined();
  });

  it("is valid under the Compose Specification", () => {
    const schema = JSON.parse(
      readFileSync(join(CHECKOUT, "test/fixtures/compose/compose-spec.json"), "utf8"),
    ) as Record<string, unknown>;
    // Ajv knows draft 7 under another URL.
    delete schema["$schema"];
    const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
    const problems = (text: string): string[] => {
      validate(parse(text, { merge: true }));
      return (validate.errors ?? []).map(({ instancePath }) => instancePath);
    };
    expect(problems(composeText)).toEqual([]);
    expect(problems(composeText.replace("service_completed_successfully", "service_done"))).toContain(
      "/services/api/depends_on/migrate/condition",
    );
    expect(problems(composeText.replace("    ports:", "    port:"))).not.toEqual([]);
  });

  it("waits until services are healthy, and until one-off services have finished", () => {
    const dependencies = Object.values(services).flatMap((service) => Object.entries(service.depends_on ?? {}));
    expect(dependencies.length).toBeGreaterThan(4);
    for (const [name, { condition }] of dependencies) {
      const { healthcheck, restart } = services[name] ?? { restart: "not there" };
      if (condition === "service_completed_successfully") expect([name, restart]).toEqual([name, "no"]);
      else {
        expect([name, condition]).toEqual([name, "service_healthy"]);
        expect(healthcheck?.test?.[0]).toMatch(/^CMD(-SHELL)?$/);
      }
    }
    expect(Object.keys(services["api"]?.depends_on ?? {})).toEqual(["migrate", "temporal"]);
    expect(services["worker"]?.depends_on).toEqual(services["api"]?.depends_on);
    // The API and the worker use the health check of the image.
    for (const name of ["api", "worker"]) expect(services[name]?.healthcheck).toBeUndefined();
    expect(commandOf(stageOf(undefined), "HEALTHCHECK").slice(0, 2)).toEqual(["node", "-e"]);
  });

  it("starts only programs that the image contains", () => {
    const copied = copiesOf(stageOf(undefined)).map(({ target }) => target);
    for (const [name, { command = [], build, image }] of ours) {
      expect([build, image, command[0]]).toEqual([".", "millrace", "node"]);
      const program = command[1] ?? "";
      expect(program).toBe(`dist/src/${name}-main.js`);
      expect(copied).toContain(program.split("/")[0]);
      expect(existsSync(join(CHECKOUT, program)), program).toBe(true);
    }
    for (const [, command = ""] of composeText.matchAll(/docker compose exec \w+ node (\S+)/g))
      expect([copied.includes(command.split("/")[0] ?? ""), existsSync(join(CHECKOUT, command))]).toEqual([true, true]);
  });

  it("limits the resources of each service, and gives Millrace's own services no privileges and no writable paths but volumes", () => {
    for (const [name, service] of Object.entries(services))
      expect([name, service.mem_limit]).toEqual([name, expect.stringMatching(/^\d+[gm]$/)]);
    for (const name of [...OURS, "backup"]) {
      const { read_only, cap_drop, security_opt, tmpfs, pids_limit } = serviceOf(rawCompose(), name);
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        name,
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
      // Without capabilities, a process cannot write to a folder that only root may write to.
      expect(tmpfs).toEqual([expect.stringMatching(/^\/tmp:size=\d+m,mode=1777$/)]);
      expect(pids_limit).toBeGreaterThan(100);
    }
  });

  it("keeps backups in a separate volume that the image's user can write, and the master key in no volume", () => {
    const { command = [], volumes = [], profiles, environment } = serviceOf(readCompose(dotenv()), "backup");
    expect([profiles, volumes]).toEqual([["backup"], ["blobs:/var/lib/millrace", "backups:/var/backups/millrace"]]);
    expect(Object.keys(rawCompose().volumes)).toContain("backups");
    expect(textsOf(stageOf(undefined), "RUN").join()).toMatch(/chown -R node:node .*\/var\/backups\/millrace/);
    // The container's command, with the program's name replaced.
    const [shell = "", option = "", script = ""] = command;
    const said = spawnSync(shell, [option, script.replace("exec node", "exec echo")], { encoding: "utf8" }).stdout;
    expect(said).toMatch(/^bin\/millrace\.mjs backup \/var\/backups\/millrace\/\d{4}-\d\d-\d\dT\d{6}Z\n$/);
    expect(environment["MILLRACE_MASTER_KEY"]).toBe("sesame-of-MILLRACE_MASTER_KEY");
  });

  it("can run any number of workers, and publishes each host port once", () => {
    const { container_name, ports, ...worker } = services["worker"] ?? {};
    expect([container_name, ports, worker]).toEqual([
      undefined,
      undefined,
      expect.not.objectContaining({ deploy: {} }),
    ]);
    const published = Object.values(readCompose(dotenv()).services).flatMap((service) => service.ports ?? []);
    expect(published).toEqual(["127.0.0.1:8233:8080", "8080:8080"]);
    const { services: moved } = readCompose(dotenv({ PORT: "9000" }));
    expect(moved["api"]?.ports).toEqual(["9000:8080"]);
    // The API listens on the container port that compose publishes, and links use the host's port.
    const environment = environmentOf("api", dotenv({ PORT: "9000" }));
    expect([environment["PORT"], environment["MILLRACE_PUBLIC_URL"]]).toEqual(["8080", "http://localhost:9000"]);
    expect(textsOf(stageOf(undefined), "EXPOSE")).toEqual(["8080"]);
  });

  it("sets only variables that the processes read", () => {
    for (const [, { environment }] of ours) {
      const names = Object.keys(environment).filter((name) => !PASSWORDS.includes(name));
      expect(Object.keys(environmentSchema.shape)).toEqual(expect.arrayContaining(names));
    }
  });

  it("lets .env set every variable except the addresses and ports of the services", () => {
    const settings = Object.keys(environmentSchema.shape);
    const text = dotenv(Object.fromEntries(settings.map((name) => [name, `of-${name}`])));
    const fixed = ["DATABASE_URL", "TEMPORAL_ADDRESS"];
    const own = { migrate: [], api: ["PORT", "MILLRACE_METRICS_PORT"], worker: ["PORT", "MILLRACE_WORKER_PORT"] };
    for (const name of OURS) {
      const environment = environmentOf(name, text);
      const elsewhere = settings.filter((setting) => environment[setting] !== `of-${setting}`);
      expect(elsewhere.toSorted()).toEqual([...fixed, ...own[name]].toSorted());
      // Passwords of other roles and of the superuser must not appear here.
      for (const password of PASSWORDS) expect(environment[password]).toBe("");
      expect(JSON.stringify(environment)).not.toMatch(/sesame-of-POSTGRES_(?:TEMPORAL_)?PASSWORD/);
    }
  });

  it.skipIf(typeof tools !== "string")(
    `has services that are not superusers and are subject to row policies${typeof tools === "string" ? "" : `: ${tools.no}`}`,
    async () => {
      const folder = typeof tools === "string" ? tools : "";
      const server = await bareServer("mill'race", await serverForTools(folder));
      onTestFinished(() => server.close());
      const logins = [
        new URL((services["api"]?.environment["DATABASE_URL"] ?? "").replaceAll(/\$\{.*?\}/g, "x")).username,
        services["temporal"]?.environment["POSTGRES_USER"],
      ];
      expect(logins).not.toContain(services["postgres"]?.environment["POSTGRES_USER"]);

      // Runs the script as the image does, but without pgvector, which this server lacks.
      const sql = (configs["postgres-roles"]?.content ?? "").replace(/^create extension .*vector;$/m, "");
      const set = spawnSync(join(folder, "psql"), ["--no-psqlrc", "--set=ON_ERROR_STOP=1", server.admin], {
        input: sql,
        encoding: "utf8",
        env: { POSTGRES_MILLRACE_PASSWORD: "mill'race", POSTGRES_TEMPORAL_PASSWORD: "temporal" },
      });
      expect([set.status, set.stderr]).toEqual([0, ""]);
      await migrate(server.url, MIGRATIONS);
      const database = openDatabase({
        url: server.url,
        poolSize: 2,
        applicationName: "test",
        onError: () => undefined,
      });
      onTestFinished(() => database.close());
      await database.verify();
      const roles = await database.system((db) =>
        db.query(
          "select rolname, rolsuper or rolbypassrls as exempt, rolcreatedb from pg_roles where rolname = any ($1) order by 1",
          [logins],
        ),
      );
      expect(roles).toEqual([
        { rolname: "millrace", exempt: false, rolcreatedb: false },
        { rolname: "temporal", exempt: false, rolcreatedb: true },
      ]);
    },
  );
});
