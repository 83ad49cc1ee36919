import { useSyncExternalStore } from "react";

/** A piece of text that a model writes. */
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

/** What models are writing, by the path of their node. Only a component that shows a text renders when it grows. */
export class LiveTexts {
  readonly #texts = new Map<string, Written>();
  readonly #listeners = new Set<() => void>();

  take(delta: Delta): void {
    const next = append(this.#texts.get(delta.path), delta);
    if (next === undefined) return;
    this.#texts.set(delta.path, next);
    this.#tell();
  }

  /** Texts that are complete are in the record. */
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

/** What a model has written so far at a place; undefined where it writes nothing. */
export function useWritten(texts: LiveTexts, path: string): string | undefined {
  return useSyncExternalStore(texts.subscribe, () => texts.textOf(path));
}

/** After a break pieces come again; a later attempt or step begins the text anew. Undefined where nothing is new. */
function append(known: Written | undefined, { attempt, step, offset, text }: Delta): Written | undefined {
  const isSame = known?.attempt === attempt && known.step === step;
  const before = isSame ? known.text : "";
  if (!isSame && known && (attempt < known.attempt || (attempt === known.attempt && step < known.step)))
    return undefined;
  if (offset + text.length <= before.length) return undefined;
  return { attempt, step, text: before.slice(0, offset) + text };
}
