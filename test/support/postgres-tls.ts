import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { joinSockets } from "./join-sockets.ts";

/**
 * Speaks TLS before a Postgres that does not: answers the client's question for it, as a server with a certificate would. With
 * `clientAuthority`, clients without a certificate of it are turned away.
 */
export async function startTlsPostgres(
  target: { readonly host: string; readonly port: number },
  certificate: { readonly key: string; readonly cert: string; readonly clientAuthority?: string },
): Promise<{ readonly port: number; close(): void }> {
  const { clientAuthority, ...own } = certificate;
  const secureContext = createSecureContext({ ...own, ...(clientAuthority ? { ca: clientAuthority } : {}) });
  const asking = clientAuthority ? { requestCert: true, rejectUnauthorized: true } : {};
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, secureContext, ...asking });
      secure.on("error", () => undefined);
      // Only then: a session that waits for its first message holds up every `drop database` for a minute.
      secure.once("secure", () => joinSockets(secure, connect(target.port, target.host)));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
