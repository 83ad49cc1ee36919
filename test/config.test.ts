import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { environmentSchema, loadConfig } from "../src/config.ts";

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
});
