import { Readable } from "node:stream";
import type { ImportSource, RunSourceFilter } from "../../domain/evals/import.ts";
import { BlobNotFound, type BlobStore } from "../../platform/blobs/blobs.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { readRecords, type FileRecord } from "../../platform/records.ts";
import { HIGHEST_ID } from "../../stores/keyset.ts";
import { listRunsToImport, type RunValues } from "../../stores/evals/run-values.ts";
import { ROW_COLUMNS } from "./export-rows.ts";
import { loadValues } from "./samples.ts";
import type { Parts } from "../parts.ts";

export interface SourceDeps extends Parts<"db" | "blobs" | "guardedFetch"> {
  /** Longest file behind a URL (bytes). */
  readonly maxBytes: number;
}

/** Thrown if the source of an import cannot be read; code and message are for its owner. */
export class SourceUnreadable extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause: unknown }) {
    super(message.toWellFormed(), options);
    this.name = "SourceUnreadable";
    this.code = code;
  }
}

/** A record with its source run, if any. */
export type SourceRecord = FileRecord & { readonly run_id?: string };

/** Yields the records of an import's source. Throws SourceUnreadable and RecordsUnreadable. */
export async function* recordsOf(
  deps: SourceDeps,
  orgId: string,
  source: ImportSource,
  signal: AbortSignal,
): AsyncGenerator<SourceRecord> {
  if (source.type === "runs") yield* recordsOfRuns(deps, orgId, source.filter, source.limit);
  else yield* readRecords(source.type, await open(deps, source, signal), ROW_COLUMNS);
}

async function open(
  { blobs, guardedFetch, maxBytes }: SourceDeps,
  source: Exclude<ImportSource, { readonly type: "runs" }>,
  signal: AbortSignal,
): Promise<Readable> {
  if ("blob_key" in source) {
    try {
      return (await blobs.openRead(source.blob_key)).stream;
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
      throw new SourceUnreadable("file_gone", "The uploaded file no longer exists: upload it again.", { cause: error });
    }
  }
  try {
    const { status, body, url } = await guardedFetch.fetch({
      url: source.url,
      limits: { responseBytes: maxBytes },
      signal,
    });
    if (status >= 200 && status <= 299) return Readable.from([body]);
    throw new SourceUnreadable("http_status", `${new URL(url).origin} returned status ${status}.`);
  } catch (error) {
    if (error instanceof FetchRefused) throw new SourceUnreadable("http_refused", error.message, { cause: error });
    if (error instanceof FetchFailed) throw new SourceUnreadable("http_failed", error.message, { cause: error });
    throw error;
  }
}

const RUNS_AT_ONCE = 200;

async function* recordsOfRuns(
  { db, blobs }: SourceDeps,
  orgId: string,
  filter: RunSourceFilter,
  limit: number,
): AsyncGenerator<SourceRecord> {
  let before = HIGHEST_ID;
  let line = 0;
  while (line < limit) {
    const size = Math.min(RUNS_AT_ONCE, limit - line);
    const runs = await db.org(orgId, (connection) => listRunsToImport(connection, filter, before, size));
    for (const run of runs) yield { line: ++line, run_id: run.run_id, ...(await recordOfRun(blobs, run)) };
    const last = runs.at(-1);
    if (last === undefined || runs.length < size) return;
    before = last.run_id;
  }
}

/** Inputs and outputs by node id. The run's id becomes the row's external id, so that no run is imported twice. */
async function recordOfRun(blobs: BlobStore, run: RunValues): Promise<{ value: unknown } | { problem: string }> {
  try {
    const inputs = await loadValues(blobs, run.inputs, "whole");
    const outputs = await loadValues(blobs, run.outputs ?? {}, "whole");
    return { value: { ...inputs, ...outputs, inputs, expected_outputs: outputs, external_id: run.run_id } };
  } catch (error) {
    if (!(error instanceof BlobNotFound)) throw error;
    return { problem: "Values of the run no longer exist" };
  }
}
