const REVOKE_AFTER_MS = 60_000;

/** Lets the browser save a file. The address of its bytes is made for the click, and given up after it. */
export function saveAs(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_AFTER_MS);
}
