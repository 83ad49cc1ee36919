import { RECORDED_CHARS } from "../../domain/json.ts";
import type { BlobRef, Json, StoredValue } from "../../domain/json.ts";
import { loadValue, storeReference } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";

/** How much of a longer value the record shows (characters). */
const PREVIEW_CHARS = 2000;

/** A value as the record shows it: a long one by its beginning and a reference to the whole. */
export interface RecordedValue {
  readonly shown: Json;
  readonly isCut: boolean;
  readonly whole?: BlobRef;
}

/** Records a value. The parts that `masked` hides are neither in the preview nor in the whole; null hides nothing. */
export async function recordValue(
  blobs: BlobStore,
  orgId: string,
  value: StoredValue,
  masked: ((json: Json) => Json) | null,
): Promise<RecordedValue> {
  if ("ref" in value && masked === null) {
    return { shown: { $truncated: true, size: value.ref.size }, isCut: true, whole: value.ref };
  }
  const json = await loadValue(blobs, value);
  const kept = masked === null ? json : masked(json);
  const text = JSON.stringify(kept);
  if (text.length <= RECORDED_CHARS) return { shown: kept, isCut: false };
  const shown = { $truncated: true, size: Buffer.byteLength(text), preview: beginningOf(kept, text) };
  if ("ref" in value && kept === json) return { shown, isCut: true, whole: value.ref };
  const whole = await keep(blobs, orgId, text);
  return { shown, isCut: true, ...(whole && { whole }) };
}

/** If the blob store is down or full, the run goes on, and the record has only the beginning. */
async function keep(blobs: BlobStore, orgId: string, text: string): Promise<BlobRef | null> {
  const stored = await storeReference(blobs, orgId, text).catch(() => null);
  return stored && stored.ref;
}

function beginningOf(json: Json, text: string): string {
  const preview = (typeof json === "string" ? json : text).slice(0, PREVIEW_CHARS);
  // Postgres refuses half of a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(preview) ? preview.slice(0, -1) : preview;
}
