/** The text of a field of a JSON object, exactly as it was sent; undefined if there is no such field. `json` must be valid. */
export function memberText(json: string, name: string): string | undefined {
  let depth = 0;
  let start = -1;
  let isName = true;
  for (let at = 0; at < json.length; at++) {
    const sign = json.charAt(at);
    if (sign === '"') {
      const end = endOfString(json, at);
      if (depth === 1 && isName && start === -1 && JSON.parse(json.slice(at, end)) === name) start = -2;
      at = end - 1;
    } else if (sign === "{" || sign === "[") depth += 1;
    else if (depth === 1 && sign === ":") {
      isName = false;
      if (start === -2) start = at + 1;
    } else if (depth === 1 && (sign === "," || sign === "}")) {
      if (start >= 0) return json.slice(start, at).trim();
      isName = true;
    }
    if (sign === "}" || sign === "]") depth -= 1;
  }
  return undefined;
}

/** The position after the closing quote of the string that begins at `from`. */
function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (json.charAt(at) !== '"') at += json.charAt(at) === "\\" ? 2 : 1;
  return at + 1;
}
