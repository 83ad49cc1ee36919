/** A progress line on standard error, shown only on a terminal. */
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
