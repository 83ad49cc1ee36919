import { useSyncExternalStore } from "react";

/** A value that components follow. */
export class State<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  set(value: T): void {
    this.#value = value;
    for (const each of this.#listeners) each();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const useValue = <T>(state: State<T>): T => useSyncExternalStore(state.subscribe, state.get);
