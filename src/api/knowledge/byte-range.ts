import { Problem } from "../../domain/errors.ts";

/**
 * The range that a `Range` header requests, both ends included. Null means the whole content: without a header, or with several ranges or
 * another unit, which may be ignored. Throws 416 if it lies outside.
 */
export function byteRange(
  header: string | undefined,
  size: number,
): { readonly start: number; readonly end: number } | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return null;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== "" && last !== "" && Number(last) < start) return null;
  if (start > end) {
    throw new Problem("range_not_satisfiable", `The range is outside the resource's ${size} bytes.`, {
      headers: { "Content-Range": `bytes */${size}` },
    });
  }
  return { start, end };
}
