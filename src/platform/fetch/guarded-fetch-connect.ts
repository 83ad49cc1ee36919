import { lookup as dnsLookup } from "node:dns/promises";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import { plainHost, type AddressPolicy } from "./address-policy.ts";
import { FetchFailed, FetchRefused } from "./guarded-fetch-errors.ts";
import { within } from "../within.ts";
import { finishPausedAnswers } from "./ended-connection.ts";

/** Returns all addresses of a host name. Rejects if there are none. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/** Resolves names as the machine does: hosts file, then DNS. */
export const systemResolver: Resolver = async (hostname) => {
  const answers = await dnsLookup(hostname, { all: true });
  return answers.map((answer) => answer.address);
};

/**
 * The connector of the guarded fetch. It resolves the host once, drops the addresses that the policy does not allow, and connects to the
 * others: a second look-up could return different addresses (DNS rebinding). TLS verifies the name.
 */
export function createGuardedConnector(
  policy: AddressPolicy,
  resolve: Resolver,
  connectMs: number,
): buildConnector.connector {
  return (options, callback) => {
    const host = plainHost(options.hostname);
    const port = portOf(options);
    checkedAddresses(policy, resolve, host, port, connectMs).then(
      (addresses) => {
        // One connector per connection, because each is bound to the addresses it may use. This gives up TLS session reuse.
        const connect = buildConnector({ timeout: connectMs, maxCachedSessions: 0, ...pinnedTo(addresses) });
        connect({ ...options, hostname: host }, (error, socket) => {
          if (error !== null) return callback(error, null);
          if (!dialled(socket, addresses)) {
            socket.destroy();
            return callback(refusal(host), null);
          }
          finishPausedAnswers(socket);
          return callback(null, socket);
        });
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

/** The port of a URL, or of what undici makes of one. */
export function portOf({ port, protocol }: { readonly port?: string | undefined; readonly protocol: string }): number {
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

/**
 * Every address of the host that the policy allows. Throws FetchRefused if there is none, FetchFailed if the name
 * cannot be resolved.
 */
export async function checkedAddresses(
  policy: AddressPolicy,
  resolve: Resolver,
  host: string,
  port: number,
  connectMs: number,
): Promise<readonly string[]> {
  // Net does not call the look-up for an address literal, so check it here.
  const addresses = isIP(host) === 0 ? await resolveInTime(resolve, host, connectMs) : [host];
  const allowed = addresses.filter((address) => policy.allows(host, port, address));
  if (allowed.length === 0) throw refusal(host);
  return allowed;
}

async function resolveInTime(resolve: Resolver, host: string, ms: number): Promise<readonly string[]> {
  const late = (): FetchFailed => new FetchFailed("timeout", `The host name ${host} was not resolved in time.`);
  try {
    const addresses = await within(ms, resolve(host), late);
    if (addresses.length === 0) throw new FetchFailed("dns_failed", `The host name ${host} has no IP address.`);
    return addresses;
  } catch (error) {
    if (error instanceof FetchFailed) throw error;
    throw new FetchFailed("dns_failed", `The host name ${host} cannot be resolved.`, { cause: error });
  }
}

/** Options of a connection that reaches only these addresses, tried one after the other until one accepts. */
export function pinnedTo(addresses: readonly string[]) {
  return { lookup: fixedLookup(addresses), autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };
}

function fixedLookup(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const first = answers[0];
    if (first === undefined) return callback(new Error("no address"), "");
    return options.all === true ? callback(null, answers) : callback(null, first.address, first.family);
  };
}

/**
 * Whether a connection is to one of these addresses. True by construction; the check protects against a later Node or undici that connects
 * in another way.
 */
export function dialled(socket: Socket, addresses: readonly string[]): boolean {
  const remote = socket.remoteAddress;
  return remote === undefined || addresses.some((address) => sameAddress(address, remote));
}

function sameAddress(left: string, right: string): boolean {
  return left === right || canonical(left) === canonical(right);
}

function canonical(address: string): string {
  const [bare = ""] = address.split("%", 1);
  return isIP(bare) === 6 ? new URL(`http://[${bare}]/`).hostname : bare;
}

/** The error for a host that has no allowed address. */
export function refusal(host: string): FetchRefused {
  return new FetchRefused(
    "address_not_allowed",
    `${host} does not have a public address. Private hosts can be reached only if the operator allows them (MILLRACE_PRIVATE_HOSTS).`,
  );
}
