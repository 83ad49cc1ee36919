import type { JSX } from "react";

/** A short ID must not break at its hyphen, but a long path has to wrap. */
const unlessLong = (path: string): string => (path.length > 24 ? "wrap" : "nowrap");

/** The name of a node, and its path in the API. */
export function NodeName({ name, path }: { readonly name: string | null; readonly path: string }): JSX.Element {
  if (name === null || name === path) return <code className={unlessLong(path)}>{path}</code>;
  return (
    <span className="wrap">
      <strong>{name}</strong> <code className={`${unlessLong(path)} muted`}>{path}</code>
    </span>
  );
}
