import { useEffect } from "react";

/** Position of an element: each ancestor from the innermost outwards, with the index of the child that leads to the element. */
type Place = ReadonlyArray<readonly [around: Element, at: number]>;

const ROW = "[data-row]";
const FOCUSABLE = "a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";

/**
 * Keeps the focus in a table, a form or a page head. A browser drops it from a control that is disabled during a
 * request, and from a deleted row; the next Tab would then start at the top of the page.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let kept: HTMLElement | undefined;
    let place: Place = [];
    let page = "";
    const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;

    const note = ({ target }: FocusEvent): void => {
      kept = target instanceof HTMLElement && target.closest("td, form, .page-head") !== null ? target : undefined;
      place = kept ? placeOf(kept) : [];
      page = location.pathname;
    };
    // A click on empty space drops the focus on purpose. Disabled and removed elements cause the same event, so only an
    // element that is still there and enabled is released.
    const release = ({ target }: FocusEvent): void => {
      setTimeout(() => {
        if (kept === target && kept?.isConnected === true && !kept.matches(":disabled") && isLost()) kept = undefined;
      });
    };
    const restore = (): void => {
      // Another page sets its own focus.
      if (location.pathname !== page) kept = undefined;
      if (kept === undefined) return;
      if (!kept.isConnected) {
        if (isLost()) nearest(place)?.focus({ preventScroll: true });
        return;
      }
      if (!isLost()) place = placeOf(kept);
      else if (!kept.matches(":disabled")) kept.focus({ preventScroll: true });
    };

    const observer = new MutationObserver(restore);
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", note);
    document.addEventListener("focusout", release);
    return () => {
      observer.disconnect();
      document.removeEventListener("focusin", note);
      document.removeEventListener("focusout", release);
    };
  }, []);
}

function placeOf(element: Element): Place {
  const place: Array<readonly [Element, number]> = [];
  for (let at: Element = element; at.parentElement && at.id !== "content"; at = at.parentElement)
    place.push([at.parentElement, [...at.parentElement.children].indexOf(at)]);
  return place;
}

/** The element now at that position, or its neighbour; undefined while all rows are disabled, which lasts until the request finishes. */
function nearest(place: Place): HTMLElement | undefined {
  for (const [around, at] of place) {
    if (!around.isConnected) continue;
    const children = [...around.children];
    let isWaiting = false;
    for (const child of [...children.slice(at), ...children.slice(0, at).toReversed()]) {
      const rows = [...child.querySelectorAll<HTMLElement>(ROW)];
      const row = rows.find((each) => !each.matches(":disabled") && each.checkVisibility());
      if (row) return row;
      isWaiting ||= rows.length > 0;
      const found = child.matches(FOCUSABLE) ? child : child.querySelector(FOCUSABLE);
      if (!isWaiting && found instanceof HTMLElement && found.checkVisibility()) return found;
    }
    if (isWaiting) return undefined;
    if (around instanceof HTMLElement && around.id === "content") return around;
  }
  return undefined;
}
