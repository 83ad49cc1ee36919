/** A line on standard error that says how far something is; only where somebody sees it. */
export function createProgress(): { show(text: string): void; end(): void } {
  const { stderr } = process;
  let shown = "";
  return {
    show(text) {
      if (!stderr.isTTY || text === shown) return;
      stderr.write(`\r\u001b[K${text}`);
      shown = text;
    },
    end() {
      if (shown !== "") stderr.write("\r\u001b[K");
      shown = "";
    },
  };
}
