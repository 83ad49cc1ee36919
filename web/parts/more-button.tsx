import type { JSX } from "react";

/** A list that is read page by page. */
interface Pages {
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** Reads the next page of a list; only rendered if there is one. */
export function MoreButton({
  pages,
  children,
  className = "",
}: {
  readonly pages: Pages;
  /** Label of the button, such as "Older runs". */
  readonly children: string;
  readonly className?: string;
}): JSX.Element {
  return (
    <button
      type="button"
      className={`button ${className}`.trim()}
      disabled={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      {pages.isFetchingNextPage ? "Loading…" : children}
    </button>
  );
}
