import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGuardedSockets } from "../../src/platform/fetch/guarded-sockets.ts";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { hasOpenssl, makeCertificate } from "../support/certificate.ts";

describe.skipIf(!hasOpenssl)("https", () => {
  const names: string[] = [];
  let server: ReturnType<typeof createServer>;
  let guarded: GuardedFetch;
  let port = 0;
  let ca = "";
  let requests = 0;

  beforeAll(async () => {
    const made = makeCertificate("secure.example");
    server = createServer(made, (_request, response) => {
      requests += 1;
      response.end("secret");
    });
    ca = made.cert;
    server.on("tlsClientError", () => undefined);
    server.on("connection", (socket) => socket.on("error", () => undefined));
    server.on("secureConnection", (socket) => names.push(String(socket.servername)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
    guarded = createGuardedFetch({ allow: ["loopback"], resolve: async () => ["127.0.0.1"] });
  });
  afterAll(async () => {
    await guarded.close();
    server.close();
  });

  it("verifies the certificate against the name in the URL although it connects to an address", async () => {
    await expect(guarded.fetch({ url: `https://secure.example:${port}/` })).rejects.toMatchObject({
      name: "FetchFailed",
      code: "tls_failed",
      retryable: false,
    });
    expect(requests).toBe(0);
    expect(names.every((name) => name === "secure.example")).toBe(true);
  });

  it("lets guarded sockets connect only to the name in the certificate", async () => {
    const sockets = createGuardedSockets({ allow: ["loopback"], resolve: async () => ["127.0.0.1"] });
    const socket = await sockets.connect({ host: "secure.example", port, tls: { ca } });
    socket.end("GET / HTTP/1.0\r\n\r\n");
    expect(await text(socket)).toContain("secret");
    for (const target of [
      { host: "other.example", tls: { ca } } as const,
      { host: "secure.example", tls: true } as const,
    ]) {
      await expect(sockets.connect({ ...target, port })).rejects.toMatchObject({ code: "tls_failed" });
    }
  });

  it("fails if a server does not speak TLS", async () => {
    const plain = createServer();
    plain.on("connection", (socket) => socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const url = `https://plain.example:${(plain.address() as AddressInfo).port}/`;
    await expect(guarded.fetch({ url })).rejects.toMatchObject({ name: "FetchFailed" });
    plain.close();
  });
});
