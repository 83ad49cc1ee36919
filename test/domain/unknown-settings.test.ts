import { expect, it } from "vitest";
import { unknownSettings } from "../../src/domain/unknown-settings.ts";

const KNOWN = ["DATABASE_URL", "MILLRACE_BLOB_URL", "MILLRACE_WORKER_PORT", "MILLRACE_RUN_RETENTION_DAYS"];

it.each([
  ["MILLRACE_DATABSE_URL", "DATABASE_URL"],
  ["MILLRACE_DATABASE_URL", "DATABASE_URL"],
  ["MILLRACE_BLOB_URI", "MILLRACE_BLOB_URL"],
  ["MILLRACE_RUN_RETENTION", "MILLRACE_RUN_RETENTION_DAYS"],
  ["MILLRACE_WORKER_PRT", "MILLRACE_WORKER_PORT"],
])("recognises %s as a mistyped %s", (name, meant) => {
  const sentence = `${name} is not a setting and has no effect; did you mean ${meant}?`;
  expect(unknownSettings({ [name]: "x", MILLRACE_BLOB_URL: "y" }, KNOWN)).toEqual([sentence]);
});

it("suggests nothing if no setting is similar", () => {
  expect(unknownSettings({ MILLRACE_COLOUR: "x" }, KNOWN)).toEqual([
    "MILLRACE_COLOUR is not a setting and has no effect.",
  ]);
});

it("ignores known and empty settings, variables of other programs and the ones that Kubernetes adds", () => {
  const environment = {
    DATABASE_URL: "x",
    MILLRACE_BLOB_URL: "x",
    MILLRACE_BLOB_URI: "",
    PGDATABSE: "x",
    MILLRACE_PORT: "tcp://10.0.0.1:80",
    MILLRACE_PORT_80_TCP: "tcp://10.0.0.1:80",
    MILLRACE_PORT_80_TCP_ADDR: "10.0.0.1",
    MILLRACE_V2_SERVICE_HOST: "10.0.0.1",
    MILLRACE_V2_SERVICE_PORT: "80",
    MILLRACE_SERVICE_PORT_HTTP: "80",
  };
  expect(unknownSettings(environment, KNOWN)).toEqual([]);
});
