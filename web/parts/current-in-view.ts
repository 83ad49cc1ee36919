import { useEffect, useRef } from "react";
import type { RefObject } from "react";

/** For a list of places that scrolls sideways on a narrow screen: shows the one that is marked, whenever another one, `at`, is. */
export function useCurrentInView(at: string): RefObject<HTMLElement | null> {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const places = list.current;
    const current = places?.querySelector<HTMLElement>('[aria-current="page"]');
    if (!places || !current) return;
    const [outer, inner] = [places.getBoundingClientRect(), current.getBoundingClientRect()];
    if (inner.left >= outer.left && inner.right <= outer.right) return;
    // Into the middle: a count beside another place may come later, and move it. scrollIntoView() may move the page as well.
    places.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
  }, [at]);
  return list;
}
