/** Waits for the lock, takes it, and returns a function that releases it. */
export function lock(file: string, what: string): Promise<() => void>;
