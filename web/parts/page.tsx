import { createContext, useContext, useEffect, useRef, type JSX, type ReactNode } from "react";
import { announce } from "./announce.tsx";
import "./page.css";

/** Whether the app has already shown another page; on the first page the browser sets the focus. */
let isLater = false;

/** The title of the page in the table of pages. */
export const PageTitle = createContext("");

export function titleDocument(title: string): void {
  document.title = `${title} · Millrace`;
}

/** Page header: the title, which is also the document title, a line about the page, and its actions. */
export function PageHead({
  title: own,
  about,
  children,
}: {
  /** Name of what the page shows; without it, the title in the table of pages. */
  readonly title?: string;
  /** One line that says what the page shows. */
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}): JSX.Element {
  const usual = useContext(PageTitle);
  const title = own ?? usual;
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => titleDocument(title), [title]);
  useEffect(() => {
    const { activeElement: at } = document;
    // Moves the focus to the head if it was on a navigation link or lost with the last page; a control that is used on this page keeps it.
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
      <div className="page-title">
        <h1 className="wrap" ref={head} tabIndex={-1}>
          {title}
        </h1>
        {about !== undefined && <p className="muted">{about}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </div>
  );
}
