import { useEffect, useRef, type RefObject } from "react";

/** For a list of links that scrolls sideways on a narrow screen: scrolls to the marked link whenever `at` changes. */
export function useCurrentInView(at: string): RefObject<HTMLElement | null> {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const places = list.current;
    const current = places?.querySelector<HTMLElement>('[aria-current="page"]');
    if (!places || !current) return;
    const [outer, inner] = [places.getBoundingClientRect(), current.getBoundingClientRect()];
    if (inner.left >= outer.left && inner.right <= outer.right) return;
    // Centres the link, because counts that load later may shift it. scrollIntoView() could also move the page.
    places.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
  }, [at]);
  return list;
}
