import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { environmentSchema, loadConfig, loadMigrationConfig } from "../src/config.ts";

const load = (more: Record<string, string>) => loadConfig({ DATABASE_URL: "postgres://nowhere/db", ...more });

describe("the configuration", () => {
  it("reads lists of hosts and proxies", () => {
    const config = load({
      MILLRACE_PRIVATE_HOSTS: "loopback, internal.example:8080,10.0.0.0/8 ,[fd00::5]:443",
      MILLRACE_TRUSTED_PROXIES: "10.0.0.0/8, 192.168.0.7,fd00::/8,::1",
    });
    expect(config.MILLRACE_PRIVATE_HOSTS).toEqual(["loopback", "internal.example:8080", "10.0.0.0/8", "[fd00::5]:443"]);
    expect(config.MILLRACE_TRUSTED_PROXIES).toEqual(["10.0.0.0/8", "192.168.0.7", "fd00::/8", "::1"]);
  });

  it("treats an empty variable as unset", () => {
    expect(load({ MILLRACE_PRIVATE_HOSTS: "", PORT: "" })).toMatchObject({ MILLRACE_PRIVATE_HOSTS: [], PORT: 8080 });
  });

  it("names every invalid variable in one error, with the expected value", () => {
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
              "not valid:",
              "  DATABASE_URL: .*",
              "  PORT: .*",
              '  MILLRACE_PRIVATE_HOSTS: "10.0.0.0/99" is not a private host that can be allowed: .*',
              '  MILLRACE_TRUSTED_PROXIES.1: "proxy.example" is neither an IP address nor a CIDR range such as 10.0.0.0/8',
              "  MILLRACE_MASTER_KEY.0: must be base64 of 32 bytes .*",
              "  MILLRACE_WEBHOOK_SCHEDULE_MS: must be 1 to 50 whole numbers, separated by commas",
            ].join("\n"),
          ),
        ),
      }),
    );
  });

  it("uses plain words in the error of every setting", () => {
    const wrong = Object.keys(environmentSchema.shape).map((name) => [name, name === "HOST" ? "" : "?! ?"]);
    let message = "";
    try {
      loadConfig(Object.fromEntries(wrong));
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message.split("\n").length).toBeGreaterThan(40);
    expect(() => loadConfig({})).toThrow(/DATABASE_URL: required: set it to postgres:/);
    expect(() => load({ PORT: "1.5" })).toThrow(/^[^\n]*\n {2}PORT: must be a whole number from 0 to 65535$/);
    // Messages must not contain words of the validation library.
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
    [{ issuer: "http://id.example.com" }, /OIDC_PROVIDERS\.0\.issuer: must be an https URL/],
    [{ issuer: "https://login.microsoftonline.com/common/v2.0" }, /issuer: must be the URL of one tenant/],
    [{ default_role: undefined }, /set roles or default_role/],
    [{ default_role: "owner" }, /default_role: must be one of member, viewer, editor, admin/],
    [{ id: "Corp" }, /id: must be 1 to 40 lowercase letters/],
    [{ scopes: ["email"] }, /scopes: must include openid/],
    [{ secret: "misspelt" }, /OIDC_PROVIDERS\.0: /],
  ])("rejects an identity provider with %j", (change, message) => {
    expect(() => load({ MILLRACE_OIDC_PROVIDERS: JSON.stringify([{ ...provider, ...change }]) })).toThrow(message);
  });

  it("rejects two identity providers with one ID, and disabled passwords without a provider", () => {
    expect(() => load({ MILLRACE_OIDC_PROVIDERS: JSON.stringify([provider, provider]) })).toThrow(/each id/);
    expect(() => load({ MILLRACE_PASSWORD_SIGN_IN: "false" })).toThrow(/can be false only if/);
  });

  it("reads the blob URL, and names the other settings that S3 requires", () => {
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
      /ACCESS_KEY_ID: .*\n.*SECRET_ACCESS_KEY: .*\n {2}MILLRACE_MASTER_KEY: required because/,
    );
    // A role replaces the keys, by web identity or by container credentials.
    const { MILLRACE_BLOB_URL, MILLRACE_MASTER_KEY } = s3;
    const bare = { MILLRACE_BLOB_URL, MILLRACE_MASTER_KEY };
    const role = { AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/x", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" };
    expect(load({ ...bare, ...role })).toMatchObject(role);
    expect(() => load({ ...bare, AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/x" })).not.toThrow();
    expect(() => load({ ...bare, AWS_ROLE_ARN: role.AWS_ROLE_ARN })).toThrow(
      /KEY_ID: required because .*, unless AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are set\n/,
    );
    expect(() => load({ ...bare, ...role, MILLRACE_S3_ACCESS_KEY_ID: "id" })).toThrow(/SECRET_ACCESS_KEY: required/);
    // Migrations do not access S3, and their job may have no role.
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

  describe("in the values of the Helm chart", () => {
    const file = (name: string): string =>
      readFileSync(new URL(`../deploy/helm/millrace/${name}`, import.meta.url), "utf8");
    const valid = new Ajv({ strict: false }).compile(JSON.parse(file("values.schema.json")) as object);
    /** Whether the chart's schema accepts its default values with one value changed. */
    const allows = (path: readonly string[], value: unknown): boolean => {
      const values = parse(file("values.yaml")) as Record<string, unknown>;
      const last = path.slice(0, -1).reduce((at, name) => at[name] as Record<string, unknown>, values);
      last[path.at(-1) ?? ""] = value;
      return valid(values);
    };
    const PLACES = [["config"], ["api", "config"], ["workers", "flows", "config"]];

    it("accepts no secret among the plain settings of any process", () => {
      const secrets = Object.keys(environmentSchema.shape).filter((name) =>
        /(^DATABASE_URL|^DATABASE_REPLICA_URL|_KEY|_TOKEN|_SECRET|_PASSWORD|_HEADERS)$/.test(name),
      );
      expect(secrets.length).toBeGreaterThan(9);
      // Settings that all processes share cannot be overridden for some of them.
      const shared = ["MILLRACE_BLOB_URL", "MILLRACE_TASK_QUEUE"];
      for (const place of PLACES) {
        const refused = Object.keys(environmentSchema.shape).filter((name) => !allows([...place, name], "/file"));
        expect(refused.toSorted()).toEqual([...secrets, ...(place.length === 1 ? [] : shared)].toSorted());
        expect(allows([...place, "MILLRACE_OIDC_PROVIDERS"], JSON.stringify([provider]))).toBe(false);
        expect(allows([...place, "lower_case"], "x")).toBe(false);
      }
    });

    it("rejects unknown values", () => {
      const known = (at: unknown, path: readonly string[]): string[][] =>
        typeof at !== "object" ||
        at === null ||
        Array.isArray(at) ||
        /config|resources|annotations|labels/.test(path.at(-1) ?? "")
          ? []
          : [[...path], ...Object.entries(at).flatMap(([name, value]) => known(value, [...path, name]))];
      const objects = known(parse(file("values.yaml")), []).filter(
        (path) => !["nodeSelector", "affinity", "workers"].includes(path.join(".")),
      );
      expect(objects.length).toBeGreaterThan(15);
      expect(objects.filter((path) => allows([...path, "unknown"], {}))).toEqual([]);
      expect(allows(["global"], {})).toBe(true);
    });
  });
});
