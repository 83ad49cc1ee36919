import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { connectTemporal } from "../../src/temporal/connection.ts";
import { examineTemporal } from "../../src/temporal/examine.ts";
import { hasOpenssl, makeCertificate } from "../support/certificate.ts";
import { joinSockets } from "../support/join-sockets.ts";
import { dataConverter } from "../support/payloads.ts";

/** A name that no resolver knows: it is the name in the certificate, not in the address. */
const NAME = "temporal.internal";

describe.skipIf(!hasOpenssl)("Temporal that requires client certificates", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-temporal-tls-"));
  const file = (name: string): string => join(folder, `${name}.pem`);
  let server: ReturnType<typeof createServer>;
  let environment: Record<string, string>;

  beforeAll(async () => {
    const authority = makeCertificate("Authority");
    const [own, client] = [makeCertificate(NAME, authority), makeCertificate("millrace", authority)];
    const stranger = makeCertificate("stranger", makeCertificate("Another authority"));
    for (const [name, text] of [
      ["ca", authority.cert],
      ["cert", client.cert],
      ["key", client.key],
      ["stranger-cert", stranger.cert],
      ["stranger-key", stranger.key],
    ] as const)
      writeFileSync(file(name), text);
    const [host = "", port = ""] = inject("millrace").temporalAddress.split(":");
    server = createServer(
      { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ["h2"] },
      (secure) => joinSockets(secure, connect(Number(port), host)),
    );
    server.on("tlsClientError", () => undefined);
    await once(server.listen(0, "127.0.0.1"), "listening");
    environment = {
      DATABASE_URL: "postgres://nobody@127.0.0.1/none",
      TEMPORAL_ADDRESS: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      TEMPORAL_TLS_CA_FILE: file("ca"),
      TEMPORAL_TLS_CERT_FILE: file("cert"),
      TEMPORAL_TLS_KEY_FILE: file("key"),
      TEMPORAL_TLS_SERVER_NAME: NAME,
    };
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  it("can be reached by processes and doctor with the configured certificate", async () => {
    const config = loadConfig(environment);
    const temporal = await connectTemporal(config, dataConverter);
    await temporal.ping();
    await temporal.close();
    expect(await examineTemporal(config)).toHaveProperty("version");
  });

  it.concurrent.each([
    ["without a certificate of ours", { TEMPORAL_TLS_CERT_FILE: "", TEMPORAL_TLS_KEY_FILE: "" }],
    [
      "with a certificate of another authority",
      { TEMPORAL_TLS_CERT_FILE: file("stranger-cert"), TEMPORAL_TLS_KEY_FILE: file("stranger-key") },
    ],
    ["where its own certificate is of another authority", { TEMPORAL_TLS_CA_FILE: file("stranger-cert") }],
    ["under another name than that of its certificate", { TEMPORAL_TLS_SERVER_NAME: "elsewhere.internal" }],
  ])("cannot be reached %s", async (_, changed) => {
    expect(await examineTemporal(loadConfig({ ...environment, ...changed }))).not.toHaveProperty("version");
  });

  it("names the certificate file that is missing or invalid", () => {
    writeFileSync(file("none"), "no certificate");
    const changed = { TEMPORAL_TLS_CA_FILE: file("none"), TEMPORAL_TLS_CERT_FILE: file("absent") };
    expect(() => loadConfig({ ...environment, ...changed })).toThrow(
      /none\.pem is not a PEM file\n.*absent\.pem .*ENOENT/,
    );
    expect(() => loadConfig({ ...environment, TEMPORAL_TLS_KEY_FILE: "" })).toThrow(
      /TEMPORAL_TLS_KEY_FILE: .*together/,
    );
  });
});
