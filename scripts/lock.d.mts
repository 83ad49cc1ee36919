/** Waits for the lock and takes it; answers what releases it. */
export function lock(file: string, what: string): Promise<() => void>;
