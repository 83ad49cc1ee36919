import type { JSX } from "react";

/** An id is not broken at its hyphen; a long place has to be. */
const unlessLong = (path: string): string => (path.length > 24 ? "wrap" : "nowrap");

/** A node as people call it, and the place that the API calls it by. */
export function NodeName({ name, path }: { readonly name: string | null; readonly path: string }): JSX.Element {
  if (name === null || name === path) return <code className={unlessLong(path)}>{path}</code>;
  return (
    <span className="wrap">
      <strong>{name}</strong> <code className={`${unlessLong(path)} muted`}>{path}</code>
    </span>
  );
}
