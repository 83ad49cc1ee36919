import { Socket } from "node:net";
import { createFrameReader, frameStart, type Frame } from "./frames.ts";

/** File descriptor of the socket between a child and the process that started it. */
export const CHANNEL_FD = 3;

const MAX_INPUT_BYTES = 1024 * 1024 * 1024;

/** How a child handles requests. */
export interface Service {
  /** An exception terminates the process, because its state is then unknown. */
  readonly handle: (request: Frame) => Promise<Frame>;
  /** Called when a response has been sent, to prepare for the next request. */
  readonly afterReply?: () => void;
  /** Resident memory (MiB) above which the child asks to be replaced: garbage of one call must not fail the next. */
  readonly wornAtMib: number;
}

const PARENT = process.ppid;

/** Exits if the parent was killed. Needed for work that blocks the event loop, which does not notice the closed channel. */
export function exitWithoutParent(): void {
  if (process.ppid !== PARENT) process.exit(0);
}

/** Runs in a child: reports that it is ready, then serves requests one by one until the parent disconnects. */
export function serveRequests({ handle, afterReply, wornAtMib }: Service): void {
  // A supervisor may signal the whole process group; a child runs until its parent has finished with it.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);

  const channel = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
  const send = ({ header, body }: Frame): void => {
    channel.write(frameStart(header, body.byteLength));
    channel.write(body);
  };
  channel.on("error", () => process.exit(1));
  channel.on("close", () => process.exit(0));
  channel.on(
    "data",
    createFrameReader(MAX_INPUT_BYTES, (request) => {
      void handle(request).then(({ header, body }) => {
        const worn = process.memoryUsage.rss() > wornAtMib * 1024 * 1024;
        send({ header: { ...header, worn }, body });
        afterReply?.();
      });
    }),
  );
  send({ header: { ready: true }, body: Buffer.alloc(0) });
}
