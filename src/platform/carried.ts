import { AsyncLocalStorage } from "node:async_hooks";

/** A value that stays available to some work across every await. */
export interface Carried<T> {
  during<R>(value: T, work: () => R): R;
  /** Undefined if nothing is carried. */
  current(): T | undefined;
}

export function createCarried<T>(): Carried<T> {
  const storage = new AsyncLocalStorage<T>();
  return { during: (value, work) => storage.run(value, work), current: () => storage.getStore() };
}
