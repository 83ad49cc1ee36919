/** Gives the focus back to the place where it was before something opened over the canvas, else to the canvas. */
export function focusAgain(before: Element | null, canvas: HTMLElement | null): void {
  const isPlace = before instanceof HTMLElement && before.isConnected && before !== document.body;
  (isPlace ? before : canvas)?.focus({ preventScroll: true });
}
