/**
 * The handle that binds conversations to this browser. A cookie would be sent by other sites too, and frames of other
 * sites have none. Where the browser allows no storage, the handle lasts as long as the page is open.
 */
export interface Handle {
  get(): string | null;
  set(value: string | null): void;
  /** Whether the handle outlives the page. */
  readonly isKept: boolean;
}

/** The part of the browser's storage that a handle needs; getting it throws where the browser allows none. */
interface KeptTexts {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export function handleOf(token: string, storage: () => KeptTexts): Handle {
  const key = `millrace-page-${token}`;
  let value: string | null = null;
  let isKept = true;
  try {
    value = storage().getItem(key);
  } catch {
    isKept = false;
  }
  return {
    get: () => value,
    set(next) {
      value = next;
      try {
        if (next === null) storage().removeItem(key);
        else storage().setItem(key, next);
      } catch {
        isKept = false;
      }
    },
    get isKept() {
      return isKept;
    },
  };
}
