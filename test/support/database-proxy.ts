import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A TCP proxy in front of Postgres that records each round trip of its clients. */
export interface DatabaseProxy {
  /** URL of the database through the proxy. */
  readonly url: string;
  /** The statements since the last call, in order. */
  take(): string[];
  close(): Promise<void>;
}

/**
 * Starts a proxy for the database at `url`. It parses the client's messages: each Sync or simple Query is a round trip.
 * With `drops`, it removes these start-up parameters, as poolers do with `options`.
 */
export async function startDatabaseProxy(
  url: string,
  { drops = [] as readonly string[] } = {},
): Promise<DatabaseProxy> {
  const upstream = new URL(url);
  let seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(upstream.port || 5432), upstream.hostname);
    const read = createMessageReader((statement) => seen.push(statement));
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from.setNoDelay(true));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    let started = false;
    client.on("data", (bytes) => {
      read(bytes);
      // Clients send the complete start-up message at one time.
      database.write(started ? bytes : withoutParameters(bytes, drops));
      started = true;
    });
    database.on("data", (bytes) => client.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A start-up message without some of its parameters. It consists of length, protocol version, and pairs of texts. */
function withoutParameters(message: Buffer, drops: readonly string[]): Buffer {
  if (drops.length === 0) return message;
  const texts = message.subarray(8).toString("latin1").split("\0");
  const pairs: string[] = [];
  for (let at = 0; texts[at]; at += 2) {
    if (!drops.includes(texts[at] ?? "")) pairs.push(`${texts[at]}\0${texts[at + 1]}\0`);
  }
  const kept = Buffer.concat([message.subarray(0, 8), Buffer.from(`${pairs.join("")}\0`, "latin1")]);
  kept.writeInt32BE(kept.length);
  return kept;
}

/** Splits a client's bytes into messages; the first one, the start-up message, has no type. */
function createMessageReader(onRoundTrip: (statement: string) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  /** Texts of prepared statements by name; the unnamed one is replaced each time. */
  const texts = new Map<string, string>();
  let bound = "";
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      const type = started ? String.fromCharCode(rest[0] ?? 0) : "";
      const body = rest.subarray(head + 4, end);
      rest = rest.subarray(end);
      started = true;
      if (type === "Q") onRoundTrip(body.toString().replace(/\0$/, ""));
      else if (type === "P") {
        const [name = "", text = ""] = body.toString().split("\0");
        texts.set(name, text);
      } else if (type === "B") bound = texts.get(body.toString("latin1").split("\0")[1] ?? "") ?? "";
      else if (type === "S") {
        onRoundTrip(bound);
        bound = "";
      }
    }
  };
}
