import type { JSX } from "react";

/** A node as people call it, and the place that the API calls it by. */
export function NodeName({ name, path }: { readonly name: string | null; readonly path: string }): JSX.Element {
  if (name === null || name === path) return <code className="wrap">{path}</code>;
  return (
    <span className="wrap">
      <strong>{name}</strong> <code className="muted">{path}</code>
    </span>
  );
}
