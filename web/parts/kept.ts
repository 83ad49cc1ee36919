/**
 * Reads a choice that the user has made in this browser. Storage that is full or disabled throws, and then a choice
 * lasts until the page is closed.
 */
export function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See readKept.
  }
}
