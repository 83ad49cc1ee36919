/** Bytes per call of String.fromCharCode, whose number of arguments is limited. */
const CHUNK = 8192;

/** A file as base64, as the API takes files in JSON. */
export async function base64Of(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
