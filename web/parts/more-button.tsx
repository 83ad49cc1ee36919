import type { JSX } from "react";

/** The rows of a list as they are read page by page. */
interface Pages {
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => Promise<unknown>;
}

/** Reads the next page of a list, which has one. */
export function MoreButton({
  pages,
  children,
  className = "",
}: {
  readonly pages: Pages;
  /** What comes next, such as "Older runs". */
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
