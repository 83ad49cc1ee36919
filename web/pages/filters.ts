import { useSearchParams } from "react-router";

/** The filters in the URL, and a function that sets one of them; null or "" removes it. */
export function useFilters(): readonly [URLSearchParams, (name: string, value: string | null) => void] {
  const [search, setSearch] = useSearchParams();
  const put = (name: string, value: string | null): void =>
    setSearch((known) => {
      const next = new URLSearchParams(known);
      if (value === null || value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  return [search, put];
}
