import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { FetchFailed } from "../../src/platform/fetch/guarded-fetch-errors.ts";

const LENGTHS = [1, 16_384, 65_536, 65_537, 100_000, 300_000, 1_000_000];

let answer: (socket: Socket) => void;
let closed: Promise<unknown>;
const server = createServer((socket) => {
  socket.on("error", () => undefined);
  closed = new Promise((resolve) => socket.once("close", resolve));
  socket.once("data", () => answer(socket));
});
let url: string;
let guarded: GuardedFetch;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  guarded = createGuardedFetch({ allow: ["loopback"] });
});
const crashes: unknown[] = [];
const note = (error: unknown) => void crashes.push(error);
beforeAll(() => void process.on("uncaughtException", note));
afterEach(() => expect(crashes.splice(0)).toEqual([]));
afterAll(async () => {
  process.off("uncaughtException", note);
  await guarded.close();
  server.close();
});

/** Time for the connection to end before anyone reads; if it has not ended, the test passes as well. */
const leaveUnread = () => sleep(30);

const head = (...lines: string[]) => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");
const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);

/** Ways in which a response marks its end. */
const framings = {
  "by its length": (body: Buffer) => [head(`content-length: ${body.length}`, "connection: close"), body],
  "by its last chunk": (body: Buffer) => [head("transfer-encoding: chunked", "connection: close"), chunked(body)],
  "by the end of its connection": (body: Buffer) => [head("connection: close"), body],
  "by its length, where the connection was to stay": (body: Buffer) => [head(`content-length: ${body.length}`), body],
} as const satisfies Record<string, (body: Buffer) => readonly [head: string, body: Buffer]>;

describe("a response whose reader is slower than its server", () => {
  it.each(Object.keys(framings) as Array<keyof typeof framings>)(
    "is complete after the server has closed the connection, if it ends %s",
    async (framing) => {
      for (const length of LENGTHS) {
        const sent = Buffer.alloc(length, "a");
        answer = (socket) => {
          const [first, rest] = framings[framing](sent);
          socket.write(first);
          socket.end(rest);
        };
        const { body } = await guarded.open({ url });
        await leaveUnread();
        expect((await buffer(body)).length, String(length)).toBe(length);
        await closed;
      }
    },
  );

  it.each(["by its length", "by its last chunk"] as const)(
    "fails if it is cut short and should end %s",
    async (framing) => {
      for (const length of LENGTHS) {
        const [first, rest] = framings[framing](Buffer.alloc(length, "a"));
        answer = (socket) => {
          socket.write(first);
          socket.end(rest.subarray(0, -1));
        };
        const { body } = await guarded.open({ url });
        await leaveUnread();
        await expect(buffer(body), String(length)).rejects.toBeInstanceOf(FetchFailed);
      }
    },
  );

  it("does not crash the process if the connection is reset", async () => {
    for (const length of LENGTHS) {
      answer = (socket) => {
        socket.write(head("connection: close"));
        socket.write(Buffer.alloc(length, "a"), () => socket.resetAndDestroy());
      };
      const { body } = await guarded.open({ url });
      await leaveUnread();
      await buffer(body).catch(() => undefined);
    }
  });

  it.each([["content-length: 2000000", "connection: close"], ["content-length: 2000000"]])(
    "fails if the connection is reset while no one reads: %s %s",
    async (...lines) => {
      for (const length of LENGTHS) {
        let reset = (): void => undefined;
        answer = (socket) => {
          reset = () => socket.resetAndDestroy();
          socket.write(head(...lines));
          socket.write(Buffer.alloc(length, "a"));
        };
        const { body } = await guarded.open({ url });
        await leaveUnread();
        reset();
        await leaveUnread();
        await expect(buffer(body), String(length)).rejects.toBeInstanceOf(FetchFailed);
      }
    },
  );

  it("fails if all connections are closed", async () => {
    for (const length of LENGTHS) {
      answer = (socket) => {
        socket.write(head("content-length: 2000000", "connection: close"));
        socket.write(Buffer.alloc(length, "a"));
      };
      const another = createGuardedFetch({ allow: ["loopback"] });
      const { body } = await another.open({ url });
      await leaveUnread();
      await another.close();
      await expect(buffer(body), String(length)).rejects.toThrow();
    }
  });

  it("can be left unread", async () => {
    for (const length of LENGTHS) {
      answer = (socket) => {
        socket.write(head(`content-length: ${length}`, "connection: close"));
        socket.end(Buffer.alloc(length, "a"));
      };
      const { body } = await guarded.open({ url });
      await leaveUnread();
      body.destroy();
    }
  });
});
