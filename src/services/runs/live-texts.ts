import { listDeltas, type DeltaRow } from "../../stores/runs/run-deltas.ts";
import type { Parts } from "../parts.ts";

/** The part of a node's latest text that has been written so far. */
export interface LiveText {
  readonly attempt: number;
  readonly step: number;
  readonly text: string;
}

/** Texts by node path. */
export type Texts = ReadonlyMap<string, LiveText>;

const PAGE = 1000;
/** How long earlier pieces are read again (ms), because a piece with a lower number may be committed later. */
const OVERLAP_MS = 1000;
/** A watcher's question repeats a read that is older than this (ms), because notifications may be lost. */
const STALE_MS = 1500;
/** Most characters kept per run; the text with the oldest last write is dropped first. */
const MAX_CHARS = 4 * 1024 * 1024;

interface Entry {
  readonly texts: Map<string, LiveText>;
  readonly unwatch: () => void;
  followers: number;
  /** Pieces up to this number are not read again. */
  settled: number;
  /** The highest number seen, and when. */
  mark: { readonly id: number; readonly at: number };
  readAt: number;
  changed: boolean;
  reading: Promise<void> | undefined;
}

/** The growing texts of watched runs. All watchers of a run share the reads. */
export function createLiveTexts({ db, feed }: Parts<"db" | "feed">) {
  const entries = new Map<string, Entry>();

  function open(runId: string): Entry {
    const entry: Entry = {
      texts: new Map(),
      unwatch: feed.watch(runId, () => {
        entry.changed = true;
      }),
      followers: 0,
      settled: 0,
      mark: { id: 0, at: Date.now() },
      readAt: 0,
      changed: true,
      reading: undefined,
    };
    entries.set(runId, entry);
    return entry;
  }

  async function read(orgId: string, runId: string, entry: Entry): Promise<void> {
    while (entry.changed || Date.now() - entry.readAt > STALE_MS) {
      entry.changed = false;
      const now = Date.now();
      let after = entry.settled;
      for (let count = PAGE; count === PAGE;) {
        const rows = await db
          .org(orgId, (connection) => listDeltas(connection, runId, after, PAGE))
          .catch((error) => {
            entry.changed = true;
            throw error;
          });
        for (const row of rows) add(entry.texts, row);
        count = rows.length;
        after = rows.at(-1)?.id ?? after;
      }
      if (now - entry.mark.at > OVERLAP_MS) {
        entry.settled = entry.mark.id;
        entry.mark = { id: after, at: now };
      }
      entry.readAt = now;
      bound(entry.texts);
    }
  }

  return {
    /** One watcher's view of a run's texts. */
    follow({ org_id, run_id }: { readonly org_id: string; readonly run_id: string }) {
      const entry = entries.get(run_id) ?? open(run_id);
      entry.followers += 1;
      return {
        /** The texts that this process knows. With `whole`, all texts written so far. */
        async read(whole: boolean): Promise<Texts> {
          if (whole) entry.changed = true;
          // Read again if needed, because a read in progress may have missed the latest pieces.
          do {
            entry.reading ??= read(org_id, run_id, entry).finally(() => {
              entry.reading = undefined;
            });
            await entry.reading;
          } while (whole && entry.changed);
          return entry.texts;
        },
        close(): void {
          entry.followers -= 1;
          if (entry.followers > 0) return;
          entry.unwatch();
          if (entries.get(run_id) === entry) entries.delete(run_id);
        },
      };
    },
  };
}

function add(texts: Map<string, LiveText>, { path, attempt, step, from_char, text }: Omit<DeltaRow, "run_id">): void {
  const known = texts.get(path);
  const order = known ? attempt - known.attempt || step - known.step : 1;
  if (order < 0) return;
  // A text whose first pieces are missing is not shown.
  if (order > 0 || !known) {
    if (from_char === 0) put(texts, path, { attempt, step, text });
  } else if (from_char === known.text.length) put(texts, path, { attempt, step, text: known.text + text });
}

/** Inserts the text at the end, because the map is ordered by last write. */
function put(texts: Map<string, LiveText>, path: string, text: LiveText): void {
  texts.delete(path);
  texts.set(path, text);
}

function bound(texts: Map<string, LiveText>): void {
  let chars = 0;
  for (const { text } of texts.values()) chars += text.length;
  for (const [path, { text }] of texts) {
    if (chars <= MAX_CHARS) return;
    texts.delete(path);
    chars -= text.length;
  }
}
