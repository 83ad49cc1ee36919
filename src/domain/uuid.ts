/** A UUID of any version in lower case, as the text of a regular expression. */
export const UUID_PATTERN = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

const UUID = new RegExp(`^${UUID_PATTERN}$`, "i");

/** Whether a text is a UUID of any version, in whatever case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
