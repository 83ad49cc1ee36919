import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";

/** So far from the end (pixels) a reader still counts as being at it. */
const NEAR = 80;

/**
 * Keeps the end of a scrolling element in sight while it grows, unless the reader has scrolled up. A new `key`, such as that of a question
 * just sent, shows the end in any case.
 */
export function useFollowEnd(key: string): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    isAtEnd.current = true;
    ref.current?.scrollTo({ top: ref.current.scrollHeight });
  }, [key]);
  useEffect(() => {
    const { current: element } = ref;
    if (!element) return undefined;
    const look = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    };
    const grown = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTo({ top: element.scrollHeight });
    });
    element.addEventListener("scroll", look, { passive: true });
    grown.observe(element);
    for (const child of element.children) grown.observe(child);
    return () => {
      element.removeEventListener("scroll", look);
      grown.disconnect();
    };
  }, []);
  return ref;
}
