/** A place on the canvas that is in view. */
export function besideCentre(flow: {
  readonly screenToFlowPosition: (at: { x: number; y: number }) => { x: number; y: number };
}): { readonly x: number; readonly y: number } {
  const box = document.querySelector(".editor-canvas")?.getBoundingClientRect();
  return flow.screenToFlowPosition({
    x: (box?.left ?? 0) + (box?.width ?? 600) / 3,
    y: (box?.top ?? 0) + (box?.height ?? 600) / 3,
  });
}
