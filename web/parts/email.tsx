import { Fragment } from "react";
import type { JSX, ReactNode } from "react";

/**
 * An e-mail address in a table, and what stands beside it. It goes on in a new line behind one of its marks, and within a word only where
 * that alone is too long.
 */
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
