const waiting: Array<() => void> = [];

/**
 * Resolves in a later iteration of the event loop. One caller continues in each iteration. Long values are worked on in slices between which
 * this is awaited. However many of them there are, everything else waits for one slice at a time.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(serve);
  });
}

function serve(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(serve);
}
