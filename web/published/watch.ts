/** How often a page in use asks whether it is still open (ms), and how often one that nobody touches. */
const CHECK_MS = 4000;
const REST_MS = 30_000;
const USE = ["pointerdown", "keydown", "focus", "visibilitychange"] as const;

/**
 * Calls `check` every few seconds while the page is visible and in use, and at once when it is used again, so that a
 * visitor learns within seconds that the page is closed. Returns a function that ends it.
 */
export function whileInUse(check: () => void): () => void {
  let usedAt = Date.now();
  let checkedAt = usedAt;
  const tick = (): void => {
    const now = Date.now();
    const every = now - usedAt < REST_MS ? CHECK_MS : REST_MS;
    if (document.hidden || now - checkedAt < every) return;
    checkedAt = now;
    check();
  };
  const use = (): void => {
    usedAt = Date.now();
    tick();
  };
  const timer = setInterval(tick, 1000);
  for (const type of USE) addEventListener(type, use, { capture: true, passive: true });
  return () => {
    clearInterval(timer);
    for (const type of USE) removeEventListener(type, use, { capture: true });
  };
}
