import { once } from "node:events";
import { isIP, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createAddressPolicy, plainHost } from "./address-policy.ts";
import { checkedAddresses, dialled, pinnedTo, refusal, systemResolver } from "./guarded-fetch-connect.ts";
import type { GuardedFetchOptions } from "./guarded-fetch.ts";
import { FetchFailed, FetchRefused, toFetchError } from "./guarded-fetch-errors.ts";

/** `connectMs` applies once more to TLS. */
export type GuardedSocketsOptions = Pick<GuardedFetchOptions, "allow" | "connectMs" | "resolve">;

export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  /** Speaks TLS from the start; the certificate is checked against `host`, by the machine's authorities or by `ca` (PEM). */
  readonly tls?: true | { readonly ca: string };
  readonly signal?: AbortSignal;
}

/**
 * Connections for protocols other than HTTP, under the same rule as the guarded fetch: a name is resolved once, and only addresses that the
 * policy allows are dialled. Errors are FetchRefused and FetchFailed; none names a resolved address.
 */
export interface GuardedSockets {
  /** An open connection, for `getSocket` of nodemailer. */
  connect(target: SocketTarget): Promise<Socket>;
  /** A socket that is not connected yet, for drivers that call `connect(port, host)` themselves: `stream` of pg. */
  socket(): Socket;
}

export function createGuardedSockets(options: GuardedSocketsOptions): GuardedSockets {
  const policy = createAddressPolicy(options.allow);
  const resolve = options.resolve ?? systemResolver;
  const connectMs = options.connectMs ?? 10_000;

  class GuardedSocket extends Socket {
    #origin = "the host";
    #connected = false;

    // Refuses the signatures of the base class that name no host, sockets of files included.
    override connect(...given: unknown[]): this {
      const [first, second] = given;
      const { port, host, path } =
        Object(first) === first ? (first as Record<string, unknown>) : { port: first, host: second };
      if (typeof host !== "string" || path !== undefined || !(Number(port) >= 1 && Number(port) <= 65_535)) {
        return this.destroy(new FetchRefused("invalid_url", "A connection needs a host and a port."));
      }
      void this.#dial(plainHost(host), Number(port));
      return this;
    }

    async #dial(host: string, port: number): Promise<void> {
      this.#origin = `${host}:${port}`;
      try {
        const addresses = await checkedAddresses(policy, resolve, host, port, connectMs);
        if (this.destroyed) return;
        const timer = setTimeout(
          () => this.destroy(new FetchFailed("timeout", `${this.#origin}: could not connect in time.`)),
          connectMs,
        );
        this.once("close", () => clearTimeout(timer));
        // Registered before the caller's listeners, so that none writes to an address that is not allowed.
        this.prependOnceListener("connect", () => {
          clearTimeout(timer);
          this.#connected = true;
          if (!dialled(this, addresses)) this.destroy(refusal(host));
        });
        super.connect({ host, port, ...pinnedTo(addresses) });
      } catch (error) {
        this.destroy(error as Error);
      }
    }

    // System errors name the address that was dialled, so they are converted.
    override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
      const failure = error && !this.#connected ? (toFetchError(error, this.#origin) as Error) : error;
      super._destroy(failure, callback);
    }
  }

  return {
    socket: () => new GuardedSocket(),
    async connect({ host, port, tls, signal }) {
      signal?.throwIfAborted();
      const socket = new GuardedSocket();
      const abort = () => socket.destroy();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        socket.connect(port, host);
        await once(socket, "connect", signal ? { signal } : {});
        return tls ? await secured(socket, host, tls === true ? undefined : tls.ca, connectMs) : socket;
      } catch (error) {
        socket.destroy();
        if (signal?.aborted) throw signal.reason;
        throw toFetchError(error, `${host}:${port}`);
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
  };
}

async function secured(socket: Socket, host: string, ca: string | undefined, ms: number): Promise<Socket> {
  const name = plainHost(host);
  const secure = connectTls({ socket, host: name, servername: isIP(name) === 0 ? name : "", ...(ca ? { ca } : {}) });
  const late = () => secure.destroy(new FetchFailed("timeout", `${host}: could not make a secure connection in time.`));
  const timer = setTimeout(late, ms);
  try {
    await once(secure, "secureConnect");
    return secure;
  } finally {
    clearTimeout(timer);
  }
}
