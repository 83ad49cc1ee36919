import { useEffect, useRef } from "react";
import type { JSX, ReactNode } from "react";
import { announce } from "./announce.tsx";

/** Whether another page was there before: the first one has the browser's own beginning. */
let isLater = false;

/** The head of a page: its name, also the tab's, and what can be done with all of it. */
export function PageHead({ title, children }: { readonly title: string; readonly children?: ReactNode }): JSX.Element {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  useEffect(() => {
    const { activeElement: at } = document;
    // The link that led here is outside of the page, or was on the one before; what has been chosen on this one keeps the focus.
    const isElsewhere =
      at === null || at === document.body || at.closest("header.side") !== null || at.id === "content";
    if (isLater && isElsewhere) {
      head.current?.focus({ preventScroll: true });
      announce(head.current?.textContent ?? "");
    }
    isLater = true;
  }, []);
  return (
    <div className="page-head">
      <h1 className="wrap" ref={head} tabIndex={-1}>
        {title}
      </h1>
      {children !== undefined && <div className="row">{children}</div>}
    </div>
  );
}
