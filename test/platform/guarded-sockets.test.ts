import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGuardedSockets } from "../../src/platform/fetch/guarded-sockets.ts";

let server: Server;
let port: number;
const dialled: Array<string | undefined> = [];
/** Sockets whose resolver returns `addresses` for every name and counts the lookups. */
function sockets(addresses: readonly string[], allow: readonly string[] = ["127.0.0.5"], connectMs = 5000) {
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    return asked === 1 ? addresses : ["127.0.0.66"];
  };
  return createGuardedSockets({ allow, resolve, connectMs });
}

beforeAll(async () => {
  server = createServer((socket) => {
    dialled.push(socket.localAddress);
    socket.on("error", () => undefined).end("hello");
  });
  await once(server.listen(0, "0.0.0.0"), "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

describe("guarded connections", () => {
  it("ssrf: reach only the checked address, not others returned beside it or later", async () => {
    const guarded = sockets(["127.0.0.66", "127.0.0.5", "::1"]);
    const open = await guarded.connect({ host: "rebind.example", port });
    expect(String((await once(open, "data"))[0])).toBe("hello");
    const own = guarded.socket().connect(port, "rebind.example");
    expect((await once(own, "error"))[0]).toMatchObject({ code: "address_not_allowed" });
    expect(dialled.splice(0)).toEqual(["127.0.0.5"]);
  });

  it("ssrf: reach neither files nor an address that a driver names in another way", async () => {
    for (const given of [
      ["/run/postgresql/.s.PGSQL.5432"],
      [{ path: "/run/x", host: "a.example", port }],
      [port],
      [port, "127.0.0.1"],
      [0, "a"],
    ]) {
      const socket = sockets([]).socket();
      (socket.connect as (...given: unknown[]) => unknown)(...given);
      expect((await once(socket, "error"))[0]).toMatchObject({ name: "FetchRefused" });
    }
    expect(dialled).toEqual([]);
  });

  it("fail without revealing the address behind a name", async () => {
    const closed = createServer();
    await once(closed.listen(0, "127.0.0.5"), "listening");
    const { port: free } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const failure: unknown = await sockets(["127.0.0.5"])
      .connect({ host: "gone.example", port: free })
      .catch((error: unknown) => error);
    const own = sockets(["127.0.0.5"]).socket().connect(free, "gone.example");
    expect(String((await once(own, "error"))[0])).toBe(String(failure));
    expect(failure).toMatchObject({ name: "FetchFailed", code: "connection_failed", retryable: true });
    expect(String(failure)).toContain(`gone.example:${free}`);
    expect(String(failure)).not.toContain("127.0");
  });

  it("end at their time limit, and if the caller aborts", async () => {
    const hanging = createGuardedSockets({ allow: [], resolve: () => new Promise(() => undefined), connectMs: 50 });
    await expect(hanging.connect({ host: "slow.example", port })).rejects.toMatchObject({ code: "timeout" });
    const patient = createGuardedSockets({ allow: [], resolve: () => new Promise(() => undefined) });
    const connecting = patient.connect({ host: "slow.example", port, signal: AbortSignal.timeout(20) });
    await expect(connecting).rejects.toMatchObject({ name: "TimeoutError" });
    // A server that never starts the TLS handshake.
    const mute = createServer((socket) => void socket.on("error", () => undefined).resume());
    await once(mute.listen(0, "127.0.0.5"), "listening");
    const target = { host: "127.0.0.5", port: (mute.address() as AddressInfo).port, tls: true } as const;
    await expect(sockets([], undefined, 100).connect(target)).rejects.toMatchObject({ code: "timeout" });
    mute.close();
  });
});
