import type { Json, StoredValue } from "../../domain/json.ts";
import { INLINE_VALUE_BYTES } from "../../domain/json.ts";
import { BlobNotFound, loadValue, readPart } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { ListedValue } from "../../stores/runs/run-lists.ts";

/** Bytes of JSON that are kept of a shortened value. */
const PREVIEW_BYTES = 256;
/** Most bytes of JSON that one response loads; values beyond it are shortened. */
const FULL_BYTES = 64 * 1024 * 1024;
const SHORT_BYTES = 4 * 1024 * 1024;

type Values<T> = Readonly<Record<string, T>>;

/** Loads values. Values that are too long, or no longer in the blob store, are shortened. */
export function fullValues(blobs: BlobStore, values: Values<StoredValue>): Promise<Record<string, Json>> {
  return load(blobs, values, Number.POSITIVE_INFINITY, FULL_BYTES);
}

/** The values, with long ones shortened. */
export function shortValues(blobs: BlobStore, values: Values<StoredValue>): Promise<Record<string, Json>> {
  return load(blobs, values, INLINE_VALUE_BYTES, SHORT_BYTES);
}

/** The values in the form that lists show. */
export function listedValues(values: Values<ListedValue>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(values).map(([id, value]) => {
      if ("v" in value) return [id, value.v];
      return [id, "cut" in value ? truncated(value.cut.size, value.cut.preview) : truncated(value.ref.size)];
    }),
  );
}

/** The placeholder for a value that is too long for the response. */
function truncated(size: number, preview = ""): Json {
  return { $truncated: true, size, preview };
}

// Loaded one by one, because a run may have a thousand inputs, and the process as many requests.
async function load(
  blobs: BlobStore,
  values: Values<StoredValue>,
  longest: number,
  budget: number,
): Promise<Record<string, Json>> {
  const loaded: Array<[string, Json]> = [];
  let left = budget;
  for (const [id, value] of Object.entries(values)) {
    if ("v" in value) {
      loaded.push([id, value.v]);
    } else if (value.ref.size <= longest && value.ref.size <= left) {
      left -= value.ref.size;
      loaded.push([id, await orTruncated(value.ref.size, loadValue(blobs, value))]);
    } else {
      loaded.push([id, await orTruncated(value.ref.size, previewOf(blobs, value.ref))]);
    }
  }
  return Object.fromEntries(loaded);
}

async function orTruncated(size: number, value: Promise<Json>): Promise<Json> {
  try {
    return await value;
  } catch (error) {
    if (error instanceof BlobNotFound) return truncated(size);
    throw error;
  }
}

async function previewOf(blobs: BlobStore, ref: { readonly $blob: string; readonly size: number }): Promise<Json> {
  const bytes = await readPart(blobs, ref.$blob, { start: 0, end: PREVIEW_BYTES - 1 });
  // The cut may split a character; the rest of that character is dropped.
  return truncated(ref.size, new TextDecoder().decode(bytes).replace(/(?<!\uFFFD)\uFFFD+$/, ""));
}
