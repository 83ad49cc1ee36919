import { useSyncExternalStore } from "react";

/** A piece of text from a model that is still writing. */
export interface Delta {
  readonly path: string;
  readonly attempt: number;
  readonly step: number;
  readonly offset: number;
  readonly text: string;
  /** IDs of the outputs that stream this text. */
  readonly outputs: readonly string[];
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
  /** By output, the path of the node whose text it streams. */
  readonly #sources = new Map<string, string>();

  take(delta: Delta): void {
    const next = append(this.#texts.get(delta.path), delta);
    if (next === undefined) return;
    this.#texts.set(delta.path, next);
    for (const output of delta.outputs) this.#sources.set(output, delta.path);
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

  /** What an output has streamed so far. */
  outputOf(id: string): string | undefined {
    return this.textOf(this.#sources.get(id) ?? "");
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The text that the model of a node has written so far; undefined if it is not writing. */
export function useWritten(texts: LiveTexts, path: string): string | undefined {
  return useSyncExternalStore(texts.subscribe, () => texts.textOf(path));
}

/** What an output has streamed so far; undefined before its first word. */
export function useStreamed(texts: LiveTexts, output: string): string | undefined {
  return useSyncExternalStore(texts.subscribe, () => texts.outputOf(output));
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
