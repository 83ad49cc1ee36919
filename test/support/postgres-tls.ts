import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";

/** Speaks TLS before a Postgres that does not: answers the client's question for it, as a server with a certificate would. */
export async function startTlsPostgres(
  target: { readonly host: string; readonly port: number },
  certificate: { readonly key: string; readonly cert: string },
): Promise<{ readonly port: number; close(): void }> {
  const secureContext = createSecureContext(certificate);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, secureContext });
      const inner = connect(target.port, target.host);
      for (const [from, to] of [
        [secure, inner],
        [inner, secure],
      ] as const) {
        from.on("error", () => to.destroy()).on("close", () => to.destroy());
        from.pipe(to);
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
