import { useLayoutEffect, useState } from "react";

/** A value of the last render, for functions that run later and must not change with it. */
class Latest<Value> {
  #value: Value;
  constructor(value: Value) {
    this.#value = value;
  }
  readonly get = (): Value => this.#value;
  readonly set = (value: Value): void => {
    this.#value = value;
  };
}

/** Returns a function that gives the value of the last render; the function stays the same. */
export function useLatest<Value>(value: Value): () => Value {
  const [latest] = useState(() => new Latest(value));
  useLayoutEffect(() => latest.set(value));
  return latest.get;
}
