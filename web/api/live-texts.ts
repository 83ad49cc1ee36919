import { useSyncExternalStore } from "react";

/** A piece of text from a model that is still writing. */
export interface Delta {
  readonly path: string;
  readonly attempt: number;
  readonly step: number;
  readonly offset: number;
  readonly text: string;
}
interface Written {
  readonly attempt: number;
  readonly step: number;
  readonly text: string;
}

/** Texts that models are writing, by node path. Only components that show a text render when it grows. */
export class LiveTexts {
  readonly #texts = new Map<string, Written>();
  readonly #listeners = new Set<() => void>();

  take(delta: Delta): void {
    const next = append(this.#texts.get(delta.path), delta);
    if (next === undefined) return;
    this.#texts.set(delta.path, next);
    this.#tell();
  }

  /** A complete text is in the run's record, so the live copy is dropped. */
  forget(path: string): void {
    if (this.#texts.delete(path)) this.#tell();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  textOf(path: string): string | undefined {
    return this.#texts.get(path)?.text;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The text that the model of a node has written so far; undefined if it is not writing. */
export function useWritten(texts: LiveTexts, path: string): string | undefined {
  return useSyncExternalStore(texts.subscribe, () => texts.textOf(path));
}

/** Pieces may repeat after a reconnect, and a later attempt or step starts the text again. Undefined if the piece adds nothing. */
function append(known: Written | undefined, { attempt, step, offset, text }: Delta): Written | undefined {
  const isSame = known?.attempt === attempt && known.step === step;
  const before = isSame ? known.text : "";
  if (!isSame && known && (attempt < known.attempt || (attempt === known.attempt && step < known.step)))
    return undefined;
  if (offset + text.length <= before.length) return undefined;
  return { attempt, step, text: before.slice(0, offset) + text };
}
