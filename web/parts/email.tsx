import { Fragment, type JSX, type ReactNode } from "react";

/** An e-mail address in a table, with its suffix. It wraps after punctuation, and within a word only if that word is too long. */
export function Email({ address, children }: { readonly address: string; readonly children?: ReactNode }): JSX.Element {
  return (
    <span className="email">
      {address.split(/(?<=[@._+-])/).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
      {children}
    </span>
  );
}
