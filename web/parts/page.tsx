import { useEffect } from "react";
import type { JSX, ReactNode } from "react";

/** The head of a page: its name, also the tab's, and what can be done with all of it. */
export function PageHead({ title, children }: { readonly title: string; readonly children?: ReactNode }): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <div className="page-head">
      <h1 className="wrap">{title}</h1>
      {children !== undefined && <div className="row">{children}</div>}
    </div>
  );
}
