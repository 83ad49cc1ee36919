import { useEffect, useState } from "react";

/** A text, once it has not changed for `after` ms. */
export function useSettled(text: string, after: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), after);
    return () => clearTimeout(timer);
  }, [text, after]);
  return settled;
}
