import { useCallback, useEffect, useRef, type RefObject } from "react";
import { NODE_WIDTH } from "./geometry.ts";
import type { ViewNode } from "./graph-view.ts";
import { bringIntoView, panelOver } from "./reveal.ts";
import type { Flow } from "./space.ts";

const FIT = { maxZoom: 1, padding: 0.15 };

interface Look {
  /** Shows the whole flow; of a large one the selected node, or the beginning, because all of it would be too small to read. */
  readonly begin: (nodes: readonly ViewNode[]) => void;
  /** Shows the whole flow. */
  readonly fit: () => void;
  readonly zoom: (direction: "in" | "out") => void;
  /** For the canvas: `event` is null if no person moved it. */
  readonly onMoveStart: (event: unknown) => void;
}

/** What of the flow the canvas shows. `shown`: the node that the panel beside it is about. */
export function useLook(
  frame: RefObject<HTMLElement | null>,
  flow: Flow,
  shown: string | null,
  isLarge: boolean,
): Look {
  // Whether the canvas shows the whole flow, and not the part that a person has moved it to.
  const isWhole = useRef(true);
  const fit = useCallback((): void => {
    isWhole.current = true;
    void flow.fitView(FIT);
  }, [flow]);
  const begin = (nodes: readonly ViewNode[]): void => {
    const top = (): ViewNode | undefined => nodes.toSorted((a, b) => a.position.y - b.position.y)[0];
    const target = nodes.find((node) => node.selected === true) ?? top();
    if (target === undefined || !isLarge) return fit();
    isWhole.current = false;
    const { x, y } = target.position;
    void flow.setCenter(x + NODE_WIDTH / 2, y + (frame.current?.clientHeight ?? 600) / 3, { zoom: 0.8 });
  };
  const zoom = useCallback(
    (direction: "in" | "out"): void => {
      isWhole.current = false;
      void (direction === "in" ? flow.zoomIn() : flow.zoomOut());
    },
    [flow],
  );
  const onMoveStart = useCallback((event: unknown): void => {
    if (event !== null && event !== undefined) isWhole.current = false;
  }, []);

  const width = useRef(0);
  useEffect(() => {
    const { current: element } = frame;
    if (element === null) return;
    if (shown === null) {
      width.current = element.clientWidth;
      return;
    }
    // A panel that opens beside the canvas must not cover the node that it is about.
    const observer = new ResizeObserver(() => {
      const isOver = width.current !== element.clientWidth || panelOver(element) !== null;
      if (isOver && element.querySelector(".react-flow__node.dragging") === null) bringIntoView(flow, element, shown);
      width.current = element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame, flow, shown]);

  useEffect(() => {
    const onResize = (): void => {
      if (!isWhole.current) return;
      void flow.fitView(FIT).then(() => {
        if (shown !== null && frame.current) bringIntoView(flow, frame.current, shown);
      });
    };
    addEventListener("resize", onResize);
    return () => removeEventListener("resize", onResize);
  }, [flow, frame, shown]);

  return { begin, fit, zoom, onMoveStart };
}
