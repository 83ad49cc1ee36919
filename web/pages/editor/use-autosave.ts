import { useCallback, useEffect, useRef, useState } from "react";
import {
  DraftChanged,
  readDraft,
  saveDraft,
  type DraftHead,
  type DraftStep,
  type StoredFlow,
} from "../../api/flows.ts";
import { toProblem, type ApiProblem } from "../../api/problem.ts";
import type { FlowDocument } from "../../flow/document.ts";
import { readFlow, writeFlow } from "./flow-text.ts";

/** A draft that someone else has changed since this page read it. */
export interface Conflict {
  readonly change: DraftStep | null;
  /** Their flow; null if they deleted or published the draft. */
  readonly theirs: FlowDocument | null;
  readonly etag: string | null;
  readonly message: string;
}

export type SaveState = "saved" | "unsaved" | "saving" | "failed" | "conflict";

export interface Autosave {
  readonly state: SaveState;
  readonly failure: ApiProblem | null;
  readonly conflict: Conflict | null;
  /** Who saved the draft last, and when; null if there is no draft. */
  readonly head: DraftHead | null;
  readonly etag: string | null;
  /** The version that is edited, if there is no draft. */
  readonly version: number | null;
  /** With `needsDraft`, an unchanged flow without a draft becomes one. */
  readonly saveNow: (needsDraft?: boolean) => Promise<boolean>;
  /** Ends a conflict. Saving continues from the other person's draft, which this page then replaces. */
  readonly settle: (conflict: Conflict, isTheirs: boolean) => void;
  /** After the draft was published: there is none until the next change. */
  readonly publishedAs: (version: number) => void;
}

const SAVE_AFTER_MS = 2000;
const RETRY_AFTER_MS = 10_000;
/** Browsers send no more than this after a page has closed (bytes). */
const MOST_AFTER_CLOSING = 60_000;

/** Saves the document two seconds after the last change, and when the page is left. */
export function useAutosave(
  projectId: string,
  document: FlowDocument,
  stored: StoredFlow | null,
  isOff: boolean,
): Autosave {
  const [saved, setSaved] = useState({ document, etag: stored?.etag ?? null, head: stored?.head ?? null });
  const [progress, setProgress] = useState<"idle" | "saving" | "failed">("idle");
  const [failure, setFailure] = useState<ApiProblem | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  // What a timer, or the page that is left, reads: renders would come too late for it.
  const now = useRef({ document, saved, conflict, running: null as Promise<boolean> | null });
  useEffect(() => {
    Object.assign(now.current, { document, conflict });
  }, [document, conflict]);

  const save = useCallback(
    async (keepalive: boolean): Promise<boolean> => {
      const { document: mine, saved: before } = now.current;
      setProgress("saving");
      try {
        const { etag, head } = await saveDraft(projectId, writeFlow(mine), { etag: before.etag, keepalive });
        now.current.saved = { document: mine, etag, head };
        setSaved(now.current.saved);
        setFailure(null);
        setProgress("idle");
        return true;
      } catch (error) {
        setProgress("failed");
        if (!(error instanceof DraftChanged)) setFailure(toProblem(error));
        else setConflict(await conflictOf(projectId, error).catch(() => null));
        return false;
      }
    },
    [projectId],
  );

  const saveNow = useCallback(
    async (needsDraft = false): Promise<boolean> => {
      const at = now.current;
      if (at.running !== null) await at.running;
      if (at.conflict !== null) return false;
      if (at.document === at.saved.document && (at.saved.head !== null || !needsDraft)) return true;
      at.running = save(false).finally(() => {
        at.running = null;
      });
      return at.running;
    },
    [save],
  );

  const isDirty = document !== saved.document && !isOff;
  useEffect(() => {
    if (!isDirty || conflict !== null) return;
    const timer = setTimeout(() => void saveNow(), progress === "failed" ? RETRY_AFTER_MS : SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isDirty, conflict, document, progress, saveNow]);

  useEffect(() => {
    const isUnsaved = (): boolean =>
      !isOff && now.current.conflict === null && now.current.document !== now.current.saved.document;
    const leave = (): void => {
      if (!isUnsaved()) return;
      // What changed while a save was going on is saved after it, because its ETag is needed.
      if (now.current.running !== null) void now.current.running.then(() => isUnsaved() && save(true));
      else void save(writeFlow(now.current.document).length < MOST_AFTER_CLOSING);
    };
    const hide = (): void => {
      if (globalThis.document.visibilityState === "hidden") leave();
    };
    const ask = (event: BeforeUnloadEvent): void => {
      if (isUnsaved() && writeFlow(now.current.document).length >= MOST_AFTER_CLOSING) event.preventDefault();
    };
    globalThis.document.addEventListener("visibilitychange", hide);
    addEventListener("pagehide", leave);
    addEventListener("beforeunload", ask);
    return () => {
      globalThis.document.removeEventListener("visibilitychange", hide);
      removeEventListener("pagehide", leave);
      removeEventListener("beforeunload", ask);
      leave();
    };
  }, [save, isOff]);

  const settle = useCallback(({ etag, theirs }: Conflict, isTheirs: boolean): void => {
    const at = now.current;
    at.saved = { document: isTheirs && theirs !== null ? theirs : at.saved.document, etag, head: at.saved.head };
    at.conflict = null;
    setSaved(at.saved);
    setConflict(null);
    setProgress("idle");
  }, []);
  const [version, setVersion] = useState(stored?.version ?? null);
  const publishedAs = useCallback((published: number): void => {
    now.current.saved = { document: now.current.document, etag: null, head: null };
    setSaved(now.current.saved);
    setVersion(published);
  }, []);

  const state: SaveState =
    conflict !== null
      ? "conflict"
      : progress === "saving"
        ? "saving"
        : isDirty
          ? progress === "failed"
            ? "failed"
            : "unsaved"
          : "saved";
  return { state, failure, conflict, head: saved.head, etag: saved.etag, version, saveNow, settle, publishedAs };
}

async function conflictOf(projectId: string, { change, message }: DraftChanged): Promise<Conflict> {
  const draft = await readDraft(projectId);
  return { change, theirs: draft === null ? null : readFlow(draft.text), etag: draft?.etag ?? null, message };
}
