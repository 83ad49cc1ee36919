import { invalid, notFound } from "../../domain/errors.ts";
import type { BlobRef } from "../../domain/json.ts";
import type { NodeValue } from "../../domain/runs/run.ts";
import { BlobNotFound, readPart, type BlobStore } from "../../platform/blobs/blobs.ts";
import type { NodeRunDetailRow } from "../../stores/runs/node-runs.ts";

/** The JSON text of a value: its bytes, or the blob that contains them. */
type ValueText = Buffer | BlobRef;

export interface ValuePage {
  readonly text: string;
  readonly offset: number;
  readonly next_offset: number | null;
  readonly size: number;
}

/** A value of a node's record. Throws 404 if the record has only its beginning. */
export function valueOf(node: NodeRunDetailRow, member: NodeValue): ValueText {
  const whole = node.long_values?.[member];
  if (whole) return whole;
  // Inputs are tested by their form, because the record has no flag for shortened inputs.
  if (member === "output" ? node.truncated : isCut(node.inputs)) throw notFound("value");
  return Buffer.from(JSON.stringify(node[member]));
}

function isCut(value: unknown): boolean {
  return typeof value === "object" && value !== null && "$truncated" in value;
}

/** A part of a text in whole characters. Throws 404 if the blob was deleted, and 422 if no character starts at `offset`. */
export async function readPage(
  blobs: BlobStore,
  value: ValueText,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<ValuePage> {
  const size = Buffer.isBuffer(value) ? value.length : value.size;
  if (offset >= size) throw invalid(["query", "offset"], `The value is ${size} bytes long`);
  const end = Math.min(offset + limit, size);
  const bytes = Buffer.isBuffer(value) ? value.subarray(offset, end) : await readBytes(blobs, value, offset, end);
  // Such a byte continues a character of UTF-8.
  if (((bytes[0] ?? 0) & 0xc0) === 0x80) {
    throw invalid(["query", "offset"], "`offset` falls inside a character. Use `next_offset` of the previous page.");
  }
  // Leaves out the beginning of a character at the end.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: end < size });
  const next = offset + Buffer.byteLength(text);
  return { text, offset, next_offset: next < size ? next : null, size };
}

async function readBytes(blobs: BlobStore, { $blob }: BlobRef, from: number, to: number): Promise<Buffer> {
  try {
    return await readPart(blobs, $blob, { start: from, end: to - 1 });
  } catch (error) {
    if (error instanceof BlobNotFound) throw notFound("value");
    throw error;
  }
}
