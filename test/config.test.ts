import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { environmentSchema, loadConfig, loadMigrationConfig } from "../src/config.ts";

const load = (more: Record<string, string>) => loadConfig({ DATABASE_URL: "postgres://nowhere/db", ...more });

describe("the configuration", () => {
  it("reads lists of hosts and of proxies", () => {
    const config = load({
      MILLRACE_PRIVATE_HOSTS: "loopback, internal.example:8080,10.0.0.0/8 ,[fd00::5]:443",
      MILLRACE_TRUSTED_PROXIES: "10.0.0.0/8, 192.168.0.7,fd00::/8,::1",
    });
    expect(config.MILLRACE_PRIVATE_HOSTS).toEqual(["loopback", "internal.example:8080", "10.0.0.0/8", "[fd00::5]:443"]);
    expect(config.MILLRACE_TRUSTED_PROXIES).toEqual(["10.0.0.0/8", "192.168.0.7", "fd00::/8", "::1"]);
  });

  it("takes an empty variable for one that is not set", () => {
    expect(load({ MILLRACE_PRIVATE_HOSTS: "", PORT: "" })).toMatchObject({ MILLRACE_PRIVATE_HOSTS: [], PORT: 8080 });
  });

  it("names everything that is not usable at once, and says what is expected", () => {
    const environment = {
      PORT: "http",
      MILLRACE_PRIVATE_HOSTS: "10.0.0.0/99",
      MILLRACE_TRUSTED_PROXIES: "10.0.0.0/8,proxy.example",
      MILLRACE_WEBHOOK_SCHEDULE_MS: "soon",
      MILLRACE_MASTER_KEY: "short",
    };
    expect(() => loadConfig(environment)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          new RegExp(
            [
              "not usable:",
              "  DATABASE_URL: .*",
              "  PORT: .*",
              '  MILLRACE_PRIVATE_HOSTS: "10.0.0.0/99" is not a private host that can be allowed: .*',
              '  MILLRACE_TRUSTED_PROXIES.1: "proxy.example" is neither an address nor a CIDR range such as 10.0.0.0/8',
              "  MILLRACE_MASTER_KEY.0: base64 of 32 bytes is expected .*",
              "  MILLRACE_WEBHOOK_SCHEDULE_MS: 1 to 50 whole numbers with commas between are expected",
            ].join("\n"),
          ),
        ),
      }),
    );
  });

  it("speaks plainly, of whichever setting", () => {
    const wrong = Object.keys(environmentSchema.shape).map((name) => [name, name === "HOST" ? "" : "?! ?"]);
    let message = "";
    try {
      loadConfig(Object.fromEntries(wrong));
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message.split("\n").length).toBeGreaterThan(40);
    expect(() => loadConfig({})).toThrow(/DATABASE_URL: it has to be set, as postgres:/);
    expect(() => load({ PORT: "1.5" })).toThrow(/^[^\n]*\n {2}PORT: a whole number from 0 to 65535 is expected$/);
    // The words of the library that reads it.
    expect(message).not.toMatch(/Invalid|Too (big|small)|received|NaN/);
  });

  const provider = {
    id: "corp",
    name: "Corp",
    issuer: "https://id.example.com",
    client_id: "millrace",
    org_id: "0197F0A0-0000-7000-8000-000000000000",
    default_role: "viewer",
  };

  it("reads identity providers from the variable or from files", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-config-"));
    const [file, secret] = [join(folder, "oidc.json"), join(folder, "secret")];
    writeFileSync(secret, "of a file\n");
    writeFileSync(file, JSON.stringify([{ ...provider, client_secret_file: secret }]));
    const [fromFile] = load({ MILLRACE_OIDC_PROVIDERS: file }).MILLRACE_OIDC_PROVIDERS;
    expect(fromFile).toMatchObject({ client_secret: "of a file", org_id: provider.org_id.toLowerCase() });
    expect(load({ MILLRACE_OIDC_PROVIDERS: JSON.stringify([provider]) }).MILLRACE_OIDC_PROVIDERS).toEqual([
      {
        ...provider,
        org_id: provider.org_id.toLowerCase(),
        client_auth: "basic",
        scopes: ["openid", "email", "profile"],
        groups_claim: "groups",
        roles: {},
        link_by_email: false,
        trust_email: false,
        end_provider_session: false,
      },
    ]);
    expect(() => load({ MILLRACE_OIDC_PROVIDERS: join(folder, "absent") })).toThrow(/cannot be read: ENOENT/);
  });

  it.each<[object, RegExp]>([
    [{ issuer: "http://id.example.com" }, /OIDC_PROVIDERS\.0\.issuer: an https address/],
    [{ issuer: "https://login.microsoftonline.com/common/v2.0" }, /issuer: the address of one tenant/],
    [{ default_role: undefined }, /roles or default_role has to be there/],
    [{ default_role: "owner" }, /default_role: one of member, viewer, editor, admin is expected/],
    [{ id: "Corp" }, /id: 1 to 40 small letters/],
    [{ scopes: ["email"] }, /scopes: openid has to be among them/],
    [{ secret: "misspelt" }, /OIDC_PROVIDERS\.0: /],
  ])("refuses an identity provider with %j", (change, message) => {
    expect(() => load({ MILLRACE_OIDC_PROVIDERS: JSON.stringify([{ ...provider, ...change }]) })).toThrow(message);
  });

  it("refuses two identity providers of one id, and to do without passwords where there is none", () => {
    expect(() => load({ MILLRACE_OIDC_PROVIDERS: JSON.stringify([provider, provider]) })).toThrow(/each id/);
    expect(() => load({ MILLRACE_PASSWORD_SIGN_IN: "false" })).toThrow(/may be false only where/);
  });

  it("reads where blobs are, and says what S3 needs beside it", () => {
    expect(load({}).MILLRACE_BLOB_URL).toEqual({ kind: "file", directory: resolve("./.millrace/blobs") });
    expect(load({ MILLRACE_BLOB_URL: "file:///var/lib/blobs" }).MILLRACE_BLOB_URL).toEqual({
      kind: "file",
      directory: "/var/lib/blobs",
    });
    const s3 = {
      MILLRACE_BLOB_URL: "s3://bucket/a/b/?endpoint=https://minio.example:9000&region=eu",
      MILLRACE_S3_ACCESS_KEY_ID: "id",
      MILLRACE_S3_SECRET_ACCESS_KEY: "secret",
      MILLRACE_MASTER_KEY: Buffer.alloc(32).toString("base64"),
    };
    expect(load(s3).MILLRACE_BLOB_URL).toEqual({
      kind: "s3",
      bucket: "bucket",
      prefix: "a/b",
      region: "eu",
      endpoint: "https://minio.example:9000",
    });
    expect(() => load({ MILLRACE_BLOB_URL: "s3://bucket" })).toThrow(
      /ACCESS_KEY_ID: .*\n.*SECRET_ACCESS_KEY: .*\n {2}MILLRACE_MASTER_KEY: it has to be set where/,
    );
    // In place of keys, a role: by web identity, or what a container is given.
    const { MILLRACE_BLOB_URL, MILLRACE_MASTER_KEY } = s3;
    const bare = { MILLRACE_BLOB_URL, MILLRACE_MASTER_KEY };
    const role = { AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/x", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" };
    expect(load({ ...bare, ...role })).toMatchObject(role);
    expect(() => load({ ...bare, AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/x" })).not.toThrow();
    expect(() => load({ ...bare, AWS_ROLE_ARN: role.AWS_ROLE_ARN })).toThrow(
      /KEY_ID: it has to be set .*, unless AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are\n/,
    );
    expect(() => load({ ...bare, ...role, MILLRACE_S3_ACCESS_KEY_ID: "id" })).toThrow(/SECRET_ACCESS_KEY: it has to/);
    // Migrations ask S3 for nothing, and a job of theirs may have no role.
    expect(loadMigrationConfig({ DATABASE_URL: "postgres://nowhere/db", ...bare })).toHaveProperty("LOG_LEVEL", "info");
    expect(() => loadMigrationConfig({ DATABASE_URL: "postgres://nowhere/db", ...s3, PORT: "http" })).toThrow(/PORT/);
    for (const wrong of [
      "ftp://host/x",
      "s3://",
      "s3://id:secret@bucket",
      "s3://bucket/../x?endpoint=file:///x",
      "s3://bucket?endpoint=https://a.example/path",
      "s3://bucket?acl=public",
    ]) {
      expect(() => load({ ...s3, MILLRACE_BLOB_URL: wrong })).toThrow(/MILLRACE_BLOB_URL/);
    }
  });

  it("has no secret that the Helm chart would take among its plain settings", () => {
    const secrets = Object.keys(environmentSchema.shape).filter((name) =>
      /(^DATABASE_URL|_KEY|_TOKEN|_SECRET|_PASSWORD|_HEADERS)$/.test(name),
    );
    expect(secrets.length).toBeGreaterThan(8);
    const chart = readFileSync(new URL("../deploy/helm/millrace/values.schema.json", import.meta.url), "utf8");
    const { anyOf: refused } = JSON.parse(chart).$defs.config.not as { anyOf: Array<{ required: string[] }> };
    expect(secrets.filter((name) => !refused.some(({ required }) => required.join() === name))).toEqual([]);
  });
});
