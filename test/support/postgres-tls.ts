import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { joinSockets } from "./join-sockets.ts";

/**
 * Terminates TLS in front of a Postgres without it: accepts the client's TLS request, as a server with a certificate
 * would. With `clientAuthority`, clients need a certificate signed by it.
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
      // Connects only after the handshake, because a session without a first message blocks every `drop database` for a minute.
      secure.once("secure", () => joinSockets(secure, connect(target.port, target.host)));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
