import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { hasOpenssl, makeCertificate } from "../support/certificate.ts";
import { administer, cloneDatabase } from "../support/database.ts";
import { as, MIGRATIONS } from "../support/own-postgres.ts";
import { startTlsPostgres } from "../support/postgres-tls.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  clone = await cloneDatabase();
});
afterAll(() => clone?.drop());

async function late(ms: number, message: string): Promise<never> {
  await setTimeout(ms, undefined, { ref: false });
  throw new Error(message);
}

function open(url: string): Database {
  const database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
  onTestFinished(() => database.close());
  return database;
}

it("the password file is read for every connection", async () => {
  const role = `token_${randomBytes(6).toString("hex")}`;
  const { adminUrl } = inject("millrace");
  await administer(adminUrl, `create role ${role} superuser login password 'first'`);
  onTestFinished(() => administer(adminUrl, `drop role ${role}`));
  const file = join(scratchDirectory(), "token");
  const address = new URL(as(clone.url, role, "unused"));
  address.searchParams.set("password_file", file);
  const url = address.href;

  await expect(open(url).ping()).rejects.toThrow("ENOENT");
  // Dropping the database would wait for a session that has not sent its password.
  const another = await cloneDatabase();
  await Promise.race([another.drop(), late(20_000, "a session was left behind")]);
  writeFileSync(file, "wrong\n");
  await expect(open(url).ping()).rejects.toThrow("password authentication failed");
  writeFileSync(file, "first\n");
  const database = open(url);
  await database.verify();
  let heard = 0;
  const listening = database.listen(
    "renewed",
    () => undefined,
    () => (heard += 1),
  );
  onTestFinished(() => listening.close());
  await eventually("it listens", () => heard === 1);
  expect((await migrate(url, MIGRATIONS)).applied).toEqual([]);

  // The password is renewed like a token: open connections continue, and new ones use the new password.
  await administer(adminUrl, `alter role ${role} password 'second'`);
  writeFileSync(file, "second");
  await database.ping();
  await administer(adminUrl, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
  await eventually("it is connected again", () =>
    database.ping().then(
      () => true,
      () => false,
    ),
  );
  await eventually("it listens again", () => heard === 2);
  await database.verify();
  rmSync(file);
  await expect(open(url).ping()).rejects.toThrow("ENOENT");
});

it.skipIf(!hasOpenssl)(
  "the driver sends its certificate if the server asks for one, and verifies the server's",
  async () => {
    const authority = makeCertificate("authority");
    const [server, own] = [makeCertificate("localhost", authority), makeCertificate("millrace", authority)];
    const folder = scratchDirectory();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const target = new URL(clone.url);
    const postgres = await startTlsPostgres(
      { host: target.hostname, port: Number(target.port) },
      { ...server, clientAuthority: authority.cert },
    );
    onTestFinished(() => postgres.close());
    const address = (parameters: Record<string, string>): string => {
      const url = new URL(clone.url);
      [url.hostname, url.port] = ["localhost", String(postgres.port)];
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    };
    const trusted = { sslmode: "verify-full", sslrootcert: file("ca.pem", authority.cert) };
    const certified = { ...trusted, sslcert: file("tls.crt", own.cert), sslkey: file("tls.key", own.key) };
    await open(address(certified)).verify();
    expect((await migrate(address(certified), MIGRATIONS)).applied).toEqual([]);
    await expect(open(address(trusted)).ping()).rejects.toThrow();
    const stranger = { sslrootcert: file("stranger.pem", makeCertificate("stranger").cert) };
    await expect(open(address({ ...certified, ...stranger })).ping()).rejects.toThrow(/certificate|issuer/);
  },
);
