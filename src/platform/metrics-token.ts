import { createHash, timingSafeEqual } from "node:crypto";

/** Whether an Authorization header carries this token. */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S{1,1000})$/i.exec((authorization ?? "").slice(0, 1024))?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Hashed, because timingSafeEqual needs inputs of equal length. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
