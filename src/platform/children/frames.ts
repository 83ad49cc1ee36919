import type { JsonObject } from "../../domain/json.ts";

/** A message between a process and its child: a small JSON header and a body of bytes. */
export interface Frame {
  readonly header: JsonObject;
  readonly body: Buffer;
}

/** Thrown when the other side announces a longer frame than is accepted; none of it has been kept. */
export class FrameTooLarge extends Error {
  constructor() {
    super("The message exceeds the maximum length.");
    this.name = "FrameTooLarge";
  }
}

const PREFIX_BYTES = 8;
const MAX_HEADER_BYTES = 1024 * 1024;

/** The bytes of a frame before its body: both lengths, then the header's JSON. */
export function frameStart(header: JsonObject, bodyBytes: number): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(json.byteLength, 0);
  prefix.writeUInt32BE(bodyBytes, 4);
  return Buffer.concat([prefix, json]);
}

/**
 * Puts frames together from the chunks of a stream. The returned function throws FrameTooLarge as soon as a frame is
 * announced whose body is longer than `maxBodyBytes`: what a hostile child sends is never buffered without limit. (That is
 * why this is not Node's own IPC channel, which buffers without limit and deserialises what it gets.)
 */
export function createFrameReader(maxBodyBytes: number, onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let part: "prefix" | "header" | "body" = "prefix";
  let target = Buffer.alloc(PREFIX_BYTES);
  let filled = 0;
  let bodyBytes = 0;
  let header: JsonObject = {};

  const expect = (next: typeof part, bytes: number): void => {
    part = next;
    target = Buffer.allocUnsafe(bytes);
    filled = 0;
  };

  const finishPart = (): void => {
    if (part === "prefix") {
      const headerBytes = target.readUInt32BE(0);
      bodyBytes = target.readUInt32BE(4);
      if (headerBytes > MAX_HEADER_BYTES || bodyBytes > maxBodyBytes) throw new FrameTooLarge();
      expect("header", headerBytes);
    } else if (part === "header") {
      header = JSON.parse(target.toString("utf8")) as JsonObject;
      expect("body", bodyBytes);
    } else {
      const body = target;
      expect("prefix", PREFIX_BYTES);
      onFrame({ header, body });
    }
  };

  return (chunk) => {
    let offset = 0;
    do {
      const copied = chunk.copy(target, filled, offset);
      filled += copied;
      offset += copied;
      // An empty body is complete immediately.
      while (filled === target.length) finishPart();
    } while (offset < chunk.length);
  };
}
