import { RECORDED_CHARS, type BlobRef, type Json, type StoredValue } from "../../domain/json.ts";
import { loadValue, storeReference, type BlobStore } from "../../platform/blobs/blobs.ts";

/** Length of the preview of a long value in the record (characters). */
const PREVIEW_CHARS = 2000;

/** A value in the form of the record: a long one as a preview and a reference to the whole. */
export interface RecordedValue {
  readonly shown: Json;
  readonly isCut: boolean;
  readonly whole?: BlobRef;
}

/** Records a value. Neither the preview nor the whole contains parts that `masked` hides; null hides nothing. */
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

/** Stores the whole value. If the blob store is unreachable or full, the run continues, and the record has only the preview. */
async function keep(blobs: BlobStore, orgId: string, text: string): Promise<BlobRef | null> {
  const stored = await storeReference(blobs, orgId, text).catch(() => null);
  return stored && stored.ref;
}

function beginningOf(json: Json, text: string): string {
  const preview = (typeof json === "string" ? json : text).slice(0, PREVIEW_CHARS);
  // Cuts a lone surrogate, which Postgres refuses.
  return /[\uD800-\uDBFF]$/.test(preview) ? preview.slice(0, -1) : preview;
}
