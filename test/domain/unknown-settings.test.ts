import { expect, it } from "vitest";
import { unknownSettings } from "../../src/domain/unknown-settings.ts";

const KNOWN = ["DATABASE_URL", "MILLRACE_BLOB_URL", "MILLRACE_WORKER_PORT", "MILLRACE_RUN_RETENTION_DAYS"];

it.each([
  ["MILLRACE_DATABSE_URL", "DATABASE_URL"],
  ["MILLRACE_DATABASE_URL", "DATABASE_URL"],
  ["MILLRACE_BLOB_URI", "MILLRACE_BLOB_URL"],
  ["MILLRACE_RUN_RETENTION", "MILLRACE_RUN_RETENTION_DAYS"],
  ["MILLRACE_WORKER_PRT", "MILLRACE_WORKER_PORT"],
])("takes %s for a mistyped %s", (name, meant) => {
  const sentence = `${name} is no setting and has no effect: is ${meant} meant?`;
  expect(unknownSettings({ [name]: "x", MILLRACE_BLOB_URL: "y" }, KNOWN)).toEqual([sentence]);
});

it("guesses nothing where nothing is like it", () => {
  expect(unknownSettings({ MILLRACE_COLOUR: "x" }, KNOWN)).toEqual([
    "MILLRACE_COLOUR is no setting and has no effect.",
  ]);
});

it("says nothing of what is set, of what is empty, of other programs' variables, and of what Kubernetes adds", () => {
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
